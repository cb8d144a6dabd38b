/**
 * The data of the state folder against which a stamp is verified.
 * These are the key logs of the own account and its contacts, which of their keys were accepted,
 * and the key of the account server’s receipts. The folder is opened read-only and never created;
 * a daemon may use it at the same time.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Config } from '../../config/config.ts'
import type { PublicJwk } from '../../crypto/jose/jwk.ts'
import { readFacts } from '../../device/identity/identity.ts'
import { logRows } from '../../state/logs.ts'
import { metaRows } from '../../state/meta.ts'
import { trustRows } from '../../state/trust.ts'
import { STATE_VERSIONS } from '../../state/migrations.ts'
import { openReadOnly } from '../../storage/read-only.ts'
import { isForSystem } from '../system-instance.ts'

export interface StampMemory {
  /** Why there is no data, as a clause; null if the folder was read. */
  readonly missing: string | null
  /** The signed-in account and its device; null if no user is signed in. */
  readonly own: { readonly account: string; readonly device: string } | null
  /** The key of the server's receipts, pinned at enrolment; null if no user is signed in. */
  readonly receiptKey: PublicJwk | null
  /**
   * Returns the entries of an account’s cached key log; none for an account that is not cached.
   */
  readonly keyLog: (account: string) => readonly string[]
  /** Returns the generation of another account’s keys that this device has accepted. */
  readonly accepted: (account: string) => number
}

const nothing = (missing: string): StampMemory => ({
  missing,
  own: null,
  receiptKey: null,
  keyLog: () => [],
  accepted: () => 1,
})

const versionOf = (db: DatabaseSync) =>
  Number(db.prepare('pragma user_version').get()?.['user_version'])

function memoryIn(db: DatabaseSync): StampMemory {
  const { first, newest } = STATE_VERSIONS
  const version = versionOf(db)
  if (version < first)
    return nothing('the state folder is from before the first release of countersignd')
  if (version > newest) return nothing('a newer countersignd wrote the state folder')
  const logs = logRows(db)
  // The table of an earlier version may lack columns until the next start.
  const trust = version === newest ? trustRows(db) : null
  const facts = readFacts({ meta: metaRows(db) })
  return {
    missing: null,
    own: facts && { account: facts.account, device: facts.device },
    receiptKey: facts?.receiptKey ?? null,
    keyLog: (account) => logs.read('keylog', account),
    // For an account that is not followed, the first keys are valid: the account id certifies
    // them.
    accepted: (account) => trust?.get(account)?.pinned ?? 1,
  }
}

/**
 * Runs a function with the data. A folder that cannot be read counts as empty, with the reason.
 */
export async function withMemory<T>(
  config: Pick<Config, 'stateDir' | 'system'>,
  work: (memory: StampMemory) => Promise<T>,
): Promise<T> {
  const path = join(config.stateDir, 'state.db')
  if (isForSystem(config))
    return work(nothing('users of this machine cannot read the state of its service'))
  if (!existsSync(path)) return work(nothing('this device has never signed in'))
  let db: DatabaseSync
  try {
    db = openReadOnly(path)
  } catch (error) {
    return work(nothing(`${path} cannot be read (${(error as Error).message})`))
  }
  try {
    return await work(memoryIn(db))
  } finally {
    db.close()
  }
}
