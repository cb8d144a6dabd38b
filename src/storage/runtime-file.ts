/**
 * How the command line finds the running daemon, and the secret by which the two prove themselves to each other.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import { type Check, fault, readChecked, removeFile, writeAtomic } from './folder.ts'

export interface Runtime {
  readonly pid: number
  /** `http://host:port`, as bound. */
  readonly address: string
  /** Fresh at every start. */
  readonly nonce: string
  readonly version: string
}

const secretFile = (dir: string): string => join(dir, 'secret')
const runtimeFile = (dir: string): string => join(dir, 'runtime.json')

/** Says that the daemon listens; called when it does. */
export function writeRuntime(dir: string, runtime: Runtime): void {
  // After a power cut no daemon runs, and nobody needs the file.
  writeAtomic(runtimeFile(dir), `${JSON.stringify(runtime)}\n`, { durable: false })
}

/** An address as a daemon writes it: nothing else is asked, and no other part of a URL is ever shown. */
export const isOwnAddress = (text: string): boolean =>
  /^http:\/\/(127(\.\d{1,3}){3}|\[::1\]):\d{1,5}$/.test(text) && URL.canParse(text)

const textOf = (path: string, check: Check): string | null =>
  readChecked(path, check)?.toString('utf8') ?? null

/**
 * What the last daemon said, which may be dead by now; null when nothing usable is there.
 * @param check whose file is believed: by default, this user's alone
 */
export function readRuntime(dir: string, check: Check = fault): Runtime | null {
  const text = textOf(runtimeFile(dir), check)
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
  const kept = readSecret(dir)
  if (kept !== null) return kept
  const made = randomBytes(32)
  writeAtomic(secretFile(dir), `${made.toString('hex')}\n`)
  return made
}

/** The same, where it has been made; null where it has not. `check` is that of `readRuntime`. */
export function readSecret(dir: string, check: Check = fault): Uint8Array | null {
  const path = secretFile(dir)
  const text = textOf(path, check)?.trim()
  if (text === undefined) return null
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new StartError(
    'failed',
    `${path} is damaged. Stop the daemon and delete the file: the next start makes a new one.`,
  )
}
