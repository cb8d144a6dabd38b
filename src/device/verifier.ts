/**
 * Whose words are these? Purely local. The answer is never surer than what could be checked: `conclusive` says so, and the
 * reasons say why not. Every match counts once (RFC 6238 section 5.2), and that is written down before anybody is told.
 */
import { timeAt } from '../api/fields.ts'
import type { Expectation, LogEntry, Match, Reason, Verification } from '../api/rest/verify.ts'
import { windowOf } from '../crypto/code.ts'
import { newId } from '../crypto/id.ts'
import { Refusal } from '../crypto/refusal.ts'
import { parseWords } from '../crypto/words.ts'
import { AppError } from '../errors.ts'
import type { State } from '../state/state.ts'
import type { ClockState } from './clock.ts'
import type { Codes, Found, Hit } from './codes.ts'
import { type Expected, expectedBy } from './expected.ts'
import type { Guesses, Trying } from './guesses.ts'
import { summarise } from './verification-summary.ts'

/** How old the last good sync may be for a match that is conclusive. */
const STALE_MATCH_MS = 7 * 24 * 3600 * 1000
/** The same for "not verified", unless a sync is made for the answer. */
const STALE_MS = 3600 * 1000
const MOST_OFFSET_MS = 30_000
/** The uses of a window are remembered until two windows later. */
const REMEMBERED = 2

/** How far this device may trust its own picture: both null while unknown. */
export interface Freshness {
  /** The server's clock minus this one's, in milliseconds. */
  offsetMs(): number | null
  lastSyncAt(): number | null
  /** Makes or joins a sync for an answer, and waits for it, but not for long. Never throws. */
  refresh(): Promise<void>
  /** Whether this one's clock has moved since the offset was measured. */
  clock(at: number): ClockState
  /** A moment that was relied on: the clock may not go back behind it. */
  noted(at: number): void
}

/** How words are checked. */
export interface Asked {
  /** `local` by default. */
  readonly method?: LogEntry['method']
  /** The expected speaker: only their words are checked. */
  readonly expect?: Expectation | undefined
}

export interface Verifier {
  /**
   * Check three words for a caller (a token id, or null). Every check is logged, a public one if it
   * ends here: what matches nothing is looked up elsewhere.
   * @throws AppError word_count, unknown_word, rate_limited, keychain_locked, not_signed_in when
   *   this device signed out meanwhile, not_found for an expected connection or member that is not
   *   known
   */
  verify(
    words: string | readonly string[],
    caller: string | null,
    asked?: Asked,
  ): Promise<Verification>
  /** Takes a wrong try out of the row: the account server knows the words. */
  wasNoGuess(caller: string | null): void
}

/** Parse three words as a person may have written them. Throws AppError word_count or unknown_word. */
function threeWords(words: string | readonly string[]): number[] {
  try {
    return parseWords(typeof words === 'string' ? words : words.join(' '), 3).indices
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const { found, word, suggestions } = error.details
    if (error.reason === 'word_count')
      throw new AppError('word_count', `Three words are wanted; ${found} were given.`, {
        details: found === undefined ? {} : { found },
      })
    const nearest = suggestions?.length ? ` Did you hear ${suggestions.join(', or ')}?` : ''
    throw new AppError('unknown_word', `"${word}" is not on the word list.${nearest}`, {
      details: { word: word ?? '', suggestions: suggestions ?? [] },
    })
  }
}

const isEnded = (hit: Hit) => hit.isEnded
const isOfOther = ({ match }: Hit) => match.speaker === 'other'

const holding = (reasons: readonly (readonly [Reason, boolean])[]): Reason[] =>
  reasons.filter(([, holds]) => holds).map(([reason]) => reason)

/** The outcome as the verification log has it. */
function outcomeOf({
  verified,
  conclusive,
  echo,
  replayed,
}: Pick<Verification, 'verified' | 'conclusive' | 'echo' | 'replayed'>): LogEntry['outcome'] {
  if (verified) return 'verified'
  if (echo && !replayed) return 'echo'
  return conclusive || replayed ? 'not_verified' : 'inconclusive'
}

/**
 * The answer where this device has nothing to check words against: never conclusive, and nothing that counts as a check.
 * @param at Unix milliseconds
 * @throws AppError word_count, unknown_word
 */
export function verifyNothing(words: string | readonly string[], at: number): Verification {
  threeWords(words)
  const result = {
    verified: false,
    conclusive: false,
    replayed: false,
    echo: false,
    matches: [],
    checked: 0,
    unchecked: 0,
    reasons: ['nothing_cached' as const],
  }
  return { ...result, summary: summarise(result, [], null), checked_at: timeAt(at) }
}

/**
 * The verifier over the codes.
 * @param options `account` is the own account id; `demandSeat` throws when this device has signed
 *   out
 */
