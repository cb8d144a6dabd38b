/**
 * Checks the files restored from a backup: the databases must be intact and have the schema of the
 * version that the backup names, and their secrets must be in the backup. The checks are necessary
 * because a valid authentication tag proves only that the writer knew the passphrase.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { thumbprint } from '../crypto/jose/jwk.ts'
import { inMessage } from '../crypto/encoding/quoted.ts'
import { readFacts } from '../device/identity/identity.ts'
import { readKeys, secretNames } from '../device/identity/own-keys.ts'
import { StartError } from '../errors.ts'
import type { Keychain } from '../keychain/backend.ts'
import { statementsUntil } from '../service/db/migrations.ts'
import type { Contents } from '../storage/backup-contents.ts'
import { SMALLEST, isDamage, openReadOnly } from '../storage/database-file.ts'
import { eventRows } from '../state/events.ts'
import { metaRows } from '../state/meta.ts'
import { secretRows } from '../state/secrets.ts'
import { tokenRows } from '../state/tokens.ts'
import { STATE_MIGRATIONS } from '../state/migrations.ts'
import { type SealedSecrets, trySecrets } from './folder-secrets.ts'

/** A fault of the backup. The message is a clause, which becomes part of a sentence. */
class Broken extends Error {}

function demand(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Broken(what)
}

/** Returns the first column of the first row of a query. */
const valueOf = (db: DatabaseSync, sql: string): unknown =>
  Object.values(db.prepare(sql).get() ?? {})[0]

/**
 * Returns a statement without optional white space, so that statements can be compared. SQLite
 * stores a column that a migration added with different white space than a column of the original
 * `create table`. Literals and quoted names stay unchanged.
 */
const withoutLayout = (sql: string): string =>
  sql.replaceAll(/'[^']*'|"[^"]*"|\s*([(),])\s*|\s+/g, (token, mark?: string) =>
    mark !== undefined ? mark : /^\s/.test(token) ? ' ' : token,
  )

/**
 * Returns every table, index, view and trigger of a database, with the statement that created it.
 * Comparing the statements also compares constraints, defaults and indexed expressions.
 */
function objectsOf(db: DatabaseSync): Map<string, string> {
  const rows = db
    .prepare(
      `select type || ' ' || name as object, tbl_name as owner, coalesce(sql, '') as made
       from sqlite_schema order by 1`,
    )
    .all()
  const objects = Map.groupBy(rows, ({ object }) => String(object))
  return new Map(
    [...objects].map(([object, all]) => [
      object,
      JSON.stringify(all.map(({ owner, made }) => [owner, withoutLayout(String(made))])),
    ]),
  )
}

/** Returns the objects, as `objectsOf` does, of a new database that these statements create. */
function objectsBy(statements: readonly string[]): Map<string, string> {
  const db = new DatabaseSync(':memory:')
  try {
    for (const statement of statements) db.exec(statement)
    return objectsOf(db)
  } finally {
    db.close()
  }
}

/** Returns the first object that differs between two databases or that only one of them has. */
function differing(one: Map<string, string>, other: Map<string, string>): string | undefined {
  const objects = [...one.keys(), ...other.keys()]
  return objects.find((object) => one.get(object) !== other.get(object))
}

interface Kind {
  readonly file: string
  /** The version that the backup names. `query` returns the version that the database names. */
  readonly version: number
  readonly query: string
  readonly statements: readonly string[]
}

/** Checks a database, then calls `work` with the database opened read-only. */
async function sound<T>(
  dir: string,
  { file, version, query, statements }: Kind,
  work: (db: DatabaseSync) => T | Promise<T>,
): Promise<T> {
  const path = join(dir, file)
  demand(statSync(path).size >= SMALLEST, `its ${file} is incomplete`)
  const db = openReadOnly(path)
  try {
    // The schema is compared first, because the integrity check evaluates the constraints and
    // indexed expressions that the file contains.
    const object = differing(objectsOf(db), objectsBy(statements))
    if (object !== undefined)
      throw new Broken(`its ${file} differs from version ${version} in ${inMessage(object)}`)
    demand(valueOf(db, 'pragma integrity_check(1)') === 'ok', `its ${file} is damaged`)
    demand(valueOf(db, query) === version, `its ${file} does not have version ${version}`)
    return await work(db)
  } catch (cause) {
    throw isDamage(cause) ? new Broken(`its ${file} is damaged (${cause.message})`) : cause
  } finally {
    db.close()
  }
}

