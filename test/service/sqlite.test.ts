/** The account server on SQLite: the default, beside the daemon's state. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { queriesOver } from '../../src/service/db/database.ts'
import { sqlite } from '../../src/service/db/engine.ts'
import { openServiceDatabase } from './database.ts'
import { accountSuite } from '../account.suite.ts'
import { connectionsSuite } from './connections/connections.suite.ts'
import { logPagesSuite } from './connections/log-pages.suite.ts'
import { proofsSuite } from './proofs.suite.ts'
import { entranceSuite } from './entrance.suite.ts'
import { failsToStart, serviceSuite } from './service.suite.ts'
import { rostersSuite } from './connections/rosters.suite.ts'
import { openSubject, type Place } from './subject.ts'

const folder = mkdtempSync(join(tmpdir(), 'countersign-sqlite-'))
after(() => rmSync(folder, { recursive: true }))

let files = 0
const newPlace = (): Place => ({ url: null, file: join(folder, `${(files += 1)}.db`) })

/** Passes the database to `use`, without the program. */
function plainly<T>({ file }: Place, use: (database: DatabaseSync) => T): T {
  const database = new DatabaseSync(file)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

accountSuite('SQLite', () => openSubject(newPlace()))

logPagesSuite('SQLite', (more) => openSubject(newPlace(), undefined, more))

connectionsSuite('SQLite', { newPlace: async () => newPlace() })

rostersSuite('SQLite', { newPlace: async () => newPlace() })

proofsSuite('SQLite', { newPlace: async () => newPlace() })

entranceSuite('SQLite', { newPlace: async () => newPlace() })

serviceSuite('SQLite', {
  idType: 'text',
  newPlace: async () => newPlace(),
  run: async (place, statements) =>
    plainly(place, (database) => database.exec(statements.join(';'))),
  tables: async (place) =>
    plainly(place, (database) =>
      database
        .prepare(`select name from sqlite_master where type = 'table' order by name`)
        .all()
        .map((row) => String(row['name'])),
    ),
})

test('only its owner can read the file, and it survives a power cut', async () => {
  const place = newPlace()
  const { db, close } = await openServiceDatabase(place)
  const { rows } = await sql<{ synchronous: number }>`pragma synchronous`.execute(db)
  assert.equal(rows[0]?.synchronous, 2)
  assert.equal(statSync(place.file).mode & 0o777, 0o600)
  assert.equal(statSync(`${place.file}-wal`).mode & 0o777, 0o600)
  await close()
})

test('a newer database is not changed by a byte', async () => {
  const place = newPlace()
  await (await openServiceDatabase(place)).close()
  plainly(place, (database) => database.exec('insert into schema_version (version) values (99)'))
  const bytes = readFileSync(place.file)
  await failsToStart('stateNewer', /version 99/, openServiceDatabase(place))
  assert.deepEqual(readFileSync(place.file), bytes)
})

test('errors for a file that is no database, or is missing, name its path', async () => {
  const noise = newPlace()
  writeFileSync(noise.file, 'x'.repeat(5000))
  await failsToStart('failed', /not a database/, openServiceDatabase(noise))
  const nowhere = { url: null, file: join(folder, 'missing', 'x.db') }
  await failsToStart('failed', /missing/, openServiceDatabase(nowhere))
})

test('after kill -9 during creates, no answered one is lost', async () => {
  const place = newPlace()
  const child = spawn(process.execPath, [join(import.meta.dirname, 'creating.ts'), place.file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (lines.length === 200) child.kill('SIGKILL')
  }
  const [, signal] = (await ended) as [number | null, string | null]
  assert.equal(signal, 'SIGKILL')
  assert.ok(lines.length >= 199)

  const { db, close } = await openServiceDatabase(place)
  const rows = await db.selectFrom('guest_codes').select('id').execute()
  const stored = new Set(rows.map(({ id }) => id))
  assert.deepEqual(
    lines.filter((id) => !stored.has(id)),
    [],
  )
  await close()
})

test('a statement that ran before returns the present rows and columns', async (t) => {
  const engine = sqlite(newPlace().file, () => undefined)
  t.after(() => engine.close())
  const db = await queriesOver(engine)
  const all = async () =>
    (await sql<object>`select * from notes order by n`.execute(db)).rows.map((row) => ({ ...row }))
  const add = (n: number) => sql`insert into notes (n) values (${n})`.execute(db)
  await sql`create table notes (n int primary key)`.execute(db)
  await add(1)
  assert.deepEqual(await all(), [{ n: 1 }])
  await sql`alter table notes add column text text`.execute(db)
  await add(2)
  assert.deepEqual(await all(), [
    { n: 1, text: null },
    { n: 2, text: null },
  ])
  await assert.rejects(add(2), /UNIQUE/)
  assert.equal((await add(3)).numAffectedRows, 1n)
  // More lists than statements are kept.
  for (let times = 0; times < 2; times++)
    for (let length = 1; length <= 600; length++) {
      const list = sql.join(Array.from({ length }, (_, n) => n + 1))
      const { rows } = await sql<{
        c: number
      }>`select count(*) as c from notes where n in (${list})`.execute(db)
      assert.equal(rows[0]?.c, Math.min(length, 3))
    }
})
