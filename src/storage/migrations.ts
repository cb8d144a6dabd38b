/**
 * The versions of a database's schema: a list of migrations, which begins with the whole schema of
 * the first version that the program reads.
 */
import { StartError } from '../errors.ts'

/** The step to one version. After its release it is never edited: a change is a new migration. */
export interface Migration<Statements> {
  /** The version that it leads to, which is also the number of its file. */
  readonly version: number
  readonly statements: Statements
}

/** The migrations of one database in their order, each one version after the previous one. */
export type Migrations<Statements> = readonly [Migration<Statements>, ...Migration<Statements>[]]

/** The versions that a program reads. */
export interface SupportedVersions {
  readonly first: number
  readonly newest: number
}

/** Returns the versions that a program with these migrations reads. */
export const supportedBy = (migrations: Migrations<unknown>): SupportedVersions => ({
  first: migrations[0].version,
  newest: (migrations.at(-1) ?? migrations[0]).version,
})

/** Whether a database has a version from before the first supported one; 0 is an empty database. */
export const isTooOld = (version: number, { first }: SupportedVersions): boolean =>
  version > 0 && version < first

/** The remedy for a state from before the first supported version. */
export const BEGIN_ANEW =
  'Start over with another SVC_STATE_DIR, and another SVC_DATABASE_URL if one is set. Keys and connections from before the first release cannot be migrated.'

/**
 * Returns the error for a database from before the first supported version. No program converts
 * its keys and connections.
 * @param what the subject of the message: a path, or a name
 */
export const tooOld = (what: string, version: number, { first }: SupportedVersions): StartError =>
  new StartError(
    'stateOlder',
    `${what} was written before the first release of countersignd (version ${version}; this program reads ${first} and later). It was not changed. ${BEGIN_ANEW}`,
  )
