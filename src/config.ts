/**
 * The environment as one validated object: every variable, its default and its unit.
 * Nothing else in the program reads a setting from `process.env`, and a value that is a secret never reaches a message.
 */
import { isIPv4 } from 'node:net'
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { StartError } from './errors.ts'

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
const KEYCHAINS = ['auto', 'os', 'file'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]
export type KeychainChoice = (typeof KEYCHAINS)[number]
/** Who besides the daemon's own user and root may use the token route: names or uids, not looked up yet. */
export type TokenUsers = { readonly any: true } | { readonly names: readonly string[] }

export interface Config {
  /** Where the API listens: a loopback address. */
  readonly bind: string
  /** 0 means any free port. */
  readonly port: number
  readonly stateDir: string
  readonly environment: 'embedded'
  readonly accountBind: string
  readonly accountPort: number
  /** An origin without a trailing slash; null means: made from `accountBind` and `accountPort`. */
  readonly publicUrl: string | null
  /** A PostgreSQL URL, a secret; null means SQLite in the state folder. */
  readonly databaseUrl: string | null
  readonly keychain: KeychainChoice
  /** Where the service manager put credentials. */
  readonly credentialsDir: string | null
  readonly tokenUsers: TokenUsers
  readonly logLevel: LogLevel
  readonly token: string | null
  readonly tokenFile: string | null
}

interface Platform {
  readonly platform: NodeJS.Platform
  readonly homedir: string
}

type Env = NodeJS.ProcessEnv

/** Reads and checks every variable; throws a StartError that names the variable, its value and what is allowed. */
export function readConfig(
  env: Env,
  os: Platform = { platform: process.platform, homedir: homedir() },
): Config {
  return Object.freeze({
    bind: loopback(env, 'SVC_HTTP_BIND'),
    port: port(env, 'SVC_HTTP_PORT', 19821),
    stateDir: stateDir(env, os),
    environment: oneOf(env, 'SVC_ENV', ['embedded'], 'embedded'),
    accountBind: loopback(env, 'SVC_ACCOUNT_BIND'),
    accountPort: port(env, 'SVC_ACCOUNT_PORT', 19822),
    publicUrl: publicUrl(env),
    databaseUrl: databaseUrl(env),
    keychain: oneOf(env, 'SVC_KEYCHAIN', KEYCHAINS, 'auto'),
    credentialsDir: read(env, 'CREDENTIALS_DIRECTORY'),
    tokenUsers: tokenUsers(env),
    logLevel: oneOf(env, 'SVC_LOG_LEVEL', LOG_LEVELS, 'info'),
    token: read(env, 'SVC_TOKEN'),
    tokenFile: read(env, 'SVC_TOKEN_FILE'),
  })
}

/** An empty variable counts as unset: that is how unit files and shells clear one. */
const read = (env: Env, name: string): string | null => env[name] || null

// Quoted as JSON, so that a control character in the environment cannot forge a line of the log.
const wrong = (name: string, value: string, allowed: string): StartError =>
  new StartError('configuration', `${name} is ${JSON.stringify(value)}: ${allowed}`)

const isLoopback = (address: string): boolean =>
  address === '::1' || (isIPv4(address) && address.startsWith('127.'))

function loopback(env: Env, name: string): string {
  const value = read(env, name) ?? '127.0.0.1'
  if (isLoopback(value)) return value
  throw wrong(
    name,
    value,
    'it must be a literal loopback address, 127.0.0.1 (or another 127.x.y.z) or ::1. ' +
      'The interface hands out tokens without a password, so it must not be reachable from other machines; ' +
      'names are refused because what they resolve to can change. To publish it, put a reverse proxy before it.',
  )
}

function port(env: Env, name: string, byDefault: number): number {
  const value = read(env, name)
  if (value === null) return byDefault
  if (/^(0|[1-9]\d{0,4})$/.test(value) && Number(value) <= 65535) return Number(value)
  throw wrong(name, value, 'it must be a whole number from 0 to 65535; 0 takes any free port.')
}

