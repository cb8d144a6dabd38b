/**
 * The keys of those whom the person follows: fetched, judged, compared with what the person has looked at (protocol, section 3). Beside
 * what a sync does for every card, since the curves are loaded when there is something to check.
 */
import type { Account } from '../../api/port.ts'
import { isKeyUnused, resetsWithoutKey } from '../../crypto/logs/generations.ts'
import { hashOf } from '../../crypto/jose/jws.ts'
import { type KeyLog, generationRoot, isLinked } from '../../crypto/logs/key-log.ts'
import { Refusal } from '../../crypto/refusal.ts'
import { rootOf, safetyNumber } from '../../crypto/safety-number.ts'
import { AppError } from '../../errors.ts'
import type { State } from '../../state/state.ts'
import type { TrustRow } from '../../state/trust.ts'
import { type FetchedLog, fetchNamedLog, judged, rememberKeyLog } from '../logs/key-log.ts'
import { keepProfile } from '../logs/profiles.ts'
import { rememberedLog } from '../identity/key-log-cache.ts'
import { entryTime } from '../logs/trust-history.ts'
import { type Hinted, type Trusting, isHinted, isJudged } from './staleness.ts'

/** So many safety numbers are remembered: each takes some ten milliseconds. */
const MOST_NUMBERS = 1000

/** A row for somebody of whom nothing is known. */
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
 * The row by a log that was judged. Keys that are seen for the first time are those that the person
 * follows, and so are those of a generation that the recovery key links to them (section 3).
 * @param now Unix milliseconds
 */
function judgedBy(row: TrustRow, log: KeyLog, now: number): TrustRow {
  const { seq, generation: newest, generations } = log
  const pinned = row.pinned === 0 ? newest : row.pinned
  // Keys that are seen first are pinned, also those of a thief: the log itself shows such a reset.
  const isWarned = row.pinned === 0 || row.key_unused
  const key_unused =
    isKeyUnused(generations, pinned) || (isWarned && resetsWithoutKey(generations).length > 0)
  const judged = { ...row, seq, newest, pinned, key_unused }
  if (newest === pinned || !isLinked(log, pinned, newest)) return judged
  const reset = log.entries[generationRoot(log, newest).seq]!
  // The entry claims a time. The reset came after the last look, in which it was not.
  const recovered_at = Math.min(Math.max(entryTime(reset), row.checked_at), now)
  return { ...judged, pinned: newest, recovered_at }
}

type Knowing = Pick<Trusting, 'state' | 'now'>

/** What is known of somebody's keys by the log as it is remembered, which other work may have fetched. */
function known({ state, now }: Knowing, before: TrustRow): TrustRow {
  if (isJudged(state, before)) return before
  return rejudged({ state, now }, before)
}

/** The row by the log as it is remembered, after another generation was pinned. */
export function rejudged({ state, now }: Knowing, row: TrustRow): TrustRow {
  const { account } = row
  return judgedBy(row, rememberedLog(state, account)!, now())
}

/**
 * Why a log was refused; null for an error that says nothing of it.
 * @param wasKnown whether this device had a part of the log when it asked for it
 */
function refusalIn(error: unknown, wasKnown: boolean): string | null {
  if (!(error instanceof AppError)) return null
  if (error.cause instanceof Refusal) return error.cause.reason
  // A log that was there does not vanish.
  return error.code === 'not_found' && wasKnown ? 'rollback' : null
}

/**
 * Ask the account server for somebody's key log and judge it. One that breaks a rule, goes back or forks changes nothing of what is
 * known, but that it was refused.
 * @throws AppError what the account throws
 */
export async function examine(device: Trusting, account: Account, id: string): Promise<TrustRow> {
  const { state, now, demandSeat } = device
  const checked_at = now()
  const wasKnown = state.logs.head('keylog', id) !== null
  let fetched: FetchedLog | null = null
  let refused: string | null = null
  try {
    const { log, ...beside } = await fetchNamedLog(device, account, id)
    demandSeat()
    judged(() => rememberKeyLog(device, log))
    fetched = { log, ...beside }
  } catch (error) {
    refused = refusalIn(error, wasKnown)
    // An account may have no keys yet.
    const hasNone = error instanceof AppError && error.code === 'not_found'
    if (refused === null && !hasNone) throw error
  }
  demandSeat()
  return state.transaction(() => {
    const before = state.trust.get(id) ?? unknown(id)
    const row = { ...known(device, before), refused, checked_at }
    state.trust.put(row)
    if (fetched !== null) keepProfile(state, fetched.log, fetched.profile)
    return row
  })
}

/**
 * What is known of the keys behind a card. The account server is asked only when nothing is known, or when it hints that there is more
 * to see.
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

/** The safety number of the own account and another, by their key logs as they are known here; null where one of the two has none. */
export function numberWith(state: State, own: string, other: string): string | null {
  const { logs } = state
  const [ours, theirs] = [own, other].map((account) => logs.head('keylog', account)?.entry)
  if (ours === undefined || theirs === undefined) return null
  const heads = Buffer.concat([hashOf(ours), hashOf(theirs)]).toString('base64url')
  const key = [own, other, heads].join(' ')
  const known = numbers.get(key)
  if (known !== undefined) return known
  const rooted = (account: string) => rootOf(rememberedLog(state, account)!)
  const made = safetyNumber(rooted(own), rooted(other))
  // The oldest goes.
  if (numbers.size >= MOST_NUMBERS) numbers.delete(numbers.keys().next().value as string)
  numbers.set(key, made)
  return made
}
