/**
 * The files with which the command line finds a running daemon and authenticates to it.
 *
 * The daemon belongs to a state folder or to the whole machine. The daemon of a state folder proves
 * its identity with the secret in that folder.
 */
import { randomBytes } from 'node:crypto'
import { rmSync, type Stats } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import {
  type FileCheck,
  fileFault,
  readChecked,
  removeFile,
  writeAtomic,
} from '../keychain/private-file.ts'

export interface Runtime {
  readonly pid: number
  /** The URL `http://host:port` of the bound address; null if the daemon does not use TCP. */
  readonly address: string | null
  /** The path of the Unix socket; null if there is none. */
  readonly socket: string | null
  /** A random value that is new at every start. */
  readonly nonce: string
  readonly version: string
  /** The version of the state that the daemon uses; null if it is older than the first release. */
  readonly stateVersion: number | null
}

/** Returns a published state version; null if an earlier program did not publish one. */
const stateVersionIn = (value: unknown): number | null =>
  Number.isSafeInteger(value) ? (value as number) : null

const secretFile = (dir: string): string => join(dir, 'secret')
const runtimeFile = (dir: string): string => join(dir, 'runtime.json')

/** Writes the runtime file. Call this when the daemon listens. */
export function writeRuntime(dir: string, runtime: Runtime): void {
  // Not synced, because after a power failure no daemon is running and the file is useless.
  writeAtomic(runtimeFile(dir), `${JSON.stringify(runtime)}\n`, { durable: false })
}

/**
 * Whether a text is an address as a daemon writes it. Other addresses are not called or displayed.
 */
export const isOwnAddress = (text: string): boolean =>
  /^http:\/\/(127(\.\d{1,3}){3}|\[::1\]):\d{1,5}$/.test(text) && URL.canParse(text)

/**
 * Returns the published address and socket; null if both are missing, or one is not of this form.
 *
 * Daemons before the first one with a socket publish no `socket`.
 */
function placesIn({
  address = null,
  socket = null,
}: Partial<Runtime>): Pick<Runtime, 'address' | 'socket'> | null {
  const isAddress = address === null || typeof address === 'string'
  const isSocket = socket === null || (typeof socket === 'string' && /^\/\P{Cc}+$/u.test(socket))
  return isAddress && isSocket && (address ?? socket) !== null ? { address, socket } : null
}

/** Returns where a daemon answers, for messages. The command line prefers the socket. */
export const placesText = ({ address, socket }: Pick<Runtime, 'address' | 'socket'>): string =>
  [socket, address].filter((place) => place !== null).join(' and ')

const textOf = (path: string, check: FileCheck): string | null =>
  readChecked(path, check)?.toString('utf8') ?? null

/**
 * Returns the data of the last daemon, which may have ended; null if there is no usable data.
 * @param check checks the owner and the mode of the file; by default, only this user may own it
 */
export function readRuntime(dir: string, check: FileCheck = fileFault): Runtime | null {
  const text = textOf(runtimeFile(dir), check)
  if (text === null) return null
  try {
    const parsed = JSON.parse(text) as Partial<Runtime>
    const { pid, nonce, version } = parsed
    const stateVersion = stateVersionIn(parsed.stateVersion)
    const places = placesIn(parsed)
    const usable =
      places !== null &&
      Number.isSafeInteger(pid) &&
      [nonce, version].every((it) => typeof it === 'string')
    return usable ? ({ pid, ...places, nonce, version, stateVersion } as Runtime) : null
  } catch {
    return null
  }
}

/** Deletes the runtime file, if the disk permits it. After a crash, the file remains. */
export function removeRuntime(dir: string): void {
  try {
    removeFile(runtimeFile(dir))
  } catch {
    // If the file remains, its readers find no daemon at the address. The daemon must end in any
    // case.
  }
}

/** Returns the path of the page with which the command line opens a console in the browser. */
export const consolePage = (dir: string): string => join(dir, 'console.html')

/** Deletes that page, if there is one and the disk permits it. */
export function removeConsolePage(dir: string): void {
  try {
    removeFile(consolePage(dir))
  } catch {
    // If the file remains, its code is used or expires within a minute.
  }
}

/**
 * Returns the 32 secret bytes that only processes of this user can read.
 *
 * The lock owner creates them at the first start.
 */
export function stateSecret(dir: string): Uint8Array {
  const stored = readRuntimeSecret(dir)
  if (stored !== null) return stored
  const made = randomBytes(32)
  writeAtomic(secretFile(dir), `${made.toString('hex')}\n`)
  return made
}

/** Returns the secret; null if it has not been created. For `check`, see `readRuntime`. */
export function readRuntimeSecret(dir: string, check: FileCheck = fileFault): Uint8Array | null {
  const path = secretFile(dir)
  const text = textOf(path, check)?.trim()
  if (text === undefined) return null
  if (/^[0-9a-f]{64}$/.test(text)) return Buffer.from(text, 'hex')
  throw new StartError(
    'failed',
    `${path} is damaged. Stop the daemon and delete the file. The next start creates a new one.`,
  )
}

/**
 * The address that the daemon of the whole machine publishes to all users.
 *
 * The service manager creates the folder for the file, which contains no secret. A reader can trust
 * the file as far as it trusts the owner of the folder, and must check with the kernel which
 * process listens at the address.
 */
export type Published = Pick<Runtime, 'address' | 'socket' | 'pid' | 'version' | 'stateVersion'>

/** The maximum size of the file in bytes. The daemon writes a few hundred. */
const MOST_BYTES = 4096

const fileIn = (dir: string): string => join(dir, 'countersignd.json')

/**
 * Writes the file atomically. Every user can read it.
 * @throws the errors of `writeAtomic`
 */
export function publish(
  dir: string,
  { address, socket, version, pid, stateVersion }: Published,
): void {
  const content = `${JSON.stringify({ address, socket, version, pid, stateVersion })}\n`
  writeAtomic(fileIn(dir), content, { durable: false, mode: 0o644 })
}

/**
 * Deletes the file, if the disk permits it.
 *
 * If the file remains, a later reader finds no daemon at its address.
 */
export function unpublish(dir: string): void {
  try {
    rmSync(fileIn(dir), { force: true })
  } catch {
    // The daemon must end in any case.
  }
}

/**
 * Returns the published address; null if there is no usable file.
 * @param owner the uid that must own the file
 * @throws StartError if another user wrote the file, or could have written it
 */
export function readPublished(dir: string, owner: number): Published | null {
  const check = ({ uid, mode, size }: Stats, path: string) =>
    uid === owner && (mode & 0o022) === 0 && size <= MOST_BYTES
      ? null
      : `${path} was not written by the service only. Restart the service.`
  const text = readChecked(fileIn(dir), check)?.toString('utf8')
  if (text === undefined) return null
  try {
    const parsed = JSON.parse(text) as Partial<Published>
    const { version, pid } = parsed
    const stateVersion = stateVersionIn(parsed.stateVersion)
    const places = placesIn(parsed)
    const usable =
      places !== null &&
      (places.address === null || isOwnAddress(places.address)) &&
      typeof version === 'string' &&
      /^[\w.+-]{1,64}$/.test(version) &&
      Number.isSafeInteger(pid)
    return usable ? ({ ...places, version, pid, stateVersion } as Published) : null
  } catch {
    return null
  }
}
