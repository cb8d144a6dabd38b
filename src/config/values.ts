/** How single variables are read and refused. A value that may be a secret reaches no message. */
import { isIPv4 } from 'node:net'
import { posix, win32 } from 'node:path'
import { StartError } from '../errors.ts'

export interface Platform {
  readonly platform: NodeJS.Platform
  /** Throws where the user has neither a home nor an entry among the users. */
  readonly homedir: () => string
  /** Where the instance of the whole machine is; absent, its usual places. */
  readonly system?: SystemPlaces
}

/** Absolute paths of the daemon that the service manager runs for the whole machine. */
export interface SystemPlaces {
  /** The folder in which it says publicly that it runs. */
  readonly runtime: string
  /** Its state folder, or the link to it that systemd makes for a dynamic user. */
  readonly state: string
  /** The files of which one is there where it is installed. */
  readonly units: readonly string[]
}

export type Env = NodeJS.ProcessEnv

/** An empty variable counts as unset: that is how unit files and shells clear one. */
export const read = (env: Env, name: string): string | null => env[name] || null

/** A reason not to start, in words that hold no secret. */
export const fault = (message: string): StartError => new StartError('configuration', message)

/** A value that is not allowed, and what is. */
// Quoted as JSON, so that a control character in the environment cannot forge a line of the log.
export const wrong = (name: string, value: string, allowed: string): StartError =>
  fault(`${name} is ${JSON.stringify(value)}: ${allowed}`)

/** Whether a literal address is of this machine alone. */
export const isLoopback = (address: string): boolean =>
  // Of the others, what tells an address is an expression that takes longer to compile than much of a start.
  ['127.0.0.1', '::1'].includes(address) || (isIPv4(address) && address.startsWith('127.'))

/** Whether a host is this machine, by its one name that always is, or by its literal address. */
export const isThisMachine = (host: string): boolean => host === 'localhost' || isLoopback(host)

export const LOOPBACK = 'a literal loopback address, 127.0.0.1 (or another 127.x.y.z) or ::1'
export const NO_NAMES = 'names are refused because what they resolve to can change.'

/** A port; 0 is any free one. Throws StartError. */
export function port(env: Env, name: string, byDefault: number): number {
  const value = read(env, name)
  if (value === null) return byDefault
  if (/^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 65535) return Number(value)
  throw wrong(name, value, 'it must be a whole number from 0 to 65535; 0 takes any free port.')
}

/** One of a few words. Throws StartError. */
export function oneOf<const T extends string>(
  env: Env,
  name: string,
  allowed: readonly T[],
  byDefault: T,
): T {
  const value = read(env, name)
  if (value === null) return byDefault
  const found = allowed.find((word) => word === value)
  if (found !== undefined) return found
  throw wrong(name, value, `it must be one of ${allowed.join(', ')}.`)
}

/** How paths are written on a platform. */
export const pathOn = (os: Platform) => (os.platform === 'win32' ? win32 : posix)

/** An absolute path, or null where the variable is not set. Throws StartError. */
export function file(env: Env, name: string, os: Platform): string | null {
  const value = read(env, name)
  return value === null ? null : absolute(name, value, pathOn(os))
}

/** The path, which must be absolute. Throws StartError. */
// A relative path would mean another state folder for every directory the program is started from.
export function absolute(name: string, value: string, path: typeof posix): string {
  if (!path.isAbsolute(value)) throw wrong(name, value, 'it must be an absolute path.')
  return path.resolve(value)
}

/** The host of a URL, an IPv6 address without its brackets. */
export const hostIn = (origin: string): string =>
  new URL(origin).hostname.replace(/^\[(.*)\]$/, '$1')

/** An origin without a trailing slash, https off loopback; null where the variable is not set. */
export function origin(env: Env, name: string): string | null {
  const value = read(env, name)
  if (value === null) return null
  const shown = value.includes('@') ? '(not shown: it may hold a password)' : value
  const url = URL.parse(value)
  if (url === null) throw wrong(name, shown, 'it must be a URL, https://host[:port].')
  const near = isThisMachine(hostIn(value))
  if (url.protocol !== 'https:' && !(near && url.protocol === 'http:')) {
    throw wrong(name, shown, 'it must be https; http only for a loopback host.')
  }
  if (url.href !== `${url.origin}/`) {
    throw wrong(
      name,
      shown,
      'it must be an origin alone, https://host[:port], without path, query, fragment or credentials.',
    )
  }
  return url.origin
}
