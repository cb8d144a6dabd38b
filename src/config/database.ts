/** The settings for the account server's database. Without PostgreSQL, most have no effect. */
import {
  type ConfigPlatform,
  type Env,
  configFault,
  oneOfValues,
  read,
  secretInFile,
  wholeNumber,
} from './values.ts'

const PREPARE = ['auto', 'on', 'off'] as const

/** How long a setting may make something wait at most, in milliseconds. */
const LONGEST_MS = 3_600_000

/** The connections to PostgreSQL. */
export interface DatabaseConfig {
  /**
   * Whether PostgreSQL plans each statement only once for each connection. `auto`: unless a pooler
   * gives the transactions of a connection to different processes of PostgreSQL.
   */
  readonly prepare: (typeof PREPARE)[number]
  /** The maximum number of connections. */
  readonly poolSize: number
  /**
   * How long a statement may wait for a lock, in milliseconds; 0 for as long as PostgreSQL is
   * configured to wait.
   */
  readonly lockTimeoutMs: number
  /** How long a statement may take, in milliseconds; 0 for as long as PostgreSQL is configured. */
  readonly statementTimeoutMs: number
}

/** The settings of an environment without variables. */
export const DATABASE_DEFAULTS: DatabaseConfig = Object.freeze({
  prepare: 'auto',
  poolSize: 10,
  lockTimeoutMs: 0,
  statementTimeoutMs: 0,
})

/** @throws StartError */
export function databaseConfig(env: Env): DatabaseConfig {
  const { prepare, poolSize } = DATABASE_DEFAULTS
  const timeout = (name: string) => wholeNumber(env, name, { least: 0, most: LONGEST_MS }, 0)
  return Object.freeze({
    prepare: oneOfValues(env, 'SVC_DATABASE_PREPARE', PREPARE, prepare),
    poolSize: wholeNumber(env, 'SVC_DATABASE_POOL_SIZE', { least: 1, most: 1000 }, poolSize),
    lockTimeoutMs: timeout('SVC_DATABASE_LOCK_TIMEOUT_MS'),
    statementTimeoutMs: timeout('SVC_DATABASE_STATEMENT_TIMEOUT_MS'),
  })
}

/**
 * Returns the URL of a PostgreSQL database, from its variable or from a file; null for SQLite.
 * @throws StartError with a message that contains neither the URL nor the content of the file
 */
export function databaseUrl(env: Env, os: ConfigPlatform): string | null {
  const value = read(env, 'SVC_DATABASE_URL')
  const isInFile = read(env, 'SVC_DATABASE_URL_FILE') !== null
  if (value !== null && isInFile)
    throw configFault('SVC_DATABASE_URL and SVC_DATABASE_URL_FILE are both set. Unset one.')
  if (value !== null) return checked(value, 'SVC_DATABASE_URL')
  const text = secretInFile(env, 'SVC_DATABASE_URL_FILE', 'URL', os)
  return text === null
    ? null
    : checked(text, 'The content of the file that SVC_DATABASE_URL_FILE names')
}

function checked(url: string, name: string): string {
  if (/^postgres(ql)?:\/\/\S+$/.test(url)) return url
  throw configFault(
    `${name} must be a postgres:// or postgresql:// URL (its value may hold a password and is not shown). ` +
      'Leave it unset to use SQLite in the state folder.',
  )
}
