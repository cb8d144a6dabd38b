/**
 * Whose words are these? Purely local. The answer is never surer than what could be checked: `conclusive` says so, and the
 * reasons say why not. Every match counts once (RFC 6238 section 5.2), and that is written down before anybody is told.
 */
import { timeAt } from '../api/fields.ts'
import type {
  Expectation,
  Identified,
  LogEntry,
  Match,
  Reason,
  Verification,
} from '../api/rest/verify.ts'
import { windowOf } from '../crypto/code.ts'
import { newId } from '../crypto/id.ts'
import type { State } from '../state/state.ts'
import type { ClockState } from './clock.ts'
import { type Searched, searchAnswers } from './answer-search.ts'
import type { Challenges } from './challenges.ts'
import { type Pace, REAL_PACE } from './code-schedule.ts'
import type { Codes, FormerHit, Found, Hit } from './codes.ts'
import { type Expected, answering, expectedBy } from './expected.ts'
import { searchFormer } from './former-search.ts'
import type { Guesses, Trying } from './guesses.ts'
import { threeWords } from './typed-words.ts'
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
  /** The challenge, by id, that the words have to answer: others are wrong. Not with `expect`. */
  readonly challenge?: string | undefined
}

export interface Verifier {
  /**
   * Check three words for a caller (a token id, or null). Every check is logged, a public one if it
   * ends here: what matches nothing is looked up elsewhere.
   * @throws AppError word_count, unknown_word, rate_limited, keychain_locked, not_signed_in when
   *   this device signed out meanwhile, not_found for an expected connection or member, or a
   *   challenge, that is not known, invalid_state for a challenge that takes no try
   */
  verify(
    words: string | readonly string[],
    caller: string | null,
    asked?: Asked,
  ): Promise<Verification>
  /** Takes a wrong try out of the row: the account server knows the words. */
  wasNoGuess(caller: string | null): void
}

const isEnded = (hit: Hit) => hit.isEnded
const isOfOther = ({ match }: Hit) => match.speaker === 'other'

const isExpected = (expected: Expected | null, { member_id }: Identified) =>
  expected === null || expected.user === null || expected.user === member_id

/** What the answer says of words of a former epoch; nothing for none. */
function changeBefore([said]: readonly FormerHit[]) {
  return said === undefined ? {} : { old_epoch: true as const, changed_at: timeAt(said.changedAt) }
}

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
 *   out; `pace` is how a search through all connections gives way to others
 */
