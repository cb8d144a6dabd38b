/**
 * The versions of a database's schema, as a list of migrations.
 *
 * The first migration contains the whole schema of the first version that the program supports.
 */
import { StartError } from '../errors.ts'

/**
 * The step to one version. After its release it must not be edited; add a new migration instead.
 */
export interface Migration<Statements> {
  /** The version after the migration. It is also the number of the migration's file. */
  readonly version: number
  readonly statements: Statements
}

/** The migrations of one database in order. Each leads to the next version. */
export type Migrations<Statements> = readonly [Migration<Statements>, ...Migration<Statements>[]]

/** The versions that a program supports, both inclusive. */
export interface SupportedVersions {
  readonly first: number
  readonly newest: number
}

/** Returns the versions that a program with these migrations supports. */
export const supportedBy = (migrations: Migrations<unknown>): SupportedVersions => ({
  first: migrations[0].version,
  newest: (migrations.at(-1) ?? migrations[0]).version,
})

/**
 * Whether a version is older than the first supported one. Version 0 is an empty database, which is
 * not too old.
 */
export const isTooOld = (version: number, { first }: SupportedVersions): boolean =>
  version > 0 && version < first

/** The remedy for a state that is older than the first supported version. */
export const BEGIN_ANEW =
  'Start over with another SVC_STATE_DIR, and another SVC_DATABASE_URL if one is set. Keys and connections from before the first release cannot be migrated.'

/**
 * Returns the error for a database that is older than the first supported version.
 *
 * No program converts its keys and connections.
 * @param what the subject of the message: a path or a name
 */
export const tooOld = (what: string, version: number, { first }: SupportedVersions): StartError =>
  new StartError(
    'stateOlder',
    `${what} was written before the first release of countersignd (version ${version}; this program reads ${first} and later). It was not changed. ${BEGIN_ANEW}`,
  )
