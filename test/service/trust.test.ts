/** Trust cards, the public code, preferences and profiles on both engines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { startPostgres, type Postgres } from './postgres.ts'
import { preferencesSuite } from './preferences.suite.ts'
import { publicCodeSuite } from './public-code.suite.ts'
import { type TrustEngine, trustSuite } from './trust.suite.ts'

function suites(name: string, engine: TrustEngine & { readonly replicas: boolean }): void {
  trustSuite(name, engine)
  preferencesSuite(name, engine)
  publicCodeSuite(name, engine)
}

describe('SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-trust-'))
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
