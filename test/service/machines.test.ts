/** Machine accounts on both engines. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe } from 'node:test'
import { assertionsSuite } from './machines-assertions.suite.ts'
import { oauthSuite } from './machines-oauth.suite.ts'
import type { MachinesEngine } from './machines-subject.ts'
import { machineTokensSuite } from './machines-tokens.suite.ts'
import { machinesSuite } from './machines.suite.ts'
import { startPostgres, type Postgres } from './postgres.ts'

function suites(name: string, engine: MachinesEngine): void {
  machinesSuite(name, engine)
  machineTokensSuite(name, engine)
  assertionsSuite(name, engine)
  oauthSuite(name, engine)
}

describe('SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-machines-'))
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
