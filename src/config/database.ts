/** The settings for the connections to PostgreSQL. Without a URL they have no effect. */
import { type Env, oneOfValues } from './values.ts'

const PREPARE = ['auto', 'on', 'off'] as const

export interface DatabaseConfig {
  /**
   * Whether PostgreSQL plans each statement only once for each connection. `auto`: unless a pooler
   * gives the transactions of a connection to different processes of PostgreSQL.
   */
  readonly prepare: (typeof PREPARE)[number]
}

/** The settings of an environment without variables. */
export const DATABASE_DEFAULTS: DatabaseConfig = Object.freeze({ prepare: 'auto' })

/** @throws StartError */
export function databaseConfig(env: Env): DatabaseConfig {
  return Object.freeze({
    prepare: oneOfValues(env, 'SVC_DATABASE_PREPARE', PREPARE, DATABASE_DEFAULTS.prepare),
  })
}
