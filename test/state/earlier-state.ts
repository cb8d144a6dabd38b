/**
 * State folders of earlier programs, from `test/fixtures`, as their program left them.
 */
import { chmodSync, cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { gunzipSync } from 'node:zlib'
import pg from 'pg'
import type { Json } from '../e2e/caller.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const FIXTURES = join(import.meta.dirname, '../fixtures')
const LAST = join(FIXTURES, 'last-before-release')

/** The last folder of protocol 1; and the last one with a history of versions. */
export type EarlierState = 'first-version' | 'last-before-release'

/** What the user of `last-before-release` had. */
export const contents = JSON.parse(readFileSync(join(LAST, 'contents.json'), 'utf8')) as Json

/** Copies a state folder, decompresses it and sets the modes, which Git does not store. */
export function earlierState(t: TestContext, name: EarlierState): string {
  const dir = freshFolder(t)
  cpSync(join(FIXTURES, name, 'state'), dir, { recursive: true })
  for (const entry of readdirSync(dir, { withFileTypes: true, recursive: true })) {
    const path = join(entry.parentPath, entry.name)
    chmodSync(path, entry.isDirectory() ? 0o700 : 0o600)
    if (!path.endsWith('.gz')) continue
    writeFileSync(path.slice(0, -'.gz'.length), gunzipSync(readFileSync(path)), { mode: 0o600 })
    rmSync(path)
  }
  return dir
}

/**
 * Creates the tables of `last-before-release` in an empty PostgreSQL database, and moves the rows
 * of the folder's `account.db` into them.
 */
export async function moveToPostgres(dir: string, url: string): Promise<void> {
  const file = join(dir, 'account.db')
  const from = new DatabaseSync(file, { readOnly: true })
  const to = new pg.Client(url)
  await to.connect()
  try {
    await to.query(readFileSync(join(LAST, 'postgresql.sql'), 'utf8'))
    // The rows come in any order: foreign keys are not checked meanwhile.
    await to.query('set session_replication_role = replica')
    await to.query('delete from public_code_turns')
    const tables = from
      .prepare(`select name from sqlite_schema where type = 'table' and name <> 'schema_version'`)
      .all()
      .map(({ name }) => String(name))
    for (const table of tables)
      for (const row of from.prepare(`select * from ${table}`).all()) {
        const columns = Object.keys(row).join()
        const values = Object.values(row)
        const places = values.map((_, i) => `$${i + 1}`).join()
        await to.query(
          `insert into ${table} (${columns}) values (${places})`,
          values.map((value) => (value instanceof Uint8Array ? Buffer.from(value) : value)),
        )
      }
  } finally {
    from.close()
    await to.end()
  }
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
}
