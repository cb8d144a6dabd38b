/** Both engines of the account server: tests that hold for either get empty databases of each. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { type Postgres, startPostgres } from './postgres.ts'
import type { Place } from './subject.ts'

export interface Engine {
  /** Creates an empty database. */
  readonly newPlace: () => Promise<Place>
  /** Whether several servers may work on one database at the same time. */
  readonly replicas: boolean
}

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

  describe('PostgreSQL', () => {
    let postgres: Postgres
    before(async () => {
      postgres = await startPostgres()
    })
    after(() => postgres.stop())
    suites('PostgreSQL', {
      newPlace: async () => ({ url: await postgres.newDatabase(), file: '/dev/null/account.db' }),
      replicas: true,
    })
  })
}
