/**
 * Tests databases of other versions. An older one is copied and migrated, completely or not at
 * all; the next versions here exist only in this test. Those from before the first release and of
 * newer programs are refused and left unchanged.
 */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { type Log, newLog } from '../../src/log.ts'
import { sqlite } from '../../src/service/db/engine.ts'
import { ACCOUNT_MIGRATIONS, migrate, requireKnownFile } from '../../src/service/db/migrations.ts'
import { openDatabase, wipe } from '../../src/state/database.ts'
import { STATE_MIGRATIONS } from '../../src/state/migrations.ts'
import { openState } from '../../src/state/state.ts'
import { supportedBy } from '../../src/storage/migrations.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { noSmallDisk, smallDisk } from '../soak/small-disk.ts'
import { earlierState } from './earlier-state.ts'

/** The statements of two versions after the current one. */
const NEXT = [
  ['alter table stamps add column synthetic text', `update stamps set synthetic = id`],
  ['create table made_last (id text primary key)'],
] as const

/** One of the two databases that this program keeps in files. */
interface Kind {
  readonly file: string
  readonly first: number
  readonly newest: number
  /** The query that returns the version. */
  readonly version: string
  /** The statement that changes the version. */
  readonly setVersion: (version: number) => string
  /** Opens it with the current program. */
  readonly open: (dir: string, log?: Log) => Promise<void>
  /** Opens it with a program that has the next versions, too. */
  readonly openLater: (dir: string, log?: Log) => Promise<void>
}

const state = supportedBy(STATE_MIGRATIONS)
const LATER_STATE = [
  ...STATE_MIGRATIONS,
  ...NEXT.map((texts, i) => ({ version: state.newest + 1 + i, statements: texts.join(';') })),
] as const
const account = supportedBy(ACCOUNT_MIGRATIONS)
const LATER_ACCOUNT = [
  ...ACCOUNT_MIGRATIONS,
  ...NEXT.map((texts, i) => ({ version: account.newest + 1 + i, statements: () => texts })),
] as const

async function openAccounts(dir: string, log?: Log, migrations = ACCOUNT_MIGRATIONS) {
  const path = join(dir, 'account.db')
  const engine = sqlite(path, (found) => requireKnownFile(found, path, migrations))
  try {
    await migrate(engine, log, migrations)
  } finally {
    await engine.close()
  }
}

const kinds: Kind[] = [
  {
    file: 'state.db',
    ...state,
    version: 'pragma user_version',
    setVersion: (version) => `pragma user_version = ${version}`,
    open: async (dir, log) => openDatabase(dir, log).close(),
    openLater: async (dir, log) => openDatabase(dir, log, LATER_STATE).close(),
  },
  {
    file: 'account.db',
    ...account,
    version: 'select max(version) from schema_version',
    setVersion: (version) => `insert into schema_version (version) values (${version})`,
    open: openAccounts,
    openLater: (dir, log) => openAccounts(dir, log, LATER_ACCOUNT),
  },
]

