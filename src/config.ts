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
/** The users who may use the token route; `any` restores the bare loopback rule. */
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
  /** Throws where the user has neither a home nor an entry among the users. */
  readonly homedir: () => string
}

type Env = NodeJS.ProcessEnv

const KNOWN = [
  'SVC_HTTP_BIND',
  'SVC_HTTP_PORT',
  'SVC_STATE_DIR',
  'SVC_ENV',
  'SVC_ACCOUNT_BIND',
  'SVC_ACCOUNT_PORT',
  'SVC_PUBLIC_URL',
  'SVC_DATABASE_URL',
  'SVC_KEYCHAIN',
  'SVC_TOKEN_USERS',
  'SVC_LOG_LEVEL',
  'SVC_TOKEN',
  'SVC_TOKEN_FILE',
]
/** Designed, and not built yet: ignoring one would send mail, or trust, where nobody wanted it. */
const UNSUPPORTED =
  /^SVC_(BACKEND_URL|ENV_\w+_URL|MAIL_DIR|SMTP_URL|ASSISTANT_URL|ASSISTANT_KEY_FILE|CA_FILE)$/

/** Reads and checks every variable; throws a StartError that names the variable, its value and what is allowed. */
export function readConfig(
  env: Env,
  os: Platform = { platform: process.platform, homedir },
): Config {
  checkNames(env)
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

const fault = (message: string): StartError => new StartError('configuration', message)

/** A setting that nothing reads is a mistake of whoever set it; its value may be a secret and is not shown. */
function checkNames(env: Env): void {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || KNOWN.includes(name) || read(env, name) === null) continue
    if (UNSUPPORTED.test(name)) throw fault(`${name} is not supported in this version; unset it.`)
    const meant = nearest(name)
    const remedy = meant === null ? 'Unset it.' : `Did you mean ${meant}?`
    throw fault(`${JSON.stringify(name)} is not the name of a setting. ${remedy}`)
  }
}

const pairs = (text: string) =>
  new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)))

/** The known name that shares the most pairs of letters with this one (Dice's coefficient), if it is near at all. */
function nearest(name: string): string | null {
  const given = pairs(name)
  const ranked = KNOWN.map((known) => {
    const own = pairs(known)
    const shared = [...own].filter((pair) => given.has(pair)).length
    return { known, score: (2 * shared) / (own.size + given.size) }
  })
  const best = ranked.reduce((a, b) => (b.score > a.score ? b : a))
  return best.score > 0.6 ? best.known : null
}

// Quoted as JSON, so that a control character in the environment cannot forge a line of the log.
const wrong = (name: string, value: string, allowed: string): StartError =>
  fault(`${name} is ${JSON.stringify(value)}: ${allowed}`)

const isLoopback = (address: string): boolean =>
  address === '::1' || (isIPv4(address) && address.startsWith('127.'))

/** Why each listener stays on this machine, and what may be done about it. */
const ON_THIS_MACHINE = {
  SVC_HTTP_BIND:
    'The interface hands out tokens without a password, so it must not be reachable from other machines, ' +
    'not through a proxy either;',
  SVC_ACCOUNT_BIND:
    'Without TLS it must not be reachable from other machines. To publish the pages of guest codes and stamps, put a ' +
    'reverse proxy with TLS before it and set SVC_PUBLIC_URL to the https address of that;',
} as const

function loopback(env: Env, name: keyof typeof ON_THIS_MACHINE): string {
  const value = read(env, name) ?? '127.0.0.1'
  if (isLoopback(value)) return value
  throw wrong(
    name,
    value,
    'it must be a literal loopback address, 127.0.0.1 (or another 127.x.y.z) or ::1. ' +
      `${ON_THIS_MACHINE[name]} names are refused because what they resolve to can change.`,
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
    return read(env, 'LOCALAPPDATA') ?? win32.join(home(os), 'AppData', 'Local')
  }
  if (os.platform === 'darwin') return posix.join(home(os), 'Library', 'Application Support')
  const xdg = read(env, 'XDG_STATE_HOME')
  // XDG base directories: "all paths must be absolute; a relative path is invalid and must be ignored".
  return xdg !== null && posix.isAbsolute(xdg) ? xdg : posix.join(home(os), '.local', 'state')
}

function home(os: Platform): string {
  try {
    const folder = os.homedir()
    if (folder !== '') return folder
  } catch {
    // No HOME, and no entry among the users: a container's user.
  }
  throw fault(
    'This user has no home folder, where the state would be kept: set SVC_STATE_DIR to an absolute path of your own.',
  )
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
  throw fault(
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
