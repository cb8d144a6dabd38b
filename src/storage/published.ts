/**
 * What a daemon of the whole machine says to every user of it, in the folder that the service manager made for that: where it
 * listens. No secret is in it; whoever reads it believes it as far as the folder's owner, and asks the kernel who answers there.
 */
import { type Stats, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readChecked, writeAtomic } from './folder.ts'
import { type Runtime, isOwnAddress } from './runtime-file.ts'

export type Published = Pick<Runtime, 'address' | 'pid' | 'version'>

/** What is written there is some hundred bytes long. */
const MOST_BYTES = 4096

const fileIn = (dir: string): string => join(dir, 'countersignd.json')

/** Write the file, which every user may read: the whole of it is there, or what was before. Throws as `writeAtomic` does. */
export function publish(dir: string, { address, version, pid }: Published): void {
  const content = `${JSON.stringify({ address, version, pid })}\n`
  writeAtomic(fileIn(dir), content, { durable: false, mode: 0o644 })
}

/** Take the file away, as far as the disk lets it go: whoever reads it later finds nobody there. */
export function unpublish(dir: string): void {
  try {
    rmSync(fileIn(dir), { force: true })
  } catch {
    // The daemon must end all the same.
  }
}

/**
 * What a daemon published; null where none did, or nothing usable.
 * @param owner the user that is believed
 * @throws StartError where somebody else wrote the file, or could have
 */
export function readPublished(dir: string, owner: number): Published | null {
  const check = ({ uid, mode, size }: Stats, path: string) =>
    uid === owner && (mode & 0o022) === 0 && size <= MOST_BYTES
      ? null
      : `${path} was not written by the service alone. Start the service again.`
  const text = readChecked(fileIn(dir), check)?.toString('utf8')
  if (text === undefined) return null
  try {
    const { address, version, pid } = JSON.parse(text) as Partial<Published>
    const usable =
      typeof address === 'string' &&
      isOwnAddress(address) &&
      typeof version === 'string' &&
      /^[\w.+-]{1,64}$/.test(version) &&
      Number.isSafeInteger(pid)
    return usable ? ({ address, version, pid } as Published) : null
  } catch {
    return null
  }
}
