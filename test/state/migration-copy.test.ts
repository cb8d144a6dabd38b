/** A database of an older version: a complete copy of it is made before anything is changed, or nothing is. */
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { type Log, newLog } from '../../src/log.ts'
import { openEngine } from '../../src/service/database.ts'
import { NEWEST_VERSION } from '../../src/service/migrations.ts'
import { openState } from '../../src/state/state.ts'
import { VERSIONS } from '../../src/state/versions.ts'
import { wipe } from '../../src/state/wipe.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { noSmallDisk, smallDisk } from '../soak/small-disk.ts'

const FIRST = join(import.meta.dirname, '../fixtures/first-version/state')

/** The two databases that this program keeps in files. */
interface Kind {
  readonly file: string
  readonly newest: number
  /** A table that one of the last versions makes. */
  readonly madeLast: string
  readonly versionOf: (db: DatabaseSync) => number
  readonly setVersion: (db: DatabaseSync, version: number) => void
  readonly open: (dir: string, log?: Log) => Promise<void>
}

const number = (db: DatabaseSync, sql: string) =>
  Number(Object.values(db.prepare(sql).get() ?? {})[0])

const kinds: Kind[] = [
  {
    file: 'state.db',
    newest: VERSIONS.length,
    madeLast: /create table (\w+)/.exec(VERSIONS.slice(2).join(';'))?.[1] ?? '',
    versionOf: (db) => number(db, 'pragma user_version'),
    setVersion: (db, version) => db.exec(`pragma user_version = ${version}`),
    open: async (dir, log) => openState(dir, log).close(),
  },
  {
    file: 'account.db',
    newest: NEWEST_VERSION,
    madeLast: 'presets',
    versionOf: (db) => number(db, 'select max(version) from schema_version'),
    setVersion: (db, version) =>
      db.exec(`insert into schema_version (version) values (${version})`),
    open: async (dir, log) => {
      const at = { url: null, file: join(dir, 'account.db') }
      await (await openEngine(log === undefined ? at : { ...at, log })).close()
    },
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

for (const { file, newest, madeLast, versionOf, setVersion, open } of kinds)
  describe(file, () => {
    const first = (dir: string): string => {
      const path = join(dir, file)
      copyFileSync(join(FIRST, file), path)
      return path
    }

    it('leaves a copy of what it was, for nobody else, and says so', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      const lines: string[] = []
      await open(
        dir,
        newLog('info', (line) => lines.push(line)),
      )
      const copy = `${path}.v1.backup`
      assert.equal(statSync(copy).mode & 0o777, 0o600)
      const tables = (db: DatabaseSync) =>
        db.prepare('select name, sql from sqlite_schema order by name').all()
      assert.deepEqual(inside(copy, tables), inside(join(FIRST, file), tables))
      assert.deepEqual([inside(copy, versionOf), inside(path, versionOf)], [1, newest])
      assert.match(lines.join(''), new RegExp(`brought forward.*${copy}`))
      assert.deepEqual(readdirSync(dir).toSorted(), [file, `${file}.v1.backup`])
    })

    it('makes none of a new one, nor of one of this version', async (t) => {
      const dir = freshFolder(t)
      await open(dir)
      await open(dir)
      assert.deepEqual(readdirSync(dir), [file])
    })

    it('keeps the newest copy alone, once all went well', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      writeFileSync(`${path}.v0.backup`, 'of an earlier time')
      writeFileSync(`${path}.v1.backup`, 'of an attempt that failed')
      writeFileSync(`${path}.v1.backup.tmp`, 'half of one')
      await open(dir)
      assert.deepEqual(readdirSync(dir).toSorted(), [file, `${file}.v1.backup`])
      assert.equal(inside(`${path}.v1.backup`, versionOf), 1)
    })

    it('is brought all the way or not at all: what a failure in the middle leaves is the first version', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      // What the last version makes is there already.
      inside(path, (db) => db.exec(`create table ${madeLast} (id integer)`))
      await assert.rejects(open(dir), new RegExp(`table ${madeLast} already exists`))
      assert.equal(inside(path, versionOf), 1)
      inside(path, (db) => db.exec(`drop table ${madeLast}`))
      await open(dir)
      assert.deepEqual(
        [inside(`${path}.v1.backup`, versionOf), inside(path, versionOf)],
        [1, newest],
      )
    })

    it('is not touched while no copy can be made', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      mkdirSync(`${path}.v1.backup`)
      await assert.rejects(open(dir), {
        exit: EXIT.failed,
        message: /only after a copy of it was made, which failed.*Nothing was changed/,
      })
      assert.equal(inside(path, versionOf), 1)
    })

    it('is not touched on a full disk, which is said', { skip: noSmallDisk }, async (t) => {
      const disk = smallDisk(t, 4 << 20)
      const path = first(disk.stateDir)
      // Room for the write-ahead log, and not for a copy.
      disk.fill(60_000)
      await assert.rejects(open(disk.stateDir), {
        exit: EXIT.failed,
        message: /the disk is full\).*Nothing was changed.*Make room/,
      })
      disk.free()
      assert.equal(inside(path, versionOf), 1)
      assert(!existsSync(`${path}.v1.backup`))
      await open(disk.stateDir)
      assert.equal(inside(path, versionOf), newest)
    })

    it('of a newer program is refused with its copy named', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      await open(dir)
      inside(path, (db) => setVersion(db, newest + 1))
      const before = readFileSync(path)
      await assert.rejects(open(dir), {
        exit: EXIT.stateNewer,
        message: new RegExp(`A copy of version 1.*is ${path}\\.v1\\.backup`),
      })
      assert.deepEqual(readFileSync(path), before)
    })
  })

describe('a copy of an older version', () => {
  it('goes when the account leaves: it holds what must not be found any more', async (t) => {
    const dir = freshFolder(t)
    copyFileSync(join(FIRST, 'state.db'), join(dir, 'state.db'))
    const state = openState(dir)
    t.after(() => state.close())
    assert(existsSync(join(dir, 'state.db.v1.backup')))
    wipe(state.db, true)
    assert(!existsSync(join(dir, 'state.db.v1.backup')))
  })
})
