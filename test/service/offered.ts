/** What `test/setup.ts`, the PostgreSQL of the run and the test files agree on. */

/** The environment variable with the address that answers with the URL of the server. */
export const POSTGRES_OFFER = 'COUNTERSIGN_TEST_POSTGRES'

/** The database that is copied. */
export const MIGRATED = 'migrated'
