/**
 * Checks the databases and the audit log.
 *
 * A database must be intact and have a supported schema version. Each line of the audit log must
 * follow from the previous line. The duration depends on the disk, so a subprocess runs these
 * checks.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { ACCOUNT_VERSIONS } from '../../service/db/migrations.ts'
import { STATE_VERSIONS } from '../../state/migrations.ts'
import { verifyAudit } from '../../storage/audit-chain.ts'
import { auditFiles } from '../../storage/audit-files.ts'
import {
  damaged,
  isDamage,
  isWithoutIndex,
  lost,
  openReadOnly,
  SMALLEST,
} from '../../storage/database-file.ts'
import { isTooOld, type SupportedVersions, tooOld } from '../../storage/migrations.ts'
import { isResult } from '../../storage/sqlite.ts'
import type { DoctorCheck } from './check.ts'
import { fail, type Finding, messageOf, ok, shellQuoted, sizeOf, warn } from './finding.ts'

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

function findingOn(db: DatabaseSync, path: string, { file, versions, query }: Kind): Finding {
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
  return ok(file, `intact, version ${number} of ${newest}${older}, ${sizeOf(statSync(path).size)}`)
}

/** Checks one database. Called in the subprocess. */
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
      return [findingOn(db, path, kind)]
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
 * Returns whether a database that must exist is missing.
 *
 * The keychain is chosen when `state.db` is complete. If `keychain.json` exists but `state.db` does
 * not, this is not a first start.
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

/** The checks that run in the subprocess, by name. */
export const databasesApart = Object.fromEntries(
  KINDS.map((kind) => [kind.file, (stateDir: string) => lookThrough(stateDir, kind)]),
) as Record<Kind['file'], (stateDir: string) => Finding[]>

const NAME = 'audit log'

/** Verifies the whole audit log. Called in the subprocess. */
export function auditApart(stateDir: string): Finding[] {
  try {
    const { lines, from, cut, fault } = verifyAudit(stateDir)
    if (fault !== null)
      return [
        fail(
          NAME,
          `line ${fault.row} of ${fault.file} ${fault.what}; the log was changed at this line or after it`,
          'countersignd audit verify (then compare the log with a backup to see what was changed)',
        ),
      ]
    const since = from === null ? '' : ` since ${from}`
    const torn = cut === 0 ? '' : `, ${cut} cut off by a crash`
    return [
      ok(
        NAME,
        `${lines} ${lines === 1 ? 'line' : 'lines'}${since}, each matches the line before it${torn}`,
      ),
    ]
  } catch (error) {
    return [fail(NAME, `cannot be read: ${messageOf(error)}`, 'countersignd audit verify')]
  }
}

export const auditCheck: DoctorCheck = {
  name: NAME,
  async run({ config: { stateDir }, apart, holding }) {
    if (stateDir === undefined) return []
    if (!hasLog(stateDir))
      return (await holding()).state === 'proven'
        ? [
            warn(
              NAME,
              'the file is missing although a daemon is running, so it was deleted',
              'Restore the file, then restart the daemon: countersignd serve',
            ),
          ]
        : []
    return (
      (await apart(NAME)) ?? [
        warn(NAME, 'too long to check in a few seconds', 'countersignd audit verify'),
      ]
    )
  },
}

function hasLog(stateDir: string): boolean {
  try {
    return auditFiles(stateDir).length > 0
  } catch {
    // The folder is missing, or this user may not list it. The check of the files reports both.
    return false
  }
}
