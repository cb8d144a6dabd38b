/**
 * Reads the settings of the environment and of the two files into one validated object.
 *
 * No other part of the program reads a setting from `process.env`. Error messages never show a
 * value that is a secret.
 */
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { type MailConfig, accountBind, backend, mailConfig } from './accounts.ts'
import { type AssistantConfig, assistantConfig } from './assistant.ts'
import { type DatabaseConfig, databaseConfig, databaseUrl } from './database.ts'
import { type Layers, layersOf, located } from './layers.ts'
import { type MetricsConfig, metricsConfig } from './metrics.ts'
import { type Retention, retention } from './retention.ts'
import type { SettingsFile, SettingPlace } from './settings-files.ts'
import {
  type InheritedDescriptor,
  type SocketConfig,
  inheritedDescriptors,
  unixSocket,
} from './sockets.ts'
import {
  type Env,
  LOOPBACK,
  NO_NAMES,
  type ConfigPlatform,
  type SystemPlaces,
  absolute,
  configFault,
  file,
  isLoopback,
  oneOfValues,
  origin,
  pathOn,
  port,
  read,
  wholeNumber,
  wrong,
} from './values.ts'
import { StartError } from '../errors.ts'

const HERE: ConfigPlatform = { platform: process.platform, homedir: () => homedir() }

/** The unit that the Debian package installs. */
export const PACKAGED_UNIT = '/usr/lib/systemd/system/countersignd.service'

/** The paths that systemd assigns to a service with this name. */
export const SYSTEM: SystemPlaces = Object.freeze({
  runtime: '/run/countersign',
  state: '/var/lib/countersign',
  units: Object.freeze(['/etc/systemd/system/countersignd.service', PACKAGED_UNIT]),
})

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const
const KEYCHAINS = ['auto', 'os', 'file'] as const

type LogLevel = (typeof LOG_LEVELS)[number]
type KeychainChoice = (typeof KEYCHAINS)[number]
/**
 * The users, besides the daemon's own user and root, who may use the token route.
 *
 * The names or uids have not been looked up. `any` means that every user of the machine may use it.
 */
export type TokenUsers = { readonly any: true } | { readonly names: readonly string[] }

/** How many mailed sign-in codes may be valid at the same time. */
export interface MailedCodes {
  readonly ofServer: number
  /** For all addresses of one domain; null if only the limit of the server applies. */
  readonly ofDomain: number | null
}

/** More codes than this would use too many of the million locators of codes. */
const MOST_CODES = 100_000
const CODES = { least: 1, most: MOST_CODES }

export interface Config {
  /** The address that the API listens on, which must be a loopback address. */
  readonly bind: string
  /** The port of the API; 0 for any free port; null if the daemon binds none. */
  readonly port: number | null
  /** The Unix socket of the API; null if there is none. */
  readonly socket: SocketConfig | null
  /** The sockets that the service manager passed to this process. */
  readonly inherited: readonly InheritedDescriptor[]
  readonly stateDir: string
  /**
   * The folder in which the daemon publishes its address; null if the service manager provides
   * none.
   */
  readonly runtimeDir: string | null
  /**
   * The paths of the daemon that serves the whole machine.
   *
   * Null if the environment names a state folder, or if the system is not Linux. A folder that the
   * file for all users names is the one of the daemon that serves the machine.
   */
  readonly system: SystemPlaces | null
  /** `embedded`, or the name of an environment with an account server. */
  readonly environment: string
  /**
   * The origin of the account server that the daemon uses, without a trailing slash.
   *
   * Null for the account server inside the daemon.
   */
  readonly backendUrl: string | null
  /**
   * Whether the environment chooses the account server. If not, the state folder does, if it
   * belongs to one (`daemon/folder.ts`).
   */
  readonly isBackendSet: boolean
  /**
   * PEM file with an additional certificate authority for that server. The file has not been read.
   */
  readonly caFile: string | null
  /**
   * The address of the account server's own listener, for guests and devices.
   *
   * The `server` command and the account server inside a daemon use it. It must be a loopback
   * address unless the public URL is https.
   */
  readonly accountBind: string
  /** The port of that listener; 0 for any free port. */
  readonly accountPort: number
  /**
   * The public origin of the account server, without a trailing slash.
   *
   * Null if it is derived from `accountBind` and `accountPort`.
   */
  readonly publicUrl: string | null
  /** The URL of a PostgreSQL database, which is a secret; null for SQLite in the state folder. */
  readonly databaseUrl: string | null
  /** The connections to that database. */
  readonly database: DatabaseConfig
  /**
   * How long a stand-alone account server still answers requests after the request to stop, while
   * it reports that it is not ready, in milliseconds.
   */
  readonly drainMs: number
  readonly mail: MailConfig
  readonly mailedCodes: MailedCodes
  readonly retention: Retention
  /** The assistant's endpoint; null if the built-in handbook answers. */
  readonly assistant: AssistantConfig | null
  /** How the metrics of a stand-alone account server are read. A daemon does not use this. */
  readonly metrics: MetricsConfig
  readonly keychain: KeychainChoice
  /** The folder with the credentials that the service manager provides. */
  readonly credentialsDir: string | null
  /** Whether the daemon shows notifications on the desktop, for what needs a person. */
  readonly desktopNotify: boolean
  readonly tokenUsers: TokenUsers
  /** Whether the daemon has the console, for browsers. */
  readonly console: boolean
  readonly logLevel: LogLevel
  readonly token: string | null
  readonly tokenFile: string | null
}

