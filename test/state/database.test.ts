/** Tests the database file: versions, damage, a full disk, transactions. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  cpSync,
  existsSync,
  readFileSync,
  readdirSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { AppError, EXIT } from '../../src/errors.ts'
import { openDatabase, wipe } from '../../src/state/database.ts'
import { lockState } from '../../src/storage/lock.ts'
import { openState } from '../../src/state/state.ts'
import { STATE_VERSIONS } from '../../src/state/migrations.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const pragma = (db: DatabaseSync, name: string): unknown =>
  Object.values(db.prepare(`pragma ${name}`).get() ?? {})[0]

test('a new database has this version and loses nothing in a crash', (t) => {
  const db = openDatabase(freshFolder(t))
  t.after(() => db.close())
  const settings = ['user_version', 'journal_mode', 'synchronous', 'foreign_keys', 'busy_timeout']
  const found = settings.map((name) => pragma(db, name))
  assert.deepEqual(found, [STATE_VERSIONS.newest, 'wal', 2, 1, 5000])
})

test('an older database is migrated; a failed migration leaves it unchanged', (t) => {
  const dir = freshFolder(t)
  const old = new DatabaseSync(join(dir, 'state.db'))
  old.exec('create table stamps (taken)')
  assert.throws(() => openDatabase(dir), {
    exit: EXIT.failed,
    message: /state\.db cannot be opened/,
  })
  const tables = old.prepare("select name from sqlite_schema where type = 'table'").all()
  assert.deepEqual(
    tables.map(({ name }) => name),
    ['stamps'],
  )
  assert.equal(pragma(old, 'user_version'), 0)
  old.exec('drop table stamps')
  old.close()
  const db = openDatabase(dir)
  assert.equal(pragma(db, 'user_version'), STATE_VERSIONS.newest)
  db.close()
})

test('a newer database is rejected and left unchanged, closed by its writer or not', (t) => {
  const [written, closed, crashed] = [freshFolder(t), freshFolder(t), freshFolder(t)]
  const writer = openState(written)
  writer.meta.set('key', 'value')
  writer.db.exec(`pragma user_version = ${STATE_VERSIONS.newest + 1}`)
  for (const file of ['state.db', 'state.db-wal']) {
    copyFileSync(join(written, file), join(crashed, file))
  }
  writer.close()
  copyFileSync(join(written, 'state.db'), join(closed, 'state.db'))
  const content = (dir: string): Buffer[] =>
    ['state.db', 'state.db-wal'].map((file) =>
      existsSync(join(dir, file)) ? readFileSync(join(dir, file)) : Buffer.alloc(0),
    )
  assert(content(crashed)[1]?.length, 'the log of the crashed writer holds the version')
  for (const dir of [closed, crashed]) {
    const before = content(dir)
    assert.throws(() => openState(dir), {
      name: 'StartError',
      exit: EXIT.stateNewer,
      message: /written by a newer countersignd.*Update countersignd/,
    })
    assert.deepEqual(content(dir), before)
  }
})

test('a database opens after a kill that left only the header of its write-ahead log', (t) => {
  const [written, crashed] = [freshFolder(t), freshFolder(t)]
  const writer = openState(written)
  writer.meta.set('key', 'value')
  writer.db.exec('pragma wal_checkpoint(truncate)')
  writer.meta.set('key', 'lost')
  for (const file of ['state.db', 'state.db-wal', 'state.db-shm'])
    copyFileSync(join(written, file), join(crashed, file))
  writer.close()
  truncateSync(join(crashed, 'state.db-wal'), 32)
  const state = openState(crashed)
  t.after(() => state.close())
  assert.equal(state.meta.get('key'), 'value')
  state.meta.set('key', 'new')
  assert.equal(state.meta.get('key'), 'new')
})

const damages: [string, (path: string) => void][] = [
  ['nothing', (path) => truncateSync(path, 0)],
  ['one byte', (path) => truncateSync(path, 1)],
  ['its header', (path) => truncateSync(path, 100)],
  ['its first page', (path) => truncateSync(path, 4096)],
  ['half of it', (path) => truncateSync(path, readFileSync(path).length / 2)],
  ['all but the last page', (path) => truncateSync(path, readFileSync(path).length - 4096)],
  ['other bytes', (path) => writeFileSync(path, 'x'.repeat(8192))],
]

for (const [what, damage] of damages) {
  test(`a database with only ${what} left does not start, and is named`, (t) => {
    const dir = freshFolder(t)
    const state = openState(dir)
    for (let i = 0; i < 20; i++) state.meta.set(`key ${i}`, 'x'.repeat(2000))
    state.close()
    const path = join(dir, 'state.db')
    damage(path)
    assert.throws(() => openState(dir), {
      name: 'StartError',
      exit: EXIT.failed,
      message: new RegExp(`${path} is damaged.*backup`),
    })
  })
}

test('a first start that was cut off does not prevent the next', (t) => {
  const dir = freshFolder(t)
  writeFileSync(join(dir, 'state.db.tmp'), 'half')
  writeFileSync(join(dir, 'state.db.tmp-journal'), 'half')
  const state = openState(dir)
  state.meta.set('key', 1)
  state.close()
  assert.deepEqual(readdirSync(dir), ['state.db'])
})

test('a lock file that is not a database is named', (t) => {
  const dir = freshFolder(t)
  writeFileSync(join(dir, 'lock.db'), 'x'.repeat(4096))
  assert.throws(() => lockState(dir), { exit: EXIT.failed, message: /lock\.db.*delete it/ })
})

test('a full disk is reported as such, stores nothing, and is survived', (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const pages = Number(pragma(state.db, 'page_count'))
  const big = 'x'.repeat(500_000)
  const full = { name: 'AppError', code: 'storage_full' } satisfies Partial<AppError>
  state.db.exec(`pragma max_page_count = ${pages}`)
  assert.throws(() => state.meta.set('big', big), full)
  const both = (): void =>
    state.transaction(() => {
      state.guests.put({
        id: 'g',
        label: '',
        state: 'active',
        expires_at: 1,
        created_at: 1,
        external_member_id: null,
        external_member_name: null,
      })
      state.meta.set('big', big)
    })
  assert.throws(both, full)
  assert.equal(state.guests.get('g'), null)
  state.db.exec('pragma max_page_count = 100000')
  both()
  assert.equal(state.meta.get('big'), big)
})

test('a transaction is applied completely or not at all; an inner one can fail alone', (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const fail = (): never => {
    throw new Error('on purpose')
  }
  const failing = (key: string) => () =>
    state.transaction(() => {
      state.meta.set(key, 1)
      fail()
    })
  assert.throws(failing('alone'), /on purpose/)
  const answer = state.transaction(() => {
    state.meta.set('outer', 1)
    assert.throws(failing('inner'), /on purpose/)
    return state.transaction(() => {
      state.meta.set('second', 2)
      return 'done'
    })
  })
  assert.equal(answer, 'done')
  assert.deepEqual(
    ['alone', 'outer', 'inner', 'second'].map((key) => state.meta.get(key)),
    [null, 1, null, 2],
  )
})

test('signing out keeps the count of wrong words, and deleting the account does not', (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const series = { caller: 'tok_1', expected: false }
  state.wrongTries.add(series, { uptimeMs: 1, boot: null })
  wipe(state.db)
  assert.equal(state.wrongTries.of(['tok_1'], false)[0]?.in_row, 1)
  wipe(state.db, true)
  assert.deepEqual(state.wrongTries.of(['tok_1'], false), [])
})

test('signing out deletes challenges, which contain their purpose', (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const drawn = { id: 'chl_1', connection: null, caller: null, word: 1, purpose: 'pay12' }
  state.challenges.insert(drawn, { uptimeMs: 1, boot: null })
  wipe(state.db)
  assert.deepEqual(state.challenges.all(), [])
})

test('signing out keeps the approval attempts, and deleting the account does not', (t) => {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  state.approvalAttempts.add('new', 5)
  wipe(state.db)
  assert.deepEqual(state.approvalAttempts.after('new', 0), [5])
  wipe(state.db, true)
  assert.deepEqual(state.approvalAttempts.after('new', 0), [])
})

test('data wiped just before a crash is unreadable after the next start', (t) => {
  const [dir, crashed] = [freshFolder(t), freshFolder(t)]
  const state = openState(dir)
  t.after(() => state.close())
  state.meta.set('key', 'SECRET')
  const found = () =>
    readdirSync(crashed).filter((name) => readFileSync(join(crashed, name)).includes('SECRET'))
  // The rows are deleted, and the steps after that did not run.
  const db = {
    prepare: (text: string) => state.db.prepare(text),
    exec: (text: string) => text.includes('checkpoint') || state.db.exec(text),
    location: () => state.db.location(),
  } as unknown as DatabaseSync
  Object.defineProperty(db, 'isTransaction', { get: () => state.db.isTransaction })
  wipe(db, true)
  cpSync(dir, crashed, { recursive: true })
  assert.deepEqual(found(), ['state.db-wal'])
  const next = openState(crashed)
  t.after(() => next.close())
  assert.deepEqual(found(), [])
})

test('the database files are private', { skip: process.platform === 'win32' }, (t) => {
  const dir = freshFolder(t)
  const state = openState(dir)
  state.meta.set('key', 1)
  assert.deepEqual(readdirSync(dir).toSorted(), ['state.db', 'state.db-shm', 'state.db-wal'])
  state.close()
  assert.deepEqual(readdirSync(dir), ['state.db'])
})
