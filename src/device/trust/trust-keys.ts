/**
 * Fetches the keys of followed accounts and compares them with the reviewed keys.
 *
 * This module loads the elliptic curve code. The work that a sync does for each card is therefore
 * in another module.
 * @see protocol, section 3
 */
import type { Account } from '../../api/port.ts'
import { isKeyUnused, resetsWithoutKey } from '../../crypto/logs/generations.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { isLinked } from '../../crypto/logs/generations.ts'
import { type KeyLog, generationRoot } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { rootOf, safetyNumber } from '../../crypto/safety-number.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import { type FetchedLog, fetchNamedLog, withLogRefusals, rememberKeyLog } from '../logs/key-log.ts'
import { keepProfile } from '../logs/profiles.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import { entryTime } from '../logs/trust-history.ts'
import { type Hinted, type Trusting, isHinted, isJudged } from './staleness.ts'

/** The maximum number of cached safety numbers. Computing one takes about 10 ms. */
const MOST_NUMBERS = 1000

/** Returns the initial row of an account. */
const unknown = (account: string): TrustRow => ({
  account,
  pinned: 0,
  confirmed: false,
  seq: -1,
  newest: 0,
  refused: null,
  checked_at: 0,
  recovered_at: null,
  key_unused: false,
})

/**
 * Returns the row of a card, brought up to date from a key log. Keys that are seen first become the
 * reviewed keys. So do keys of a generation that the recovery key links to the reviewed one
 * (section 3).
 * @param now Unix milliseconds
 */
function comparedWith(row: TrustRow, log: KeyLog, now: number): TrustRow {
  const { seq, generation: newest, generations } = log
  const pinned = row.pinned === 0 ? newest : row.pinned
  // Keys that are seen first become the reviewed keys, even if they are a thief's. But the log
  // itself shows a reset without the recovery key.
  const isWarned = row.pinned === 0 || row.key_unused
  const key_unused =
    isKeyUnused(generations, pinned) || (isWarned && resetsWithoutKey(generations).length > 0)
  const compared = { ...row, seq, newest, pinned, key_unused }
  if (newest === pinned || !isLinked(log, pinned, newest)) return compared
  const reset = log.entries[generationRoot(log, newest).seq]!
  // The entry claims a time. The last check did not find the reset, so the reset is later than that
  // check.
  const recovered_at = Math.min(Math.max(entryTime(reset), row.checked_at), now)
  return { ...compared, pinned: newest, recovered_at }
}

type Knowing = Pick<Trusting, 'state' | 'now'>

/**
 * Returns the row of a card, brought up to date from the stored key log, which another operation
 * may have fetched.
 */
function known({ state, now }: Knowing, before: TrustRow): TrustRow {
  if (isJudged(state, before)) return before
  return rejudged({ state, now }, before)
}

/** The same, after the user reviewed another generation of the account. */
export function rejudged({ state, now }: Knowing, row: TrustRow): TrustRow {
  const { account } = row
  return comparedWith(row, rememberedLog(state, account)!, now())
}

/**
 * Returns the reason why a log was refused; null if the error does not concern the log.
 * @param wasKnown whether this device had a part of the log before the request
 */
function refusalIn(error: unknown, wasKnown: boolean): string | null {
  if (!(error instanceof AppError)) return null
  if (error.cause instanceof Refusal) return error.cause.reason
  // A log that existed cannot disappear.
  return error.code === 'not_found' && wasKnown ? 'rollback' : null
}

/**
 * Fetches an account's key log and updates the trust row. If the log breaks a rule, goes back or
 * forks, stores only the refusal.
 * @throws AppError for any error from the account server
 */
export async function examine(device: Trusting, account: Account, id: string): Promise<TrustRow> {
  const { state, now, requireSession } = device
  const checked_at = now()
  const wasKnown = state.logs.head('keylog', id) !== null
  let fetched: FetchedLog | null = null
  let refused: string | null = null
  try {
    const { log, ...beside } = await fetchNamedLog(device, account, id)
    requireSession()
    withLogRefusals(() => rememberKeyLog(device, log))
    fetched = { log, ...beside }
  } catch (error) {
    refused = refusalIn(error, wasKnown)
    // An account may have no keys yet.
    const hasNone = error instanceof AppError && error.code === 'not_found'
    if (refused === null && !hasNone) throw error
  }
  requireSession()
  return state.transaction(() => {
    const before = state.trust.get(id) ?? unknown(id)
    const row = { ...known(device, before), refused, checked_at }
    // The profile first, so that the event has the signed name.
    if (fetched !== null) keepProfile(state, fetched.log, fetched.profile)
    state.trust.put(row)
    return row
  })
}

/**
 * Returns the trust row of a card. Asks the account server only if nothing is stored or if the
 * server hints at other keys.
 * @throws AppError for any error from the account server
 */
export async function freshRow(
  device: Trusting,
  account: Account,
  card: Hinted,
): Promise<TrustRow> {
  const { state } = device
  const before = state.trust.get(card.user_id)
  if (before === null) return examine(device, account, card.user_id)
  const row = known(device, before)
  if (isHinted(card, row, device.now())) return examine(device, account, card.user_id)
  if (row !== before) state.trust.put(row)
  return row
}

const numbers = new Map<string, string>()

/** Returns the safety number of two accounts; null if one of them has no stored key log. */
export function numberWith(state: State, own: string, other: string): string | null {
  const { logs } = state
  const [ours, theirs] = [own, other].map((account) => logs.head('keylog', account)?.entry)
  if (ours === undefined || theirs === undefined) return null
  const heads = Buffer.concat([entryHash(ours), entryHash(theirs)]).toString('base64url')
  const key = [own, other, heads].join(' ')
  const known = numbers.get(key)
  if (known !== undefined) return known
  const rooted = (account: string) => rootOf(rememberedLog(state, account)!)
  const made = safetyNumber(rooted(own), rooted(other))
  // Deletes the oldest number.
  if (numbers.size >= MOST_NUMBERS) numbers.delete(numbers.keys().next().value as string)
  numbers.set(key, made)
  return made
}
