/**
 * The checks of `restore`: databases of this protocol are accepted if they are whole, and sealed
 * secrets even if some are damaged.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { type TestContext, after, before, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { ACCOUNT_VERSIONS } from '../../src/service/db/migrations.ts'
import { openState } from '../../src/state/state.ts'
import { STATE_VERSIONS } from '../../src/state/migrations.ts'
import { caller, listed, type Json } from '../e2e/caller.ts'
import { secretsIn } from '../e2e/kept.ts'
import { folder } from '../e2e/program.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { changedDatabase, cheapened, withFiles, withLine } from './backup-reader.ts'
import { daemonHere, terminal } from './terminal.ts'

const PASSPHRASE = 'a passphrase of the test'

const dir = folder()
const options = ['--passphrase-file', join(dir.path, 'passphrase')]
/**
 * A backup of a state folder with two connections and a guest code, and the ids of its records.
 */
let bytes: Buffer
let [connection, guest, token] = ['', '', '']

before(async () => {
  const stateDir = join(dir.path, 'state')
  const own = async (...args: string[]) => {
    const { code, out, err } = await terminal(stateDir)([...args, '--json'])
    assert.equal(code, EXIT.ok, err)
    return JSON.parse(out) as Json
  }
  connection = (await own('connection', 'create', '--name', 'Bank')).id
  await own('connection', 'create', '--name', 'Mum')
  guest = (await own('guest', 'create', '--label', 'A friend')).id
  token = (await own('token', 'create', '--name', 'one', '--scope', 'full')).token
  writeFileSync(join(dir.path, 'passphrase'), PASSPHRASE, { mode: 0o600 })
  const file = join(dir.path, 'backup')
  const { code, err } = await terminal(stateDir)(['backup', file, ...options])
  assert.equal(code, EXIT.ok, err)
  bytes = cheapened(readFileSync(file), PASSPHRASE)
})
after(() => dir.remove())

async function restored(t: TestContext, backup: Buffer, ...more: string[]) {
  const file = join(freshFolder(t), 'backup')
  const target = join(freshFolder(t), 'state')
  writeFileSync(file, backup)
  const ended = await terminal(target)(['restore', file, ...options, ...more])
  return { ...ended, target }
}

const withDatabase = (name: string, change: (db: DatabaseSync) => void) =>
  withFiles(bytes, PASSPHRASE, (file, content) =>
    file === name ? changedDatabase(content, change) : content,
  )

describe('the databases of a backup', () => {
  it('are accepted as this program writes them', async (t) => {
    const { code, err } = await restored(t, bytes)
    assert.equal(code, EXIT.ok, err)
  })

  it('are rejected from before the first release', async (t) => {
    const backup = withLine(
      bytes,
      PASSPHRASE,
      (line) => (line.state_version = STATE_VERSIONS.first - 1),
    )
    const { code, err, target } = await restored(t, backup)
    assert.equal(code, EXIT.stateOlder)
    assert.ok(err.includes(`countersignd (version ${STATE_VERSIONS.first - 1};`), err)
    assert(!existsSync(target))
  })

  /** Edits the statement that SQLite stores for a table; no SQL statement can. */
  const rewritten = (table: string, from: string, to: string) => `
    pragma writable_schema = on;
    update sqlite_schema set sql = replace(sql, '${from}', '${to}') where name = '${table}'`
  const changes: [string, 'state.db' | 'account.db', string, string][] = [
    ['without an index', 'state.db', 'drop index idempotency_by_age', 'index idempotency_by_age'],
    [
      'with an index of an expression',
      'state.db',
      'create index more on tokens (abs(created_at))',
      'index more',
    ],
    [
      'with another expression in an index',
      'state.db',
      `drop index verifications_unpushed;
       create index verifications_unpushed on verifications (id) where pushed = 1`,
      'index verifications_unpushed',
    ],
    [
      'with a constraint that its rows violate',
      'state.db',
      rewritten('meta', 'value text not null', 'value text not null check (value = 1)'),
      'table meta',
    ],
    [
      'without a constraint',
      'state.db',
      rewritten('connections', 'check (length(head) = 32)', ''),
      'table connections',
    ],
    [
      'with white space in the text of a constraint',
      'state.db',
      rewritten('logs', "''keylog'', ", "''keylog '', "),
      'table logs',
    ],
    [
      'with another type of a column',
      'state.db',
      rewritten('guests', 'label text', 'label blob'),
      'table guests',
    ],
    [
      'with another default',
      'account.db',
      rewritten('preferences', 'default 1', 'default (abs(random()))'),
      'table preferences',
    ],
    [
      'without a foreign key',
      'account.db',
      rewritten('devices', 'references accounts on delete cascade on update cascade', ''),
      'table devices',
    ],
    [
      'with an index that is no longer unique',
      'account.db',
      `drop index emails_by_id; create index emails_by_id on emails (id)`,
      'index emails_by_id',
    ],
    [
      'with a trigger',
      'account.db',
      'create trigger t after insert on accounts begin delete from emails; end',
      'trigger t',
    ],
    ['with a view', 'account.db', 'create view v as select 1', 'view v'],
    ['with statistics', 'account.db', 'analyze', 'table sqlite_stat1'],
    [
      'with terminal controls in a name',
      'state.db',
      'create table "a\u001b[2J\u202eb" (c)',
      String.raw`table a\u001b[2J\u202eb`,
    ],
  ]
  for (const [what, name, statements, object] of changes)
    it(`are rejected ${what}`, async (t) => {
      const backup = withDatabase(name, (db) => db.exec(statements))
      const { code, out, err, target } = await restored(t, backup)
      assert.deepEqual([code, out], [EXIT.failed, ''], err)
      const version = name === 'state.db' ? STATE_VERSIONS.newest : ACCOUNT_VERSIONS.newest
      assert(err.includes(`its ${name} differs from version ${version} in "${object}".`), err)
      assert(!existsSync(target))
    })
})