function inside<T>(path: string, use: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

const changed = (path: string, statements: string) => inside(path, (db) => db.exec(statements))

/** Returns the names and the SHA-256 of the files in a folder. */
const filesOf = (dir: string) =>
  readdirSync(dir)
    .toSorted()
    .map((name) => [name, hash('sha256', readFileSync(join(dir, name)))] as const)

const schemaOf = (path: string) =>
  inside(path, (db) => db.prepare('select name, sql from sqlite_schema order by name').all())

for (const { file, first, newest, version, setVersion, open, openLater } of kinds)
  describe(file, () => {
    const backup = `${file}.v${newest}.backup`
    const versionOf = (path: string) =>
      inside(path, (db) => Number(Object.values(db.prepare(version).get() ?? {})[0]))

    /** Puts a database of the current version into a folder. */
    async function current(t: TestContext, dir: string): Promise<string> {
      const path = join(dir, file)
      copyFileSync(join(earlierState(t, 'last-before-release'), file), path)
      await open(dir)
      for (const name of readdirSync(dir)) if (name !== file) rmSync(join(dir, name))
      return path
    }

    it('of an older version is migrated with its rows, and says so', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      const before = schemaOf(path)
      const lines: string[] = []
      await openLater(
        dir,
        newLog('info', (line) => lines.push(line)),
      )
      const copy = join(dir, backup)
      assert.deepEqual([versionOf(copy), versionOf(path)], [newest, newest + 2])
      assert.deepEqual(schemaOf(copy), before)
      assert.equal(statSync(copy).mode & 0o777, 0o600)
      const stamps = inside(path, (db) => db.prepare('select id, synthetic from stamps').all())
      assert(stamps.length > 0)
      assert(stamps.every(({ id, synthetic }) => id === synthetic))
      assert.match(lines.join(''), new RegExp(`migrated.*${copy}`))
      assert.deepEqual(readdirSync(dir).toSorted(), [file, backup])
      await openLater(dir)
      assert.deepEqual(readdirSync(dir).toSorted(), [file, backup])
    })

    it('is usable again by the older program, from the copy', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      await openLater(dir)
      await assert.rejects(open(dir), {
        exit: EXIT.stateNewer,
        message: new RegExp(`A copy of version ${newest}.*is ${join(dir, backup)}\\.`),
      })
      copyFileSync(join(dir, backup), path)
      await open(dir)
      assert.equal(versionOf(path), newest)
    })

    it('keeps the newest copy alone, after a successful migration', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      writeFileSync(`${path}.v0.backup`, 'of an earlier time')
      writeFileSync(join(dir, backup), 'of an attempt that failed')
      writeFileSync(join(dir, `${backup}.tmp`), 'half of one')
      await openLater(dir)
      assert.deepEqual(readdirSync(dir).toSorted(), [file, backup])
      assert.equal(versionOf(join(dir, backup)), newest)
    })

    it('is migrated through all versions or none: a failure in the last one undoes the first', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      changed(path, 'create table made_last (id integer)')
      const before = schemaOf(path)
      await assert.rejects(openLater(dir), /table made_last already exists/)
      assert.equal(versionOf(path), newest)
      assert.deepEqual(schemaOf(path), before)
      changed(path, 'drop table made_last')
      await openLater(dir)
      assert.deepEqual([versionOf(join(dir, backup)), versionOf(path)], [newest, newest + 2])
    })

    it('is not touched while no copy can be made', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      mkdirSync(join(dir, backup))
      await assert.rejects(openLater(dir), {
        exit: EXIT.failed,
        message: /must be copied before it is migrated. The copy failed.*Nothing was changed/,
      })
      assert.equal(versionOf(path), newest)
    })

    it('is not touched on a full disk, which is named', { skip: noSmallDisk }, async (t) => {
      const disk = smallDisk(t, 8 << 20)
      const path = await current(t, disk.stateDir)
      // Room for the write-ahead log, and not for a copy.
      disk.fill(60_000)
      await assert.rejects(openLater(disk.stateDir), {
        exit: EXIT.failed,
        message: /the disk is full\).*Nothing was changed.*Free enough space/,
      })
      disk.free()
      assert.equal(versionOf(path), newest)
      assert(!existsSync(join(disk.stateDir, backup)))
      await openLater(disk.stateDir)
      assert.equal(versionOf(path), newest + 2)
    })

    for (const [what, suffixes] of [
      ['', ['', '-wal', '-shm']],
      [', copied without the index of its log,', ['', '-wal']],
    ] as const)
      it(`of protocol 1${what} is rejected, left unchanged, and not copied`, async (t) => {
        const dir = freshFolder(t)
        const from = earlierState(t, 'first-version')
        for (const suffix of suffixes)
          copyFileSync(join(from, file + suffix), join(dir, file + suffix))
        const before = filesOf(dir)
        await assert.rejects(open(dir), {
          exit: EXIT.stateOlder,
          message: /before the first release of countersignd \(version 7;.*another SVC_STATE_DIR/,
        })
        assert.deepEqual(filesOf(dir), before)
      })

    it('of the version before the first one is rejected', async (t) => {
      const dir = freshFolder(t)
      const path = await current(t, dir)
      changed(path, file === 'account.db' ? 'delete from schema_version' : '')
      changed(path, setVersion(first - 1))
      await assert.rejects(open(dir), {
        exit: EXIT.stateOlder,
        message: new RegExp(`version ${first - 1}; this program reads ${first} and later`),
      })
    })

    it('makes no copy of a new one, nor of one of this version', async (t) => {
      const dir = freshFolder(t)
      await open(dir)
      await open(dir)
      assert.deepEqual(readdirSync(dir), [file])
    })

    it('of a newer program is rejected, and the error names the existing copy', async (t) => {
      const dir = freshFolder(t)
      const path = join(dir, file)
      await open(dir)
      writeFileSync(`${path}.v1.backup`, 'of an earlier time')
      changed(path, setVersion(newest + 1))
      const before = filesOf(dir)
      await assert.rejects(open(dir), {
        exit: EXIT.stateNewer,
        message: new RegExp(`A copy of version 1.*is ${path}\\.v1\\.backup`),
      })
      assert.deepEqual(filesOf(dir), before)
    })
  })

describe('a copy of an older version', () => {
  it('is deleted with the account, because it has the same data', async (t) => {
    const dir = freshFolder(t)
    const copy = join(dir, `state.db.v${state.newest}.backup`)
    copyFileSync(join(earlierState(t, 'last-before-release'), 'state.db'), join(dir, 'state.db'))
    openDatabase(dir).close()
    openDatabase(dir, undefined, LATER_STATE).close()
    assert(existsSync(copy))
    changed(join(dir, 'state.db'), `pragma user_version = ${state.newest}`)
    const opened = openState(dir)
    t.after(() => opened.close())
    wipe(opened.db, true)
    assert(!existsSync(copy))
  })
})
