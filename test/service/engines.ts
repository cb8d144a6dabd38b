/** Both engines of the account server: tests that hold for either get databases of each. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe } from 'node:test'
import { newDatabase } from './shared-postgres.ts'
import type { Place } from './subject.ts'

export interface Engine {
  /** Creates a database without rows. */
  readonly newPlace: () => Promise<Place>
  /** Whether several servers may work on one database at the same time. */
  readonly replicas: boolean
}

/** Creates a migrated database in the PostgreSQL of the run. */
export const newPostgresPlace = async (): Promise<Place> => ({
  url: await newDatabase(),
  // Never read: the server opens the URL.
  file: '/dev/null/account.db',
})

/** Why tests on PostgreSQL are skipped, or false. */
export const withoutPostgres =
  process.env['COUNTERSIGN_TEST_FAST'] !== undefined && 'left out of the fast tests'

/** Registers tests for either engine. */
export function onBothEngines(suites: (name: string, engine: Engine) => void): void {
  describe('SQLite', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-engine-'))
    after(() => rmSync(folder, { recursive: true }))
    let files = 0
    suites('SQLite', {
      newPlace: async () => ({ url: null, file: join(folder, `${(files += 1)}.db`) }),
      replicas: false,
    })
  })

  describe('PostgreSQL', { skip: withoutPostgres }, () => {
    suites('PostgreSQL', { newPlace: newPostgresPlace, replicas: true })
  })
}
