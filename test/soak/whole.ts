/**
 * Checks the files of a running daemon from outside: nothing is half written, and nothing is left
 * over.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { commandLineToken } from '../../src/auth/proof.ts'
import { type Runtime, readRuntime, stateSecret } from '../../src/storage/runtime-file.ts'

/** Returns the token of the command line, for the daemon that runs over a folder. */
export const ownerOf = (dir: string): string =>
  commandLineToken(stateSecret(dir), (readRuntime(dir) as Runtime).nonce)

/** Reads a database as it is on the disk. */
export function asked<T>(path: string, ask: (db: DatabaseSync) => T): T {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 10_000 })
  try {
    return ask(db)
  } finally {
    db.close()
  }
}

const column = (db: DatabaseSync, sql: string): string[] =>
  db
    .prepare(sql)
    .all()
    .map((row) => String(Object.values(row)[0]))

export function requireSound(path: string): void {
  asked(path, (db) => {
    assert.deepEqual(column(db, 'pragma integrity_check'), ['ok'], path)
    assert.deepEqual(db.prepare('pragma foreign_key_check').all(), [], path)
  })
}

/** Returns secrets without a record. A sync deletes them when they are a day old. */
export const orphans = (stateDir: string): string[] =>
  asked(join(stateDir, 'state.db'), (db) =>
    column(
      db,
      'select id from secrets where id not in (select id from connections union select id from guests)',
    ),
  )

/** Returns the names in the keychain of sealed files. */
const sealed = (stateDir: string): string[] =>
  readdirSync(join(stateDir, 'keychain')).map((name) =>
    decodeURIComponent(name.slice(0, -'.sealed'.length)),
  )

/** Throws unless the folder of a daemon with the file keychain is whole. */
export function requireWhole(stateDir: string): void {
  const files = readdirSync(stateDir, { recursive: true, encoding: 'utf8' })
  // A mail is written after its answer, under another name until it is complete.
  assert.deepEqual(
    files.filter((name) => name.endsWith('.tmp') && !name.startsWith('mail/')),
    [],
  )
  for (const name of ['state.db', 'account.db'])
    if (files.includes(name)) requireSound(join(stateDir, name))
  const tokens = asked(join(stateDir, 'state.db'), (db) => column(db, 'select id from tokens'))
  const expected = ['device', 'session', 'vault', ...tokens.map((id) => `token/${id}`)]
  // The vault’s key is created with the first secret.
  const found = new Set([...sealed(stateDir), 'vault'])
  assert.deepEqual([...found].toSorted(), expected.toSorted())
}