export function newVerifier(options: {
  state: State
  codes: Codes
  account: string
  now: () => number
  freshness: Freshness
  guesses: Guesses
  challenges: Challenges
  demandSeat: () => void
  pace?: Pace
}): Verifier {
  const { state, codes, account, now, freshness, guesses, challenges, demandSeat } = options
  const { pace = REAL_PACE } = options

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
  function matchOf(hit: Hit, at: number, clock: ClockState): Match {
    const { match, naming, isEnded: ended } = hit
    const reasons = holding([
      ['clock_uncertain', clock !== 'steady'],
      ['sync_stale', isStale(at, STALE_MATCH_MS)],
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

  /** Use up each match; answers the earliest time one of them was used before, or null when all are fresh. */
  function use(hits: readonly Hit[], at: number): number | null {
    const earlier = hits.map((hit) => state.replays.firstUse(hit.use, at))
    const used = earlier.filter((time) => time !== null)
    return used.length === 0 || used.length < hits.length ? null : Math.min(...used)
  }

  async function verify(
    words: string | readonly string[],
    caller: string | null,
    { method = 'local', expect, challenge }: Asked = {},
  ): Promise<Verification> {
    const trying = { caller, expected: expect !== undefined || challenge !== undefined }
    const judgeAgain = guesses.check(trying)
    const indices = threeWords(words)
    /** Wrong words counted during a wait limit this caller too. */
    function waited(): void {
      demandSeat()
      judgeAgain()
    }
    if (challenge !== undefined) return checkAnswer(indices, trying, challenge, waited)
    const expected = () => (expect === undefined ? null : expectedBy(state, account, expect))
    const find = (at: number) => findBy(expected(), indices, at)
    await indexed(expect, waited)
    if (await refreshed(() => find(now()).hits.length > 0, waited)) await indexed(expect, waited)
    const former = await formerOf(expected(), indices, () => find(now()).hits.length > 0, waited)
    waited()
    return check(trying, method, expected(), find, (at) =>
      former.flatMap((id) =>
        codes.findFormer(id, indices, at).filter(({ match }) => isExpected(expected(), match)),
      ),
    )
  }

  /**
   * The connections of which these are words of the former epoch. Looked for where nothing current
   * explains the words, one search at a time.
   */
  function formerOf(
    expected: Expected | null,
    indices: readonly number[],
    isExplained: () => boolean,
    waited: () => void,
  ): Promise<readonly string[]> {
    const kept = codes.former(now())
    const ids = expected === null ? kept : kept.filter((id) => expected.connections.includes(id))
    if (ids.length === 0 || isExplained()) return Promise.resolve([])
    const search = searched.then(async () => {
      waited()
      const said = await searchFormer({ codes, pace }, ids, indices, now())
      waited()
      return said
    })
    searched = search.catch(() => undefined)
    return search
  }

  const findBy = (expected: Expected | null, indices: readonly number[], at: number): Found =>
    expected === null ? codes.find(indices, at) : codes.findOf(expected, indices, at)

  /** Waits until a search over everything is quick; one for an expected speaker needs no index. */
  async function indexed(expect: Expectation | undefined, waited: () => void): Promise<void> {
    if (expect !== undefined) return
    for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) {
      await wait
      waited()
    }
  }

  /**
   * Makes a sync where the last one is old and nothing known here explains the words: the newest
   * rosters may. Answers whether it did.
   */
  async function refreshed(isExplained: () => boolean, waited: () => void): Promise<boolean> {
    if (!isStale(now(), STALE_MS) || isExplained()) return false
    await freshness.refresh()
    waited()
    return true
  }

  /** The last search through all connections: another one waits for it. */
  let searched: Promise<unknown> = Promise.resolve()

  /** Opens the challenge again after each wait: another caller may have used it up meanwhile. */
  async function checkAnswer(
    indices: readonly number[],
    trying: Trying,
    id: string,
    waited: () => void,
  ): Promise<Verification> {
    const checked = (everywhere: Searched | null) => {
      waited()
      const expected = answering(state, challenges.open(id), everywhere?.said ?? [])
      const find = (at: number) => ({ ...codes.findOf(expected, indices, at), ...everywhere })
      return check(trying, 'local', expected, find)
    }
    if (challenges.open(id).connection !== null) {
      const found = () => codes.findOf(answering(state, challenges.open(id), []), indices, now())
      await refreshed(() => found().hits.length > 0, waited)
      return checked(null)
    }
    const search = searched.then(async () => {
      waited()
      const of = { state, codes, pace }
      const find = () => searchAnswers(of, challenges.open(id), indices, now())
      const known = await find()
      waited()
      const isNewer = await refreshed(() => known.said.length > 0, waited)
      return checked(isNewer ? await find() : known)
    })
    searched = search.catch(() => undefined)
    return search
  }

  /** Synchronous: of two callers with the same words one is first. */
  function check(
    trying: Trying,
    method: LogEntry['method'],
    expected: Expected | null,
    find: (at: number) => Found,
    former: (at: number) => readonly FormerHit[] = () => [],
  ): Verification {
    const at = now()
    const found = find(at)
    const challenge = expected?.challenge ?? null
    const { hits, checked, unchecked } = found
    const clock = clockAt(at)
    const reasons = reasonsNot(at, clock, found, expected)
    const others = hits.filter(isOfOther)
    const evidence = others.filter((hit) => !isEnded(hit))
    const echo = others.length < hits.length
    const old = hits.length > 0 ? [] : former(at)
    const all = [...hits, ...old]
    const matchesOf = (some: readonly Hit[]) => some.map((hit) => matchOf(hit, at, clock))
    const named = matchesOf(evidence.length > 0 ? evidence : [...others, ...old])

    return state.transaction(() => {
      const firstUsedAt = use(evidence, at) ?? use(old, at)
      const result = {
        // Behind, words that were heard and recorded earlier would fit again.
        verified: evidence.length > 0 && firstUsedAt === null && clock !== 'behind',
        conclusive: reasons.length === 0,
        replayed: firstUsedAt !== null,
        echo,
        matches: matchesOf(all),
        checked,
        unchecked,
        reasons,
        ...(challenge === null ? {} : { purpose: challenge.purpose.shown }),
        ...(firstUsedAt === null ? {} : { first_verified_at: timeAt(firstUsedAt) }),
        ...(firstUsedAt === null ? changeBefore(old) : {}),
      }
      freshness.noted(at)
      if (challenge !== null) challenges.use(challenge.id)
      // Words of a former epoch too: they must not make guessing cheaper.
      if (hits.length === 0) guesses.wrong(trying)
      if (result.verified) guesses.right(trying)
      // By the uses themselves, not by the clock: one that ran ahead for a while must not make words count twice.
      state.replays.prune(state.replays.highest() - REMEMBERED)
      if (method === 'local' || all.length > 0)
        state.verifications.insert({
          id: newId('ver_', at),
          at: timeAt(at),
          method,
          outcome: outcomeOf(result),
          matches: all.map(({ match }) => match),
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
