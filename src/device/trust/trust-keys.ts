/**
 * Fetches and judges the keys of the accounts that the user follows. It compares them with the
 * reviewed keys (protocol, section 3). It is apart from the work that a sync does for each card,
 * because it loads the curves.
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

/** The most safety numbers in the cache. Computing one takes some ten milliseconds. */
const MOST_NUMBERS = 1000

/** Returns the row of an account of which nothing is known. */
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
 * Returns the row after a log was judged. Pins the keys that are seen first, and those of a
 * generation that the recovery key links to the pinned one (section 3).
 * @param now Unix milliseconds
 */
function judgedBy(row: TrustRow, log: KeyLog, now: number): TrustRow {
  const { seq, generation: newest, generations } = log
  const pinned = row.pinned === 0 ? newest : row.pinned
  // Keys that are seen first are pinned, even those of a thief: the log itself shows such a
  // reset.
  const isWarned = row.pinned === 0 || row.key_unused
  const key_unused =
    isKeyUnused(generations, pinned) || (isWarned && resetsWithoutKey(generations).length > 0)
  const judged = { ...row, seq, newest, pinned, key_unused }
  if (newest === pinned || !isLinked(log, pinned, newest)) return judged
  const reset = log.entries[generationRoot(log, newest).seq]!
  // The entry claims a time. The reset came after the last check, which did not find it.
  const recovered_at = Math.min(Math.max(entryTime(reset), row.checked_at), now)
  return { ...judged, pinned: newest, recovered_at }
}

type Knowing = Pick<Trusting, 'state' | 'now'>

/** Returns the row judged by the stored log, which another operation may have fetched. */
function known({ state, now }: Knowing, before: TrustRow): TrustRow {
  if (isJudged(state, before)) return before
  return rejudged({ state, now }, before)
}

/** Returns the row judged by the stored log, after another generation was pinned. */
export function rejudged({ state, now }: Knowing, row: TrustRow): TrustRow {
  const { account } = row
  return judgedBy(row, rememberedLog(state, account)!, now())
}

/**
 * Returns the reason why a log was refused; null for an error that does not concern the log.
 * @param wasKnown whether this device had a part of the log before the request
 */
function refusalIn(error: unknown, wasKnown: boolean): string | null {
  if (!(error instanceof AppError)) return null
  if (error.cause instanceof Refusal) return error.cause.reason
  // A log that existed does not disappear.
  return error.code === 'not_found' && wasKnown ? 'rollback' : null
}

/**
 * Fetches and judges the key log of an account. Of a log that breaks a rule, goes back or forks,
 * only the refusal is stored.
 * @throws AppError what the account throws
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
    state.trust.put(row)
    if (fetched !== null) keepProfile(state, fetched.log, fetched.profile)
    return row
  })
}

/**
 * Returns the trust row behind a card. Asks the account server only if nothing is stored, or if
 * the server hints at other keys.
 * @throws AppError what the account throws
 */
export async function look(device: Trusting, account: Account, card: Hinted): Promise<TrustRow> {
  const { state } = device
  const before = state.trust.get(card.user_id)
  if (before === null) return examine(device, account, card.user_id)
  const row = known(device, before)
  if (isHinted(card, row, device.now())) return examine(device, account, card.user_id)
  if (row !== before) state.trust.put(row)
  return row
}

const numbers = new Map<string, string>()

/**
 * Returns the safety number of the own account and another; null where one has no stored key log.
 */
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
  // The oldest number is deleted.
  if (numbers.size >= MOST_NUMBERS) numbers.delete(numbers.keys().next().value as string)
  numbers.set(key, made)
  return made
}