type Attempt = <T>(read: () => T) => T

const layers = (env: Env, os: ConfigPlatform): Layers =>
  layersOf(env, os, (given) => stateDirIn(given, os))

/**
 * Reads and checks every setting.
 * @throws StartError that names the setting, its line in a file, its value and the allowed values
 */
export function readConfig(env: Env, os: ConfigPlatform = HERE): Config {
  const found = layers(env, os)
  for (const fault of found.faults) throw fault
  const attempt: Attempt = (read) => {
    try {
      return read()
    } catch (error) {
      throw error instanceof StartError ? located(error, found.places) : error
    }
  }
  return Object.freeze(readAll(found, os, attempt))
}

export interface ConfigSurvey {
  /** The valid settings. An invalid setting is absent, and so is a setting that depends on it. */
  readonly config: Partial<Config>
  /** Every error that `readConfig` could throw. */
  readonly faults: readonly StartError[]
  /** The settings as texts, by name, from the environment and the files. */
  readonly values: Env
  /** The lines of the settings that come from a file, by name. */
  readonly places: ReadonlyMap<string, SettingPlace>
  readonly files: readonly SettingsFile[]
}

/** Reads the settings without failing, for reports about them. */
export function surveyConfig(env: Env, os: ConfigPlatform = HERE): ConfigSurvey {
  const found = layers(env, os)
  const faults: StartError[] = [...found.faults]
  const config = readAll(found, os, <T>(read: () => T) => {
    try {
      return read()
    } catch (error) {
      if (error instanceof StartError) faults.push(located(error, found.places))
      // An earlier invalid setting caused this error, so it is not reported.
      else if (faults.length === 0) throw error
      return undefined as T
    }
  })
  const known = Object.entries(config).filter(([, value]) => value !== undefined)
  const { env: values, places, files } = found
  return {
    config: Object.fromEntries(known) as Partial<Config>,
    faults,
    values,
    places,
    files,
  }
}

function readAll({ env, places }: Layers, os: ConfigPlatform, attempt: Attempt): Config {
  const publicUrl = attempt(() => origin(env, 'SVC_PUBLIC_URL'))
  const folder = attempt(() => stateDirIn(env, os))
  return {
    bind: attempt(() => apiBind(env)),
    port: attempt(() => apiPort(env)),
    socket: attempt(() => unixSocket(env, os)),
    inherited: attempt(() => inheritedDescriptors(env, os)),
    stateDir: folder,
    runtimeDir: attempt(() => runtimeDir(env, os)),
    system: systemPlaces(env, os, places.get('SVC_STATE_DIR')),
    ...attempt(() => backend(env)),
    caFile: attempt(() => file(env, 'SVC_CA_FILE', os)),
    accountBind: attempt(() => accountBind(env, publicUrl)),
    accountPort: attempt(() => port(env, 'SVC_ACCOUNT_PORT', 19822)),
    publicUrl,
    databaseUrl: attempt(() => databaseUrl(env, os)),
    database: attempt(() => databaseConfig(env)),
    drainMs: attempt(() => wholeNumber(env, 'SVC_DRAIN_MS', { least: 0, most: 600_000 }, 0)),
    mail: attempt(() => mailConfig(env, { os, publicUrl, stateDir: folder })),
    mailedCodes: attempt(() => mailedCodes(env)),
    retention: attempt(() => retention(env)),
    assistant: attempt(() => assistantConfig(env, os)),
    metrics: attempt(() => metricsConfig(env, os)),
    keychain: attempt(() => oneOfValues(env, 'SVC_KEYCHAIN', KEYCHAINS, 'auto')),
    credentialsDir: read(env, 'CREDENTIALS_DIRECTORY'),
    desktopNotify: attempt(() => desktopNotify(env, os)),
    tokenUsers: attempt(() => tokenUsers(env)),
    console: attempt(() => oneOfValues(env, 'SVC_CONSOLE', ['on', 'off'], 'on') === 'on'),
    logLevel: attempt(() => oneOfValues(env, 'SVC_LOG_LEVEL', LOG_LEVELS, 'info')),
    token: read(env, 'SVC_TOKEN'),
    tokenFile: read(env, 'SVC_TOKEN_FILE'),
  }
}

