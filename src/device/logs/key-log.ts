/**
 * Fetches, verifies and stores key logs, and appends to the own account's key log.
 *
 * A fetched log must continue the stored one. The account server is trusted only with the order of
 * entries. A log that breaks a rule changes nothing here.
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
 * What is needed to store key logs. `requireSession` throws AppError not_signed_in after a
 * sign-out.
 */
export type Remembering = Pick<
  DeviceContext,
  'state' | 'codes' | 'vault' | 'identity' | 'requireSession'
>

/**
 * The maximum number of attempts. Each one fails if another device of the account appends first.
 */
const ATTEMPTS = 5

const serverFault = (cause: Refusal) =>
  new AppError(
    'backend_error',
    `The account server sent an invalid key log (${cause.reason}). Nothing was changed. The server may be dishonest.`,
    { cause },
  )

/**
 * Runs a check of data from the account server.
 * @throws AppError backend_error if the data breaks a rule
 */
export const withLogRefusals = <T>(work: () => T): T => onRefusal(work, serverFault)

/** Like `withLogRefusals`, for asynchronous work. */
export const judging = <T>(work: () => Promise<T>): Promise<T> => onRefusalLater(work, serverFault)

/**
 * Returns the seq that an entry names.
 * @throws Refusal if the entry is malformed
 */
export const seqOf = (jws: string): number => readKeyLogEntry(jws).seq

/**
 * Verifies a key log from the account server.
 * @param known the position that the log must continue from; the default is the stored log
 * @throws AppError backend_error
 */
export const judgeKeyLog = (
  state: State,
  account: string,
  entries: readonly string[],
  known: KnownLog | undefined = rememberedEntries(state, account).known,
): KeyLog => withLogRefusals(() => verifyKeyLog(account, entries, known))

/**
 * Requires that a key log does not contradict the stored one.
 * @throws Refusal `key_log_forked`
 */
function requireSameHistory({ logs }: State, { account, entries }: KeyLog): void {
  const isSame = logs.isSameHistory('keylog', account, entries)
  requireThat(isSame, 'key_log_forked', 'another history was stored in the meantime')
}

/**
 * Returns the longer of a verified key log and the log that was stored while it was being read.
 * @throws Refusal `key_log_forked` if the two contradict each other
 */
export function newestOf(state: State, log: KeyLog): KeyLog {
  requireSameHistory(state, log)
  const seq = state.logs.head('keylog', log.account)?.seq ?? -1
  return seq > log.seq ? rememberedLog(state, log.account)! : log
}

/** A verified key log, and the unverified data that the server sent with it. */
export interface FetchedLog {
  readonly log: KeyLog
  readonly sealKeys: readonly string[]
  readonly profile: string | undefined
}

/**
 * Fetches a key log in pages from the newest stored entry on, and verifies it.
 *
 * Responses to several requests can arrive out of order. Each log is therefore compared with what
 * was stored when it was requested, so that an older log that arrives later is not a rollback.
 * @param of `known` is the position that the log must continue from, by default the stored log;
 *   `keep` stores a verified first part of a log with several pages
 * @returns the log, or a longer one that was stored meanwhile
 * @throws Refusal if the log breaks a rule, goes back or forks, or is too large (`too_large`); any
 *   error from the account server or `keep`
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
 * Fetches and verifies the own account's key log. Stores nothing.
 * @param known the position that the log must continue from; the default is the stored log
 * @throws AppError backend_error, and any error from the account server
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
 * Fetches and verifies an account's key log. If it has several pages, stores all but the last as
 * they arrive, so that reading continues there after a crash.
 * @throws Refusal if the log breaks a rule, goes back or forks; AppError not_signed_in if this
 *   device signed out meanwhile, and any error from the account server
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
 * Like `readRemembering`, but throws AppError backend_error instead of a Refusal. The last page is
 * not stored.
 */
export const fetchNamedLog = (
  device: Remembering,
  account: Account,
  id: string,
): Promise<FetchedLog> => judging(() => readRemembering(device, account, id))

/**
 * Fetches and verifies an account's key log, and stores new entries.
 * @throws Refusal if the log breaks a rule, goes back or forks (the page that does so is not
 *   stored); AppError not_signed_in if this device signed out meanwhile, and any error from the
 *   account server
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
 * Stores a verified log on which no connection depends yet.
 * @throws Refusal `key_log_forked` if another history of the log was stored meanwhile
 */
export function keepKeyLog(state: State, log: KeyLog): void {
  // Logs are verified in slices, so another request may have stored this log meanwhile.
  requireSameHistory(state, log)
  const { account, entries, heads, vouchers } = log
  const from = (state.logs.head('keylog', account)?.seq ?? -1) + 1
  state.transaction(() => {
    for (const [at, entry] of entries.slice(from).entries()) {
      const seq = from + at
      const voucher = vouchers.get(encodeBase64url(heads[seq]!)) ?? null
      state.logs.append({ kind: 'keylog', subject: account, seq, entry, voucher })
    }
    // The log that this device joins is not news.
    if (from > 0 && account === readFacts(state)?.account) reportDevices(state, log, from)
  })
}

/** Appends the events of the own devices that entry `from` or a later one added or revoked. */
function reportDevices({ events }: State, { devices }: KeyLog, from: number): void {
  for (const { id, addedAt, revokedAt } of devices.values()) {
    if (addedAt >= from) events.append('device.added', { device_id: id })
    if (revokedAt !== null && revokedAt >= from) events.append('device.revoked', { device_id: id })
  }
}

/**
 * Stores a verified log. If it contains a new revocation, suspends the account's connections. If it
 * revokes this device, records that in the facts about this device.
 * @throws Refusal as `keepKeyLog` does
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
 * Appends an entry to the own account's key log. After a conflict, creates the entry again so that
 * it follows the entry that another device appended.
 * @param next returns the entry that follows a log; null if there is nothing to append
 * @param beside `seal_key` is the sealing key that a `renew` names, base64url
 * @returns the log with the entry
 * @throws AppError backend_error, conflict if other devices were faster each time, invalid_state if
 *   the log is full, and any error from the account server or `next`
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
        requireThat(isNext, 'rollback', 'the account server added the entry at another place')
        return verifyKeyLog(id, [...log.entries, entry], log)
      })
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'conflict' || attempt === ATTEMPTS)
        throw error
    }
  }
}
