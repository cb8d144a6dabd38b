/**
 * Checks the databases: integrity, and a schema version that this program supports.
 * The duration of the integrity check depends on the disk, so a subprocess does it.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { ACCOUNT_VERSIONS } from '../../service/db/migrations.ts'
import { SMALLEST, damaged, isDamage, lost } from '../../storage/database-file.ts'
import { type SupportedVersions, isTooOld, tooOld } from '../../storage/migrations.ts'
import { isResult } from '../../storage/sqlite.ts'
import { STATE_VERSIONS } from '../../state/migrations.ts'
import { type Finding, fail, ok, shellQuoted, messageOf, sizeOf, warn } from './finding.ts'
import { type DoctorCheck } from './check.ts'
import { isWithoutIndex, openReadOnly } from '../../storage/read-only.ts'

interface Kind {
  readonly file: 'state.db' | 'account.db'
  readonly versions: SupportedVersions
  /** The query that returns the version of the database. */
  readonly query: string
}

const KINDS: readonly Kind[] = [
  {
    file: 'state.db',
    versions: STATE_VERSIONS,
    query: 'pragma user_version',
  },
  {
    file: 'account.db',
    versions: ACCOUNT_VERSIONS,
    query: 'select max(version) from schema_version',
  },
]

const RESTORE =
  'Stop countersignd, move the whole state folder elsewhere and keep it, then restore the state folder from a backup.'

function judged(db: DatabaseSync, path: string, { file, versions, query }: Kind): Finding {
  const { newest } = versions
  const [isBegun] = db.prepare('select 1 from sqlite_schema').all()
  const number = isBegun === undefined ? 0 : Number(Object.values(db.prepare(query).get() ?? {})[0])
  if (isTooOld(number, versions))
    return fail(file, tooOld(path, number, versions).message, 'Use another SVC_STATE_DIR.')
  if (number > newest)
    return fail(
      file,
      `it was written by a newer countersignd (version ${number}, this program supports up to ${newest})`,
      'Update countersignd, or use another SVC_STATE_DIR.',
    )
  const [row] = db.prepare('pragma quick_check(1)').all()
  const answer = String(Object.values(row ?? {})[0])
  if (answer !== 'ok')
    return fail(file, damaged(path, new Error(messageOf(answer))).message, RESTORE)
  const older = number < newest ? ', which the next start upgrades' : ''
  return ok(
    file,
    `undamaged, version ${number} of ${newest}${older}, ${sizeOf(statSync(path).size)}`,
  )
}

/** Checks one database. The subprocess calls it. */
function lookThrough(stateDir: string, kind: Kind): Finding[] {
  const { file: name } = kind
  const path = join(stateDir, name)
  if (!existsSync(path)) return []
  const stat = statSync(path)
  if (!stat.isFile()) return [fail(name, `${path} is not a regular file`, RESTORE)]
  if (isWithoutIndex(path))
    return [
      warn(
        name,
        'a copy with a write-ahead log but without the index of that log, so it can be checked only after a daemon has opened it',
        'countersignd serve',
      ),
    ]
  const { size } = stat
  if (size < SMALLEST) return [fail(name, damaged(path).message, RESTORE)]
  try {
    const db = openReadOnly(path)
    try {
      return [judged(db, path, kind)]
    } finally {
      db.close()
    }
  } catch (error) {
    if (isDamage(error)) return [fail(name, damaged(path, error).message, RESTORE)]
    if (isResult(error, 'busy'))
      return [warn(name, 'locked by another program', 'countersignd doctor')]
    return [
      fail(
        name,
        `${path} cannot be read: ${messageOf(error)}`,
        'Check the permissions of the file, and the disk.',
      ),
    ]
  }
}

/**
 * Returns whether a database is missing that must exist.
 * The keychain is chosen once `state.db` is complete. If `keychain.json` exists without
 * `state.db`, this is not a first start.
 */
const isLost = (stateDir: string, path: string) =>
  existsSync(`${path}-wal`) ||
  (path.endsWith('state.db') && existsSync(join(stateDir, 'keychain.json')))

export const databaseChecks: readonly DoctorCheck[] = KINDS.map(({ file }) => ({
  name: file,
  run: async ({ config: { stateDir }, apart }) => {
    if (stateDir === undefined) return []
    const path = join(stateDir, file)
    if (!existsSync(path))
      return isLost(stateDir, path) ? [fail(file, lost(path).message, RESTORE)] : []
    return (
      (await apart(file)) ?? [
        warn(
          file,
          'too large to check in a few seconds, or the disk is too slow',
          `Stop countersignd, then run: sqlite3 ${shellQuoted(path)} 'pragma quick_check'`,
        ),
      ]
    )
  },
}))

/** The checks that the subprocess runs, by name of the check. */
export const databasesApart = Object.fromEntries(
  KINDS.map((kind) => [kind.file, (stateDir: string) => lookThrough(stateDir, kind)]),
) as Record<Kind['file'], (stateDir: string) => Finding[]>