function oneOf<const T extends string>(
  env: Env,
  name: string,
  allowed: readonly T[],
  byDefault: T,
): T {
  const value = read(env, name)
  if (value === null) return byDefault
  const found = allowed.find((word) => word === value)
  if (found !== undefined) return found
  const choice =
    allowed.length === 1
      ? `only ${allowed.join()} is supported; leave it unset.`
      : `it must be one of ${allowed.join(', ')}.`
  throw wrong(name, value, choice)
}

function stateDir(env: Env, os: Platform): string {
  const path = os.platform === 'win32' ? win32 : posix
  const named = read(env, 'SVC_STATE_DIR')
  if (named !== null) return absolute('SVC_STATE_DIR', named, path)
  // systemd lists several folders separated by colons when the unit names several; the first is ours.
  const given = read(env, 'STATE_DIRECTORY')
  if (given !== null && os.platform !== 'win32') {
    return absolute('STATE_DIRECTORY', given.split(':', 1).join(), path)
  }
  return absolute('the home folder', path.join(platformFolder(env, os), 'countersign'), path)
}

function platformFolder(env: Env, os: Platform): string {
  if (os.platform === 'win32') {
    return read(env, 'LOCALAPPDATA') ?? win32.join(os.homedir, 'AppData', 'Local')
  }
  if (os.platform === 'darwin') return posix.join(os.homedir, 'Library', 'Application Support')
  const xdg = read(env, 'XDG_STATE_HOME')
  // XDG base directories: "all paths must be absolute; a relative path is invalid and must be ignored".
  return xdg !== null && posix.isAbsolute(xdg) ? xdg : posix.join(os.homedir, '.local', 'state')
}

// A relative path would mean another state folder for every directory the program is started from.
function absolute(name: string, value: string, path: typeof posix): string {
  if (!path.isAbsolute(value)) throw wrong(name, value, 'it must be an absolute path.')
  return path.resolve(value)
}

function publicUrl(env: Env): string | null {
  const value = read(env, 'SVC_PUBLIC_URL')
  if (value === null) return null
  const shown = value.includes('@') ? '(not shown: it may hold a password)' : value
  const url = URL.parse(value)
  if (url === null) throw wrong('SVC_PUBLIC_URL', shown, 'it must be a URL, https://host[:port].')
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const near = host === 'localhost' || isLoopback(host)
  if (url.protocol !== 'https:' && !(near && url.protocol === 'http:')) {
    throw wrong('SVC_PUBLIC_URL', shown, 'it must be https; http only for a loopback host.')
  }
  if (url.href !== `${url.origin}/`) {
    throw wrong(
      'SVC_PUBLIC_URL',
      shown,
      'it must be an origin alone, https://host[:port], without path, query, fragment or credentials.',
    )
  }
  return url.origin
}

function databaseUrl(env: Env): string | null {
  const value = read(env, 'SVC_DATABASE_URL')
  if (value === null || /^postgres(ql)?:\/\/./.test(value)) return value
  throw new StartError(
    'configuration',
    'SVC_DATABASE_URL must be a postgres:// or postgresql:// URL (its value may hold a password and is not shown). ' +
      'Leave it unset to use SQLite in the state folder.',
  )
}

function tokenUsers(env: Env): TokenUsers {
  const value = read(env, 'SVC_TOKEN_USERS')
  if (value === null) return Object.freeze({ names: Object.freeze([]) })
  if (value.trim() === 'any') return Object.freeze({ any: true })
  const names = value.split(',').map((name) => name.trim())
  if (names.some((name) => name === 'any' || !/^[^\s:/]+$/.test(name))) {
    throw wrong(
      'SVC_TOKEN_USERS',
      value,
      'it must be a comma-separated list of user names or uids, or the single word any.',
    )
  }
  return Object.freeze({ names: Object.freeze(names) })
}