function apiBind(env: Env): string {
  const value = read(env, 'SVC_HTTP_BIND') ?? '127.0.0.1'
  if (isLoopback(value)) return value
  throw wrong(
    'SVC_HTTP_BIND',
    value,
    `it must be ${LOOPBACK}. The interface issues tokens without a password, so it must not be reachable from other machines, ` +
      `not even through a proxy. ${NO_NAMES}`,
  )
}

const apiPort = (env: Env): number | null =>
  read(env, 'SVC_HTTP_PORT') === 'off'
    ? null
    : port(env, 'SVC_HTTP_PORT', 19821, ', or off for no port')

/**
 * Returns the state folder that an environment selects.
 * @throws StartError
 */
export function stateDirIn(env: Env, os: ConfigPlatform): string {
  const path = pathOn(os)
  const named = read(env, 'SVC_STATE_DIR')
  if (named !== null) return absolute('SVC_STATE_DIR', named, path)
  const given = ofManager(env, 'STATE_DIRECTORY', os)
  if (given !== null) return given
  return absolute('the home folder', path.join(platformFolder(env, os), 'countersign'), path)
}

/** Returns a folder that the service manager created for the daemon. */
function ofManager(env: Env, name: string, os: ConfigPlatform): string | null {
  const given = read(env, name)
  if (given === null || os.platform === 'win32') return null
  // If a unit names several folders, systemd separates them with colons. The first one belongs to
  // this program.
  return absolute(name, given.split(':', 1).join(), pathOn(os))
}

const runtimeDir = (env: Env, os: ConfigPlatform) => ofManager(env, 'RUNTIME_DIRECTORY', os)

/** @param inFile where a file for all users names the state folder */
function systemPlaces(env: Env, os: ConfigPlatform, inFile?: SettingPlace): SystemPlaces | null {
  if (os.platform !== 'linux') return null
  const places = os.system ?? SYSTEM
  const named = read(env, 'SVC_STATE_DIR')
  if (inFile !== undefined && named !== null) return Object.freeze({ ...places, state: named })
  return named === null && read(env, 'STATE_DIRECTORY') === null ? places : null
}

function platformFolder(env: Env, os: ConfigPlatform): string {
  if (os.platform === 'win32') {
    return read(env, 'LOCALAPPDATA') ?? win32.join(home(os), 'AppData', 'Local')
  }
  if (os.platform === 'darwin') return posix.join(home(os), 'Library', 'Application Support')
  const xdg = read(env, 'XDG_STATE_HOME')
  // XDG base directories: "all paths must be absolute; a relative path is invalid and must be
  // ignored".
  return xdg !== null && posix.isAbsolute(xdg) ? xdg : posix.join(home(os), '.local', 'state')
}

function home(os: ConfigPlatform): string {
  try {
    const folder = os.homedir()
    if (folder !== '') return folder
  } catch {
    // There is no HOME, and the user database has no entry, as for the user of a container.
  }
  throw configFault(
    'This user has no home folder to store the state in. Set SVC_STATE_DIR to an absolute path.',
  )
}

const mailedCodes = (env: Env): MailedCodes =>
  Object.freeze({
    ofServer: wholeNumber(env, 'SVC_MAILED_CODES', CODES, 1000),
    ofDomain: wholeNumber(env, 'SVC_MAILED_CODES_PER_DOMAIN', CODES, null),
  })

function desktopNotify(env: Env, { platform }: ConfigPlatform): boolean {
  const isOn = oneOfValues(env, 'SVC_DESKTOP_NOTIFY', ['on', 'off'], 'off') === 'on'
  if (!isOn || platform === 'linux') return isOn
  throw wrong(
    'SVC_DESKTOP_NOTIFY',
    'on',
    `it has no effect on ${platform}, because the daemon shows notifications only on a Linux desktop. Unset it.`,
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
