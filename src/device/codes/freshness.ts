/**
 * How certain the result of a check is. That depends on the state of the clock, the age of the last
 * sync, and the connections that could not be checked.
 */
import type { Match, Reason } from '../../api/rest/verify.ts'
import { windowOf } from '../../crypto/code.ts'
import type { State } from '../../state/state.ts'
import type { ClockState } from './clock.ts'
import type { SpeakerMatches, Hit } from './codes.ts'
import type { Expected } from './expected.ts'

/** The maximum age of the last successful sync for a conclusive match, in milliseconds. */
export const STALE_MATCH_MS = 7 * 24 * 3600 * 1000
/** The maximum age for a conclusive "not verified", unless a sync runs for the response. */
const STALE_MS = 3600 * 1000
const MOST_OFFSET_MS = 30_000

/** How current this device's data is. */
export interface Freshness {
  /** Returns the server's clock minus this device's clock, in milliseconds; null if unknown. */
  offsetMs(): number | null
  /** Returns the time of the last successful sync, Unix milliseconds; null if unknown. */
  lastSyncAt(): number | null
  /** Runs a sync for a response, or joins a running one. Waits at most 3 s. Never throws. */
  refresh(): Promise<void>
  /** Returns the state of this device's clock since the offset was measured. */
  clock(at: number): ClockState
  /**
   * Records a time that a response relied on. A later clock that is before this time counts as
   * behind.
   */
  noted(at: number): void
}

/** Checks whether a hit belongs to a connection that has ended. */
export const isEnded = (hit: Hit) => hit.isEnded
/** Checks whether a hit belongs to another account or a guest. */
export const isOfOther = ({ match }: Hit) => match.speaker === 'other'

const holding = (reasons: readonly (readonly [Reason, boolean])[]): Reason[] =>
  reasons.filter(([, holds]) => holds).map(([reason]) => reason)

/** Creates the functions that decide `conclusive` and its reasons. */
export function newCertainty({
  state,
  freshness,
}: {
  state: { readonly replays: Pick<State['replays'], 'highest'> }
  freshness: Pick<Freshness, 'offsetMs' | 'lastSyncAt' | 'clock'>
}) {
  /**
   * Returns the state of the clock, from the server's clock, the uptime and the windows used here.
   */
  function clock(at: number): ClockState {
    const clockState = freshness.clock(at)
    const offset = freshness.offsetMs()
    // Words are accepted one window early, so only a clock further back than that is behind.
    const isBehindUses = windowOf(at) + 1 < state.replays.highest()
    if (isBehindUses || (offset ?? 0) > MOST_OFFSET_MS) return 'behind'
    if (clockState !== 'steady') return clockState
    if (offset === null) return 'unmeasured'
    return offset < -MOST_OFFSET_MS ? 'ahead' : 'steady'
  }

  /**
   * Checks whether the last successful sync is more than `longest` milliseconds away from `at`. A
   * sync in the future was made with a different clock setting, so it counts as old.
   */
  function isOlder(at: number, longest: number): boolean {
    const synced = freshness.lastSyncAt()
    return synced === null || Math.abs(at - synced) > longest
  }

  /** Returns the reasons why "not verified" is not conclusive, considering everything searched. */
  function reasonsNot(
    at: number,
    clockState: ClockState,
    { checked, unchecked, lacks, hits }: SpeakerMatches,
    expected: Expected | null,
  ): Reason[] {
    const others = hits.filter(isOfOther)
    // The reason applies only if the words belong to an ended connection or if that connection was
    // expected. The result for other words stays conclusive.
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

  /** Returns a match with its own reasons: the clock, the last sync and the match's connection. */
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

  /** Checks whether the last successful sync is too old for a conclusive "not verified". */
  const isStale = (at: number): boolean => isOlder(at, STALE_MS)

  return { clock, isStale, reasonsNot, matchOf }
}
