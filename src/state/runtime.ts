/**
 * How the command line finds the running daemon, and the secret by which the two prove themselves to each other.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import { readPrivate, removeFile, writeAtomic } from './folder.ts'

export interface Runtime {
  readonly pid: number
  /** `http://host:port`, as bound. */
  readonly address: string
  /** Fresh at every start. */
  readonly nonce: string
  readonly version: string
}

const runtimeFile = (dir: string): string => join(dir, 'runtime.json')

/** Says that the daemon listens; called when it does. */
export function writeRuntime(dir: string, runtime: Runtime): void {
  // After a power cut no daemon runs, and nobody needs the file.
  writeAtomic(runtimeFile(dir), `${JSON.stringify(runtime)}\n`, false)
}

/** What the last daemon said, which may be dead by now; null when nothing usable is there. */
export function readRuntime(dir: string): Runtime | null {
  const text = readPrivate(runtimeFile(dir))
  if (text === null) return null
  try {
    const { pid, address, nonce, version } = JSON.parse(text) as Partial<Runtime>
    const usable =
      Number.isSafeInteger(pid) && [address, nonce, version].every((it) => typeof it === 'string')
    return usable ? ({ pid, address, nonce, version } as Runtime) : null
  } catch {
    return null
  }
}

/** Says that the daemon has gone, where the disk takes that; after a crash nothing says so either. */
export function removeRuntime(dir: string): void {
  try {
    removeFile(runtimeFile(dir))
  } catch {
    // Whoever reads it finds nobody there. The daemon must end all the same.
  }
}

/** The 32 bytes only this user's processes can know. The lock's holder makes them at the first start. */
export function stateSecret(dir: string): Uint8Array {
  const path = join(dir, 'secret')
  const text = readPrivate(path)?.trim()
  if (text === undefined) {
    const made = randomBytes(32)
    writeAtomic(path, `${made.toString('hex')}\n`)
    return made
  }
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new StartError(
    'failed',
    `${path} is damaged. Stop the daemon and delete the file: the next start makes a new one.`,
  )
}
