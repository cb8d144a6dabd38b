/**
 * How certain the result of a check is. It depends on the state of the clock, the age of the last
 * sync, and the connections that could not be checked.
 */
import type { Match, Reason } from '../../api/rest/verify.ts'
import { windowOf } from '../../crypto/code.ts'
import type { State } from '../../state/state.ts'
import type { ClockState } from './clock.ts'
import type { SpeakerMatches, Hit } from './codes.ts'
import type { Expected } from './expected.ts'

/** The greatest age of the last good sync for a conclusive match. */
const STALE_MATCH_MS = 7 * 24 * 3600 * 1000
/** The same for "not verified", unless a sync runs for the response. */
const STALE_MS = 3600 * 1000
const MOST_OFFSET_MS = 30_000

/** How current the data of this device is. */
export interface Freshness {
  /** Returns the server's clock minus this one, in milliseconds; null while unknown. */
  offsetMs(): number | null
  /** Returns the time of the last good sync, Unix milliseconds; null while unknown. */
  lastSyncAt(): number | null
  /** Runs or joins a sync for a response, and waits for it at most 3 s. Never throws. */
  refresh(): Promise<void>
  /** Returns the state of the clock of this device since the offset was measured. */
  clock(at: number): ClockState
  /** Records a time that a response relied on: an earlier clock counts as behind from then on. */
  noted(at: number): void
}

/** Whether a hit belongs to a connection that has ended. */
export const isEnded = (hit: Hit) => hit.isEnded
/** Whether a hit belongs to another account or a guest. */
export const isOfOther = ({ match }: Hit) => match.speaker === 'other'

const holding = (reasons: readonly (readonly [Reason, boolean])[]): Reason[] =>
  reasons.filter(([, holds]) => holds).map(([reason]) => reason)

/** Creates the rules for `conclusive` and its reasons. */
export function newCertainty({
  state,
  freshness,
}: {
  state: { readonly replays: Pick<State['replays'], 'highest'> }
  freshness: Pick<Freshness, 'offsetMs' | 'lastSyncAt' | 'clock'>
}) {
  /**
   * Returns the state of the clock, judged by the server's clock, the uptime and the windows used
   * here.
   */
  function clock(at: number): ClockState {
    const moved = freshness.clock(at)
    const offset = freshness.offsetMs()
    // Acceptance reaches one window ahead: only a clock further back than that is behind.
    const isBehindUses = windowOf(at) + 1 < state.replays.highest()
    if (isBehindUses || (offset ?? 0) > MOST_OFFSET_MS) return 'behind'
    if (moved !== 'steady') return moved
    if (offset === null) return 'unmeasured'
    return offset < -MOST_OFFSET_MS ? 'ahead' : 'steady'
  }

  /**
   * Checks whether the last good sync is older than a limit. One in the future was made under
   * another clock and counts as old.
   */
  function isOlder(at: number, longest: number): boolean {
    const synced = freshness.lastSyncAt()
    return synced === null || Math.abs(at - synced) > longest
  }

  /** Returns the reasons why "not verified" is not conclusive, for all that was searched. */
  function reasonsNot(
    at: number,
    clockState: ClockState,
    { checked, unchecked, lacks, hits }: SpeakerMatches,
    expected: Expected | null,
  ): Reason[] {
    const others = hits.filter(isOfOther)
    // Only for words of such a connection, or if it is the expected one: the result for other
    // words stays conclusive.
    const ended = others.length > 0 ? others.every(isEnded) : expected?.isEnded === true
    return holding([
      ['nothing_cached', checked + unchecked === 0 && !ended],
      ['secret_missing', lacks.includes('secret_missing')],
      ['clock_uncertain', clockState !== 'steady'],
      ['sync_stale', isOlder(at, others.length > 0 ? STALE_MATCH_MS : STALE_MS)],
      ['rotation_pending', lacks.includes('rotation_pending')],
      ['roster_forked', lacks.includes('roster_forked')],
      ['connection_ended', ended],
    ])
  }

  /** Returns a match with its own reasons: the clock, the last sync and its connection. */
  function matchOf(hit: Hit, at: number, clockState: ClockState): Match {
    const { match, naming, isEnded: ended } = hit
    const reasons = holding([
      ['clock_uncertain', clockState !== 'steady'],
      ['sync_stale', isOlder(at, STALE_MATCH_MS)],
      ['connection_ended', ended],
      ['old_epoch', 'changedAt' in hit],
    ])
    return {
      ...match,
      ...naming,
      conclusive: reasons.length === 0,
      ...(reasons.length === 0 ? {} : { reasons }),
    }
  }

  /** Checks whether the last good sync is too old for "not verified". */
  const isStale = (at: number): boolean => isOlder(at, STALE_MS)

  return { clock, isStale, reasonsNot, matchOf }
}
