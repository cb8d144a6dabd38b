/**
 * The address that the daemon of the whole machine publishes to every user. The service manager
 * creates the folder for it. The file holds no secret. Readers trust it as far as they trust the
 * owner of the folder, and check with the kernel which process answers there.
 */
import { type Stats, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readChecked, writeAtomic } from './folder.ts'
import { type Runtime, isOwnAddress, stateVersionIn } from './runtime-file.ts'

export type Published = Pick<Runtime, 'address' | 'pid' | 'version' | 'stateVersion'>

/** The largest size in bytes; the daemon writes some hundred. */
const MOST_BYTES = 4096

const fileIn = (dir: string): string => join(dir, 'countersignd.json')

/**
 * Writes the file atomically. Every user may read it.
 * @throws the errors of `writeAtomic`
 */
export function publish(dir: string, { address, version, pid, stateVersion }: Published): void {
  const content = `${JSON.stringify({ address, version, pid, stateVersion })}\n`
  writeAtomic(fileIn(dir), content, { durable: false, mode: 0o644 })
}

/**
 * Deletes the file, if the disk permits it. If it stays, a later reader finds no daemon at its
 * address.
 */
export function unpublish(dir: string): void {
  try {
    rmSync(fileIn(dir), { force: true })
  } catch {
    // The daemon must end in any case.
  }
}

/**
 * Returns the published address; null if there is none, or nothing usable.
 * @param owner the user id that must own the file
 * @throws StartError if another user wrote the file, or could have written it
 */
export function readPublished(dir: string, owner: number): Published | null {
  const check = ({ uid, mode, size }: Stats, path: string) =>
    uid === owner && (mode & 0o022) === 0 && size <= MOST_BYTES
      ? null
      : `${path} was not written by the service alone. Start the service again.`
  const text = readChecked(fileIn(dir), check)?.toString('utf8')
  if (text === undefined) return null
  try {
    const parsed = JSON.parse(text) as Partial<Published>
    const { address, version, pid } = parsed
    const stateVersion = stateVersionIn(parsed.stateVersion)
    const usable =
      typeof address === 'string' &&
      isOwnAddress(address) &&
      typeof version === 'string' &&
      /^[\w.+-]{1,64}$/.test(version) &&
      Number.isSafeInteger(pid)
    return usable ? ({ address, version, pid, stateVersion } as Published) : null
  } catch {
    return null
  }
}