/** Returns a read-only keychain with the backup's secrets. */
const keychainOf = (secrets: Contents['secrets']): Keychain => ({
  backend: 'file',
  get: (name) => (Object.hasOwn(secrets, name) ? (secrets[name] as string) : null),
  set: () => undefined,
  delete: () => undefined,
})

/** Checks that the keys are the device's, and that the vault key can decrypt the sealed secrets. */
async function requireSecrets(
  db: DatabaseSync,
  { account, server, secrets }: Contents,
): Promise<SealedSecrets> {
  const meta = metaRows(db)
  const facts = readFacts({ meta })
  demand((facts?.account ?? null) === account, 'its state.db belongs to another account')
  demand((facts?.server ?? null) === server, 'its state.db belongs to another account server')
  const tokens = tokenRows(db, eventRows(db).append)
  const begun = tokens.begun()
  const known = secretNames([
    ...tokens.all().map(({ id }) => id),
    ...(begun === null ? [] : [begun]),
  ])
  demand(
    Object.keys(secrets).every((name) => known.includes(name)),
    'it contains secrets that nothing in it uses',
  )
  const keychain = keychainOf(secrets)
  if (facts !== null) {
    const keys = await readKeys({ meta }, keychain)
    demand(
      keys !== null && thumbprint(keys.sign.jwk) === facts.kid,
      'the keys of its device are missing or belong to another device',
    )
    demand(keychain.get('session') !== null, 'the session of its device is missing')
  }
  const hasSecrets = secretRows(db).ids().length > 0
  demand(!hasSecrets || keychain.get('vault') !== null, 'its vault key is missing')
  const sealed = trySecrets(keychain, db)
  const { sealed_secrets: all, lost_secrets: lost } = sealed
  // If one secret can be decrypted, the vault key is right. The other secrets are then damaged, but
  // the account is intact.
  demand(all === 0 || lost.length < all, `its vault key opens none of its ${all} sealed secrets`)
  return sealed
}

/**
 * Checks the restored files.
 * @param path the path of the backup, for messages
 * @returns the sealed secrets, and which of them are damaged
 * @throws StartError `failed` if a file is damaged or missing, or if no sealed secret can be
 *   decrypted; AppError, and errors of node:fs about this machine's disk
 */
export async function requireCompleteBackup(
  dir: string,
  contents: Contents,
  path: string,
): Promise<SealedSecrets> {
  const { state_version, account_version } = contents
  try {
    const secret = join(dir, 'secret')
    demand(
      existsSync(secret) && /^[0-9a-f]{64}\n$/.test(readFileSync(secret, 'latin1')),
      'its folder’s secret is missing',
    )
    const sealed = await sound(
      dir,
      {
        file: 'state.db',
        version: state_version,
        query: 'pragma user_version',
        statements: STATE_MIGRATIONS.filter(({ version }) => version <= state_version).map(
          ({ statements }) => statements,
        ),
      },
      (db) => requireSecrets(db, contents),
    )
    if (account_version !== null)
      await sound(
        dir,
        {
          file: 'account.db',
          version: account_version,
          query: 'select max(version) from schema_version',
          statements: statementsUntil(account_version),
        },
        (db) => {
          const isThere = contents.account !== null
          const own = db.prepare('select 1 from accounts where id = ?').get(contents.account)
          demand(!isThere || own !== undefined, 'its account.db does not have the account')
        },
      )
    return sealed
  } catch (cause) {
    // An error of this machine's disk is not a fault of the backup.
    if (typeof (cause as NodeJS.ErrnoException).syscall === 'string') throw cause
    const why = cause instanceof Broken ? cause.message : (cause as Error).message
    throw new StartError(
      'failed',
      `${path} opens, but is not a complete backup: ${why}. Nothing was restored. Use another backup.`,
      cause,
    )
  }
}