describe('the sealed secrets of a backup', () => {
  const sealed = 3
  const damage = (...ids: string[]) =>
    withDatabase('state.db', (db) => {
      const overwrite = db.prepare('update secrets set sealed = zeroblob(60) where id = ?')
      for (const id of ids) assert.equal(overwrite.run(id).changes, 1)
    })
  const records = (target: string) => {
    const state = openState(target)
    try {
      return state.secrets.ids()
    } finally {
      state.close()
    }
  }

  it('are counted if all are intact', async (t) => {
    const { code, out, err } = await restored(t, bytes, '--json')
    assert.equal(code, EXIT.ok, err)
    assert.doesNotMatch(err, /Warning/)
    const { sealed_secrets: count, lost_secrets: lost } = JSON.parse(out) as Json
    assert.deepEqual([count, lost], [sealed, []])
  })

  it('are restored without a damaged one of a guest code', async (t) => {
    const { code, out, err, target } = await restored(t, damage(guest), '--json')
    assert.equal(code, EXIT.ok, err)
    assert.match(
      err,
      new RegExp(
        `Warning: 1 of ${sealed} encrypted secrets is damaged and was not restored: 1 guest code\\..*` +
          `"countersignd guest revoke ID" \\(${guest}\\)`,
      ),
    )
    assert.doesNotMatch(err, /countersignd sync/)
    const { sealed_secrets: count, lost_secrets: lost } = JSON.parse(out) as Json
    assert.deepEqual([count, lost], [sealed, [{ id: guest, kind: 'guest_code' }]])

    const daemon = await daemonHere(target)
    t.after(() => daemon.close())
    const call = caller(daemon.address, token)
    assert.equal(
      (await call(`GET /api/v1/connections/${connection}/code`)).words.split(' ').length,
      3,
    )
    const codes = await listed(call, '/api/v1/guest-codes')
    assert.equal(codes.find(({ id }) => id === guest)?.secret_here, false)
    await call(`DELETE /api/v1/guest-codes/${guest}`)
    await call('POST /api/v1/guest-codes', { label: 'A friend' })
  })

  it('are restored without a damaged one of a connection, which a sync fetches', async (t) => {
    const { code, err, target } = await restored(t, damage(connection))
    assert.equal(code, EXIT.ok, err)
    assert.match(
      err,
      new RegExp(`Warning: 1 of ${sealed} encrypted secrets is damaged .*: 1 connection\\..*sync"`),
    )
    const synced = await terminal(target)(['sync'])
    assert.equal(synced.code, EXIT.ok, synced.err)
    // Every secret opens again.
    const { secrets } = await secretsIn(target)
    const original = await secretsIn(join(dir.path, 'state'))
    const opened = (of: typeof secrets) =>
      of.map(({ id, k }) => [id, Buffer.from(k).toString('hex')])
    assert.deepEqual(opened(secrets), opened(original.secrets))
  })

  it('are counted by kind if several are damaged', async (t) => {
    const { code, err } = await restored(t, damage(connection, guest))
    assert.equal(code, EXIT.ok, err)
    assert.match(
      err,
      /Warning: 2 of 3 encrypted secrets are damaged .*: 1 connection, 1 guest code\./,
    )
  })

  it('are printed without terminal controls if their names contain some', async (t) => {
    const backup = withDatabase('state.db', (db) =>
      db.exec(`insert into secrets values ('\u001b[2J\u202egst_', 1, zeroblob(60))`),
    )
    const { code, out, err } = await restored(t, backup, '--json')
    assert.equal(code, EXIT.ok, err)
    assert.match(err, /1 of 4 encrypted secrets .*: 1 unknown record\./)
    assert.doesNotMatch(out + err, /[^\n\P{Cc}]|\u202e/u)
    assert.equal((JSON.parse(out) as Json).lost_secrets[0].kind, 'unknown')
  })

  it('are rejected if none opens', async (t) => {
    const ids = records(join(dir.path, 'state'))
    assert.equal(ids.length, sealed)
    const { code, err, target } = await restored(t, damage(...ids))
    assert.equal(code, EXIT.failed)
    assert.match(err, /its vault key opens none of its 3 sealed secrets\. Nothing was restored\./)
    assert(!existsSync(target))
  })
})
