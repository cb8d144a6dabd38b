/** Reads and validates single variables. No message shows a value that may be a secret. */
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { posix, win32 } from 'node:path'
import { StartError } from '../errors.ts'

export interface ConfigPlatform {
  readonly platform: NodeJS.Platform
  /** Throws if the user has neither a home folder nor an entry in the user database. */
  readonly homedir: () => string
  /** The paths of the daemon that serves the whole machine (default: the usual paths). */
  readonly system?: SystemPlaces
  /** The path of the file with settings for all users of the machine (default: the usual path). */
  readonly settingsFile?: string
}

/** The absolute paths of the daemon that the service manager runs for the whole machine. */
export interface SystemPlaces {
  /** The folder in which the daemon publishes its address. */
  readonly runtime: string
  /** The daemon's state folder, or the link to it that systemd creates for a dynamic user. */
  readonly state: string
  /** The unit files. If the service is installed, one of them exists. */
  readonly units: readonly string[]
}

export type Env = NodeJS.ProcessEnv

/**
 * Returns a variable; null if it is unset or empty.
 *
 * Unit files and shells clear a variable by setting it to an empty string.
 */
export const read = (env: Env, name: string): string | null => env[name] || null

/** Returns an error that prevents the start. The message must not contain a secret. */
export const configFault = (message: string): StartError => new StartError('configuration', message)

/** Returns the error for a value that is not allowed. `allowed` describes the allowed values. */
// The value is quoted as JSON, so that a control character in it cannot forge a line of the log.
export const wrong = (name: string, value: string, allowed: string): StartError =>
  configFault(`${name} is ${JSON.stringify(value)}: ${allowed}`)

/** Whether a literal address is a loopback address. */
export const isLoopback = (address: string): boolean =>
  // `::1` is compared as a text, because isIPv6 compiles an expression that would slow the start
  // noticeably.
  ['127.0.0.1', '::1'].includes(address) || (isIPv4(address) && address.startsWith('127.'))

/** Whether a host is this machine: `localhost`, or a literal loopback address. */
export const isThisMachine = (host: string): boolean => host === 'localhost' || isLoopback(host)

export const LOOPBACK = 'a literal loopback address, 127.0.0.1 (or another 127.x.y.z) or ::1'
export const NO_NAMES =
  'Host names are not allowed, because the address that they resolve to can change.'

/**
 * Returns a port from 0 to 65535; 0 means any free port.
 * @param or what the caller allows besides, for the error
 * @throws StartError
 */
export function port(env: Env, name: string, byDefault: number, or = ''): number {
  const value = read(env, name)
  if (value === null) return byDefault
  if (/^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 65535) return Number(value)
  throw wrong(name, value, `it must be a whole number from 0 to 65535${or}. 0 means any free port.`)
}

/**
 * Returns the value of a variable, which must be a whole number.
 * @param range the allowed values, both inclusive
 * @throws StartError
 */
export function wholeNumber<T extends number | null>(
  env: Env,
  name: string,
  { least, most }: { readonly least: number; readonly most: number },
  byDefault: T,
): number | T {
  const value = read(env, name)
  if (value === null) return byDefault
  const number = /^(0|[1-9]\d{0,9})$/.test(value) ? Number(value) : NaN
  if (number >= least && number <= most) return number
  throw wrong(name, value, `it must be a whole number from ${least} to ${most}.`)
}

/**
 * Returns the value of a variable, which must be one of the allowed words.
 * @throws StartError
 */
export function oneOfValues<const T extends string>(
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

/** Returns the path functions of a platform. */
export const pathOn = (os: ConfigPlatform) => (os.platform === 'win32' ? win32 : posix)

/**
 * Returns an absolute path; null if the variable is not set.
 * @throws StartError
 */
export function file(env: Env, name: string, os: ConfigPlatform): string | null {
  const value = read(env, name)
  return value === null ? null : absolute(name, value, pathOn(os))
}

/**
 * Returns the resolved path after checking that it is absolute.
 * @throws StartError
 */
// A relative path would select a different state folder for each directory that the program is
// started in.
export function absolute(name: string, value: string, path: typeof posix): string {
  if (!path.isAbsolute(value)) throw wrong(name, value, 'it must be an absolute path.')
  return path.resolve(value)
}

/**
 * Returns the absolute path of a file that holds a secret; null if the variable is not set.
 * @param what names the secret in messages, which never show the value: it may be the secret
 * @throws StartError
 */
export function secretPath(
  env: Env,
  name: string,
  what: string,
  os: ConfigPlatform,
): string | null {
  const value = read(env, name)
  const path = pathOn(os)
  if (value === null || path.isAbsolute(value)) return value && path.resolve(value)
  throw configFault(
    `${name} must be the absolute path of a file that holds the ${what}. (Its value may be the ${what} itself and is not shown.)`,
  )
}

/**
 * Returns the secret in the file that a variable names, without surrounding white space; null if
 * the variable is not set.
 *
 * The mode of the file is not checked, because container platforms make secrets readable for all
 * users of the container.
 * @param what as for `secretPath`
 * @throws StartError
 */
export function secretInFile(
  env: Env,
  name: string,
  what: string,
  os: ConfigPlatform,
): string | null {
  const path = secretPath(env, name, what, os)
  if (path === null) return null
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    const { code = 'an unknown error' } = error as NodeJS.ErrnoException
    throw configFault(
      `The file that ${name} names cannot be read (${code}). Correct the path or the permissions of the file.`,
    )
  }
}

/** Returns the host of a URL; an IPv6 address is without brackets. */
export const hostIn = (url: string | URL): string =>
  new URL(url).hostname.replace(/^\[(.*)\]$/, '$1')

/** Whether no other machine can read what is sent to a URL: https, or http to this machine. */
export const isPrivateUrl = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && isThisMachine(hostIn(url)))

/**
 * Returns an origin without a trailing slash; null if the variable is not set.
 *
 * It must be https, or http on a loopback host.
 * @throws StartError
 */
export function origin(env: Env, name: string): string | null {
  const value = read(env, name)
  if (value === null) return null
  const shown = /@|\?./.test(value) ? '(not shown: it may hold a password or a key)' : value
  const url = URL.parse(value)
  if (url === null) throw wrong(name, shown, 'it must be a URL, https://host[:port].')
  if (!isPrivateUrl(url)) {
    throw wrong(name, shown, 'it must use https. http is allowed for a loopback host only.')
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