export function newVerifier(options: {
  state: State
  codes: Codes
  account: string
  now: () => number
  freshness: Freshness
  guesses: Guesses
  demandSeat: () => void
}): Verifier {
  const { state, codes, account, now, freshness, guesses, demandSeat } = options

  /**
   * The clock, judged by the server's, by the uptime of the machine and by the windows used here.
   */
  function clockAt(at: number): ClockState {
    const moved = freshness.clock(at)
    const offset = freshness.offsetMs()
    // Acceptance reaches one window ahead: only a clock further back than that is behind.
    const isBehindUses = windowOf(at) + 1 < state.replays.highest()
    if (isBehindUses || (offset ?? 0) > MOST_OFFSET_MS) return 'behind'
    if (moved !== 'steady') return moved
    if (offset === null) return 'unmeasured'
    return offset < -MOST_OFFSET_MS ? 'ahead' : 'steady'
  }

  // A sync that lies ahead was one by another clock.
  function isStale(at: number, longest: number): boolean {
    const synced = freshness.lastSyncAt()
    return synced === null || Math.abs(at - synced) > longest
  }

  /** Why "not verified" would not be sure, of everything that was looked at. */
  function reasonsNot(
    at: number,
    clock: ClockState,
    { checked, unchecked, lacks, hits }: Found,
    expected: Expected | null,
  ): Reason[] {
    const others = hits.filter(isOfOther)
    // Only for words of such a connection, or where no other is expected: it keeps no other words
    // from a conclusive answer.
    const ended = others.length > 0 ? others.every(isEnded) : expected?.isEnded === true
    return holding([
      ['nothing_cached', checked + unchecked === 0 && !ended],
      ['secret_missing', lacks.includes('secret_missing')],
      ['clock_uncertain', clock !== 'steady'],
      ['sync_stale', isStale(at, others.length > 0 ? STALE_MATCH_MS : STALE_MS)],
      ['rotation_pending', lacks.includes('rotation_pending')],
      ['roster_forked', lacks.includes('roster_forked')],
      ['connection_ended', ended],
    ])
  }

  /** A match with what it rests on: the clock, the last sync, and its own connection. */
  function matchOf({ match, isEnded: ended }: Hit, at: number, clock: ClockState): Match {
    const reasons = holding([
      ['clock_uncertain', clock !== 'steady'],
      ['sync_stale', isStale(at, STALE_MATCH_MS)],
      ['connection_ended', ended],
    ])
    return {
      ...match,
      conclusive: reasons.length === 0,
      ...(reasons.length === 0 ? {} : { reasons }),
    }
  }

  /** Use up each match; answers the earliest time one of them was used before, or null when all are fresh. */
  function use(hits: readonly Hit[], at: number): number | null {
    const earlier = hits.map((hit) => state.replays.firstUse(hit.use, at))
    const used = earlier.filter((time) => time !== null)
    return used.length === 0 || used.length < hits.length ? null : Math.min(...used)
  }

  async function verify(
    words: string | readonly string[],
    caller: string | null,
    { method = 'local', expect }: Asked = {},
  ): Promise<Verification> {
    const trying = { caller, expected: expect !== undefined }
    guesses.check(trying)
    const indices = threeWords(words)
    await indexed(expect)
    // The newest rosters may explain words that nothing known here does.
    if (isStale(now(), STALE_MS) && find(indices, now(), expect).hits.length === 0) {
      await freshness.refresh()
      demandSeat()
      await indexed(expect)
    }
    return check(indices, trying, method, expect)
  }

  /** Waits until a search over everything is quick; one for an expected speaker needs no index. */
  async function indexed(expect: Expectation | undefined): Promise<void> {
    if (expect !== undefined) return
    for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) {
      await wait
      demandSeat()
    }
  }

  const find = (indices: readonly number[], at: number, expect: Expectation | undefined) =>
    expect === undefined
      ? codes.find(indices, at)
      : codes.findOf(expectedBy(state, account, expect), indices, at)

  /**
   * Synchronous: wrong words counted during the wait limit this caller too, and of two callers with
   * the same words one is first.
   */
  function check(
    indices: readonly number[],
    trying: Trying,
    method: LogEntry['method'],
    expect?: Expectation,
  ): Verification {
    const at = now()
    guesses.check(trying)
    const expected = expect === undefined ? null : expectedBy(state, account, expect)
    const found = find(indices, at, expect)
    const { hits, checked, unchecked } = found
    const clock = clockAt(at)
    const reasons = reasonsNot(at, clock, found, expected)
    const others = hits.filter(isOfOther)
    const evidence = others.filter((hit) => !isEnded(hit))
    const echo = others.length < hits.length
    const matchesOf = (some: readonly Hit[]) => some.map((hit) => matchOf(hit, at, clock))
    const named = matchesOf(evidence.length > 0 ? evidence : others)

    return state.transaction(() => {
      const firstUsedAt = use(evidence, at)
      const result = {
        // Behind, words that were heard and recorded earlier would fit again.
        verified: evidence.length > 0 && firstUsedAt === null && clock !== 'behind',
        conclusive: reasons.length === 0,
        replayed: firstUsedAt !== null,
        echo,
        matches: matchesOf(hits),
        checked,
        unchecked,
        reasons,
        ...(firstUsedAt === null ? {} : { first_verified_at: timeAt(firstUsedAt) }),
      }
      freshness.noted(at)
      if (hits.length === 0) guesses.wrong(trying)
      if (result.verified) guesses.right(trying)
      // By the uses themselves, not by the clock: one that ran ahead for a while must not make words count twice.
      state.replays.prune(state.replays.highest() - REMEMBERED)
      if (method === 'local' || hits.length > 0)
        state.verifications.insert({
          id: newId('ver_', at),
          at: timeAt(at),
          method,
          outcome: outcomeOf(result),
          matches: hits.map(({ match }) => match),
          caller: trying.caller,
        })
      return {
        ...result,
        summary: summarise(result, named, expected),
        checked_at: timeAt(at),
      }
    })
  }

  return { verify, wasNoGuess: (caller) => guesses.takeBack({ caller, expected: false }) }
}
