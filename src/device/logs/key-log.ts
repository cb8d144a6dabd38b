/**
 * Fetches key logs from the account server, checks them against the stored ones and stores them.
 * The key log of the own account is extended as well. The server is trusted with the order of
 * entries and with nothing else: a log that breaks a rule changes nothing here.
 */
import type { Account } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { readKeyLogEntry } from '../../crypto/logs/key-log-form.ts'
import {
  type KeyLog,
  type KnownLog,
  verifyKeyLog,
  verifyingKeyLog,
} from '../../crypto/logs/key-log.ts'
import { type Refusal, requireThat, onRefusal, onRefusalLater } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { inSlices } from '../../slices.ts'
import type { State } from '../../state/state.ts'
import type { DeviceContext } from '../context.ts'
import { keyLogFull, unlessFull } from './full-logs.ts'
import { changeFacts, readFacts } from '../identity/identity.ts'
import { judgeHolds } from './connection-record.ts'
import { MOST_OWN_CHARACTERS, readPages } from './log-pages.ts'
import { keepProfile } from './profiles.ts'
import { rememberedEntries, rememberedLog } from '../identity/key-log-cache.ts'
import { keepSealKeys } from '../identity/seal-keys.ts'

/**
 * The dependencies of storing key logs. `requireSession` throws AppError not_signed_in after a
 * sign-out.
 */
export type Remembering = Pick<DeviceContext, 'state' | 'codes' | 'identity' | 'requireSession'>

/** The most attempts. Each can lose against another device of the same account. */
const ATTEMPTS = 5

const serverFault = (cause: Refusal) =>
  new AppError(
    'backend_error',
    `The account server sent an invalid key log (${cause.reason}). Nothing was changed. The server may be dishonest.`,
    { cause },
  )

/**
 * Runs a check of data from the account server.
 * @throws AppError backend_error where the data breaks a rule
 */
export const withLogRefusals = <T>(work: () => T): T => onRefusal(work, serverFault)

/** Like `judged`, for asynchronous work. */
export const judging = <T>(work: () => Promise<T>): Promise<T> => onRefusalLater(work, serverFault)

/**
 * Returns the place that an entry names.
 * @throws Refusal where the form of the entry is wrong
 */
export const seqOf = (jws: string): number => readKeyLogEntry(jws).seq

/**
 * Checks a key log from the account server.
 * @param known the place that it must continue; by default, the stored log
 * @throws AppError backend_error
 */
export const judgeKeyLog = (
  state: State,
  account: string,
  entries: readonly string[],
  known: KnownLog | undefined = rememberedEntries(state, account).known,
): KeyLog => withLogRefusals(() => verifyKeyLog(account, entries, known))

/**
 * Refuses a key log that contradicts the stored one.
 * @throws Refusal `key_log_forked`
 */
function requireSameHistory({ logs }: State, { account, entries }: KeyLog): void {
  const isSame = logs.isSameHistory('keylog', account, entries)
  requireThat(isSame, 'key_log_forked', 'another history was stored in the meantime')
}

/**
 * Returns the longer of a checked key log and the one that was stored while it was read.
 * @throws Refusal `key_log_forked` where they contradict each other
 */
export function newestOf(state: State, log: KeyLog): KeyLog {
  requireSameHistory(state, log)
  const seq = state.logs.head('keylog', log.account)?.seq ?? -1
  return seq > log.seq ? rememberedLog(state, log.account)! : log
}

/** A checked key log, with the unchecked data that the server sent beside it. */
export interface FetchedLog {
  readonly log: KeyLog
  readonly sealKeys: readonly string[]
  readonly profile: string | undefined
}

/**
 * Fetches a key log in pages from the newest stored entry on, and checks it. Responses to several
 * requests can arrive out of order. Each log is therefore judged by what was stored when it was
 * requested: an older one that arrives later is no rollback.
 * @param of `known`: the place that it must continue, by default the stored log; `keep` stores a
 *   checked first part of a log of several pages
 * @returns the log, or the one that was stored meanwhile if that is longer
 * @throws Refusal for a log that breaks a rule, goes back or forks, `too_large`; what the account
 *   and `keep` throw
 */
async function readKeyLog(
  state: State,
  account: Account,
  of: { id: string; known?: KnownLog; keep?: (log: KeyLog) => void },
): Promise<FetchedLog> {
  const { id, keep } = of
  const remembered = rememberedEntries(state, id)
  let known = of.known ?? remembered.known
  const verified = async (entries: readonly string[]): Promise<KeyLog> => {
    const log = await inSlices(verifyingKeyLog(id, entries, known))
    known = log
    return log
  }
  const { entries, last } = await readPages({
    read: (from) => account.keyLogs.read({ account: id, from }),
    known: remembered.entries,
    most: id === readFacts(state)?.account ? MOST_OWN_CHARACTERS : state.logs.mostCharacters,
    seqOf,
    ...(keep && { keep: async (entries) => keep(await verified(entries)) }),
  })
  const { seal_keys: sealKeys, profile } = last
  return { log: newestOf(state, await verified(entries)), sealKeys, profile }
}

