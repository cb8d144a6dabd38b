/**
 * Tests databases of other versions.
 * Those of protocol 1 and of newer programs are refused and left unchanged.
 */
import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import type { Log } from '../../src/log.ts'
import { openEngine } from '../../src/service/db/database.ts'
import { NEWEST_VERSION } from '../../src/service/db/migrations.ts'
import { openState } from '../../src/state/state.ts'
import { VERSIONS } from '../../src/state/versions.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const FIRST = join(import.meta.dirname, '../fixtures/first-version/state')

/** The two databases that this program keeps in files. */
interface Kind {
  readonly file: string
  readonly newest: number
  readonly setVersion: (db: DatabaseSync, version: number) => void
  readonly open: (dir: string, log?: Log) => Promise<void>
}

const kinds: Kind[] = [
  {
    file: 'state.db',
    newest: VERSIONS.length,
    setVersion: (db, version) => db.exec(`pragma user_version = ${version}`),
    open: async (dir, log) => openState(dir, log).close(),
  },
  {
    file: 'account.db',
    newest: NEWEST_VERSION,
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

for (const { file, newest, setVersion, open } of kinds)
  describe(file, () => {
    const first = (dir: string): string => {
      const path = join(dir, file)
      copyFileSync(join(FIRST, file), path)
      return path
    }

    it('of protocol 1 is rejected, left unchanged, and not copied', async (t) => {
      const dir = freshFolder(t)
      const path = first(dir)
      const before = readFileSync(path)
      await assert.rejects(open(dir), {
        exit: EXIT.stateOlder,
        message: /protocol 1 \(version 1;.*another SVC_STATE_DIR/,
      })
      assert.deepEqual(readFileSync(path), before)
      assert(readdirSync(dir).every((name) => !name.includes('backup')))
    })

    it('a new one, or one of this version, is not copied', async (t) => {
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
      inside(path, (db) => setVersion(db, newest + 1))
      const before = readFileSync(path)
      await assert.rejects(open(dir), {
        exit: EXIT.stateNewer,
        message: new RegExp(`A copy of version 1.*is ${path}\\.v1\\.backup`),
      })
      assert.deepEqual(readFileSync(path), before)
    })
  })