/**
 * Fetches the key log of the own account and checks it. Stores nothing.
 * @param known the place that it must continue; by default, the stored log
 * @throws AppError backend_error, and what the account throws
 */
export async function fetchKeyLog(
  state: State,
  account: Account,
  id: string,
  known?: KnownLog,
): Promise<KeyLog> {
  const { log } = await judging(() => readKeyLog(state, account, { id, ...(known && { known }) }))
  return log
}

/**
 * Fetches the key log of an account and checks it. Of a log of several pages, it stores the first
 * ones as they arrive: after a crash, reading continues there.
 * @throws Refusal for a log that breaks a rule, goes back or forks; AppError not_signed_in when
 *   this device signed out meanwhile, and what the account throws
 */
function readRemembering(device: Remembering, account: Account, id: string): Promise<FetchedLog> {
  const { state, requireSession } = device
  const keep = (log: KeyLog) => {
    requireSession()
    rememberKeyLog(device, log)
  }
  return readKeyLog(state, account, { id, keep })
}

/**
 * Like `readRemembering`, with AppError backend_error for a Refusal. The newest page is not
 * stored.
 */
export const fetchNamedLog = (
  device: Remembering,
  account: Account,
  id: string,
): Promise<FetchedLog> => judging(() => readRemembering(device, account, id))

/**
 * Fetches the key log of an account, checks it, and stores new entries.
 * @throws Refusal for a log that breaks a rule, goes back or forks, and the page that does is not
 *   stored; AppError not_signed_in when this device signed out meanwhile, and what the account
 *   throws
 */
export async function pullKeyLog(
  device: Remembering,
  account: Account,
  id: string,
): Promise<KeyLog> {
  const { log, sealKeys, profile } = await readRemembering(device, account, id)
  device.requireSession()
  rememberKeyLog(device, log)
  keepSealKeys(device.state, log, sealKeys)
  keepProfile(device.state, log, profile)
  return log
}

/**
 * Stores a checked log where no connection depends on it yet.
 * @throws Refusal `key_log_forked` where another history of it was stored meanwhile
 */
export function keepKeyLog(state: State, log: KeyLog): void {
  // Logs are verified in slices: another request may have stored this one meanwhile.
  requireSameHistory(state, log)
  const { account, entries, heads, vouchers } = log
  const from = (state.logs.head('keylog', account)?.seq ?? -1) + 1
  for (const [at, entry] of entries.slice(from).entries()) {
    const seq = from + at
    const voucher = vouchers.get(encodeBase64url(heads[seq]!)) ?? null
    state.logs.append({ kind: 'keylog', subject: account, seq, entry, voucher })
  }
}

/**
 * Stores a checked log. A revocation in it suspends the connections of the account from now on.
 * If the log revokes this device, the facts about this device record that.
 * @throws Refusal as `keepKeyLog`
 */
export function rememberKeyLog(device: Remembering, log: KeyLog): void {
  const { state, identity } = device
  const seen = state.logs.head('keylog', log.account)?.seq ?? log.seq
  const own = log.account === identity.account ? log.devices.get(identity.device) : undefined
  state.transaction(() => {
    keepKeyLog(state, log)
    if (own !== undefined && own.revokedAt !== null) changeFacts(state, { revoked: true })
    const revokes = [...log.devices.values()].some(({ revokedAt }) => (revokedAt ?? -1) > seen)
    if (revokes) {
      state.profiles.keepOf(log.account, new Set(log.active.map(({ id }) => id)))
      judgeHolds(device, log.account)
    }
  })
}

/**
 * Adds an entry to the key log of the own account. After a conflict, it makes the entry again on
 * top of the entry that another device added first.
 * @param next returns the entry that follows a log; null where there is nothing left to add
 * @param beside `seal_key`: the bytes of the key that a `renew` names, base64url
 * @returns the log with the entry
 * @throws AppError backend_error, conflict when others were faster every time, invalid_state
 *   where the log is full, and what the account and `next` throw
 */
export async function continueKeyLog(
  state: State,
  account: Account,
  id: string,
  next: (log: KeyLog) => string | null,
  beside: { readonly seal_key?: string } = {},
): Promise<KeyLog> {
  for (let attempt = 1; ; attempt++) {
    const log = await fetchKeyLog(state, account, id)
    const entry = withLogRefusals(() => unlessFull(() => next(log), keyLogFull))
    if (entry === null) return log
    try {
      const { seq, head } = await account.keyLogs.append({ body: { entry, ...beside } })
      return withLogRefusals(() => {
        const isNext = seq === log.seq + 1 && head === encodeBase64url(entryHash(entry))
        requireThat(isNext, 'rollback', 'the account server placed the entry elsewhere')
        return verifyKeyLog(id, [...log.entries, entry], log)
      })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict' || attempt === ATTEMPTS)
        throw error
    }
  }
}
