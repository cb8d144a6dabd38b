/**
 * Finds the speaker of three words, using only this device's data. Each match is accepted once (RFC
 * 6238 section 5.2), so its use is stored before the response is returned.
 */
import { timeAt } from '../../api/fields.ts'
import { subjectOf } from '../../api/name-text.ts'
import type {
  Expectation,
  Identified,
  Match,
  VerificationEntry,
  Verification,
} from '../../api/rest/verify.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { State } from '../../state/state.ts'
import { searchAnswers, type Searched, searchFormer } from './searches.ts'
import { type Freshness, isEnded, isOfOther, newCertainty } from './freshness.ts'
import type { Challenges } from './challenges.ts'
import { type Pace, REAL_PACE } from './code-schedule.ts'
import type { Codes, FormerHit, SpeakerMatches, Hit } from './codes.ts'
import { type Expected, expectedForChallenge, expectedBy } from './expected.ts'
import type { Guesses, Trying } from './rate-limit.ts'
import { threeWords } from './typed-words.ts'

/** The uses of a window are stored until two windows later. */
const REMEMBERED = 2

/** Options of a check. */
interface VerifyOptions {
  /** The default is `local`. */
  readonly method?: VerificationEntry['method']
  /** The expected speaker. Only this speaker's words are checked. */
  readonly expect?: Expectation | undefined
  /** The id of the challenge that the words must answer. Cannot be combined with `expect`. */
  readonly challenge?: string | undefined
}

export interface Verifier {
  /**
   * Checks three words for a caller (a token id, or null for the command line).
   *
   * Every check is logged, except a public check without a match, which continues at the account
   * server.
   * @throws AppError word_count, unknown_word, rate_limited, keychain_locked; not_signed_in if this
   *   device signed out meanwhile; not_found for an unknown connection, member or challenge;
   *   invalid_state if the challenge is not open
   */
  verify(
    words: string | readonly string[],
    caller: string | null,
    asked?: VerifyOptions,
  ): Promise<Verification>
  /** Takes back a wrong attempt, because the account server found a match for the words. */
  wasNoGuess(caller: string | null): void
}

const ADVICE = 'If they fail again, hang up, and call a number that you know.'

/** Returns the part of the summary about the challenge that the words answered. */
function challengePart(expected: Expected | null): string {
  if (!expected?.challenge) return ''
  const { shown } = expected.challenge.purpose
  return `, for you alone, for ${shown === '' ? 'no purpose' : `"${shown}"`}`
}

/** Returns the summary if the words match nothing. */
function summariseNone(
  { conclusive, reasons }: Pick<Verification, 'conclusive' | 'reasons'>,
  expected: Expected | null,
): string {
  const why = reasons.join(', ')
  if (expected === null)
    return conclusive
      ? 'Not verified: these are not the current words of any contact.'
      : `Inconclusive: not everything could be checked (${why}).`
  if (conclusive && expected.challenge !== null)
    return `Not verified: the words, the person or the purpose differ. Make a new challenge, and ask for new words. ${ADVICE}`
  return conclusive
    ? `Not verified: ${expected.saysNot} these words now. Ask for the words again. ${ADVICE}`
    : `Inconclusive: it could not be checked whether ${expected.says} these words (${why}).`
}

/**
 * Returns one line for people: the result and, if it is not obvious, what to do.
 * @param others the matches with speakers other than the user
 * @param expected the speakers that the request expected; null if it named none
 */
function summarise(
  result: Omit<Verification, 'summary' | 'checked_at'>,
  others: readonly Match[],
  expected: Expected | null,
): string {
  const { verified, replayed, matches, reasons, old_epoch, changed_at = '' } = result
  const names = others.map(subjectOf).join(', ')
  if (verified) {
    const doubts = [...new Set(others.flatMap((match) => match.reasons ?? []))]
    const sure =
      doubts.length === 0 ? '' : ` Not everything could be checked (${doubts.join(', ')}).`
    return `Verified: the words of ${names}${challengePart(expected)}.${sure}`
  }
  if (old_epoch)
    return `Not proven: words from before a change on ${changed_at.slice(0, 10)}. Ask the person to open the app and say new words.`
  if (replayed) return `The words of ${names}, but they were used before: no proof.`
  if (others.length > 0)
    return reasons.includes('connection_ended')
      ? `The words of ${names}, but an owner ended that connection: no proof.`
      : `The words of ${names}, but the clock cannot be trusted: no proof.`
  const own = matches.find(({ speaker }) => speaker === 'self')
  if (own !== undefined) return `Your own words for this ${own.kind}, repeated back: no proof.`
  return summariseNone(result, expected)
}

const isExpected = (expected: Expected | null, { member_id }: Identified) =>
  expected === null || expected.user === null || expected.user === member_id

/** Returns the outcome for the verification log. */
function outcomeOf({
  verified,
  conclusive,
  echo,
  replayed,
}: Pick<
  Verification,
  'verified' | 'conclusive' | 'echo' | 'replayed'
>): VerificationEntry['outcome'] {
  if (verified) return 'verified'
  if (echo && !replayed) return 'echo'
  return conclusive || replayed ? 'not_verified' : 'inconclusive'
}

/**
 * Returns the result if there is no device to check words against. It is never conclusive, and is
 * not logged.
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
 * Creates the verifier over the codes.
 * @param options `account` is the own account id; `requireSession` throws if this device has signed
 *   out; `pace` defines how a search through all connections yields to other work
 */
export function newVerifier(options: {
  state: State
  codes: Codes
  account: string
  now: () => number
  freshness: Freshness
  guesses: Guesses
  challenges: Challenges
  requireSession: () => void
  pace?: Pace
}): Verifier {
  const { state, codes, account, now, freshness, guesses, challenges, requireSession } = options
  const { pace = REAL_PACE } = options
  const certainty = newCertainty({ state, freshness })

  /**
   * Stores the use of each match.
   * @returns the earliest previous use if all matches were used before; otherwise null
   */
  function use(hits: readonly Hit[], at: number): number | null {
    const earlier = hits.map((hit) => state.replays.firstUse(hit.use, at))
    const used = earlier.filter((time) => time !== null)
    return used.length === 0 || used.length < hits.length ? null : Math.min(...used)
  }

  async function verify(
    words: string | readonly string[],
    caller: string | null,
    { method = 'local', expect, challenge }: VerifyOptions = {},
  ): Promise<Verification> {
    const trying = { caller, expected: expect !== undefined || challenge !== undefined }
    const judgeAgain = guesses.check(trying)
    const indices = threeWords(words)
    /**
     * Checks the session and the limits again after a wait.
     *
     * Wrong words that were counted during the wait limit this caller too.
     */
    function waited(): void {
      requireSession()
      judgeAgain()
    }
    if (challenge !== undefined) return checkAnswer(indices, trying, challenge, waited)
    const expected = () => (expect === undefined ? null : expectedBy(state, account, expect, now()))
    const find = (at: number) => findBy(expected(), indices, at)
    await indexed(expect, waited)
    if (await refreshed(() => find(now()).hits.length > 0, waited)) await indexed(expect, waited)
    const former = await formerOf(expected(), indices, () => find(now()).hits.length > 0, waited)
    return state.groupCommit(() => {
      waited()
      return check(trying, method, expected(), find, (at) =>
        former.flatMap((id) =>
          codes.findFormer(id, indices, at).filter(({ match }) => isExpected(expected(), match)),
        ),
      )
    })
  }

  /**
   * Returns the connections that have these words in the previous epoch. Searches only if no
   * current words match. Searches run one at a time.
   */
  function formerOf(
    expected: Expected | null,
    indices: readonly number[],
    isExplained: () => boolean,
    waited: () => void,
  ): Promise<readonly string[]> {
    const previous = codes.former(now())
    const ids =
      expected === null ? previous : previous.filter((id) => expected.subjects.includes(id))
    if (ids.length === 0 || isExplained()) return Promise.resolve([])
    const search = searched.then(async () => {
      waited()
      const found = await searchFormer({ codes, pace }, ids, indices, now())
      waited()
      return found
    })
    searched = search.catch(() => undefined)
    return search
  }

  const findBy = (
    expected: Expected | null,
    indices: readonly number[],
    at: number,
  ): SpeakerMatches =>
    expected === null ? codes.find(indices, at) : codes.findOf(expected, indices, at)

  /**
   * Waits until a search over everything is fast. A search for an expected speaker needs no index.
   */
  async function indexed(expect: Expectation | undefined, waited: () => void): Promise<void> {
    if (expect !== undefined) return
    for (let wait = codes.ready(now); wait !== null; wait = codes.ready(now)) {
      await wait
      waited()
    }
  }

  /**
   * Runs a sync if the last one is old and the words match nothing.
   *
   * The words may match a roster that the sync fetches.
   * @returns whether a sync ran
   */
  async function refreshed(isExplained: () => boolean, waited: () => void): Promise<boolean> {
    if (!certainty.isStale(now()) || isExplained()) return false
    await freshness.refresh()
    waited()
    return true
  }

  /** The last search through all connections. The next search waits for it. */
  let searched: Promise<unknown> = Promise.resolve()

  /**
   * Checks words as the answer to a challenge. Requires again after each wait that the challenge is
   * open, because another caller may have used it meanwhile.
   */
  async function checkAnswer(
    indices: readonly number[],
    trying: Trying,
    id: string,
    waited: () => void,
  ): Promise<Verification> {
    const checked = (everywhere: Searched | null) =>
      state.groupCommit(() => {
        waited()
        const answered = everywhere?.answered ?? []
        const expected = expectedForChallenge(state, challenges.open(id), answered)
        const find = (at: number) => ({ ...codes.findOf(expected, indices, at), ...everywhere })
        return check(trying, 'local', expected, find)
      })
    if (challenges.open(id).connection !== null) {
      const found = () =>
        codes.findOf(expectedForChallenge(state, challenges.open(id), []), indices, now())
      await refreshed(() => found().hits.length > 0, waited)
      return checked(null)
    }
    const search = searched.then(async () => {
      waited()
      const of = { state, codes, pace }
      const find = () => searchAnswers(of, challenges.open(id), indices, now())
      const known = await find()
      waited()
      const isNewer = await refreshed(() => known.answered.length > 0, waited)
      return checked(isNewer ? await find() : known)
    })
    searched = search.catch(() => undefined)
    return search
  }

  /**
   * Checks words and stores the result. Runs in a transaction. Synchronous, so that of two callers
   * with the same words only one can be first.
   */
  function check(
    trying: Trying,
    method: VerificationEntry['method'],
    expected: Expected | null,
    find: (at: number) => SpeakerMatches,
    former: (at: number) => readonly FormerHit[] = () => [],
  ): Verification {
    const at = now()
    const found = find(at)
    const challenge = expected?.challenge ?? null
    const { hits, checked, unchecked } = found
    const clock = certainty.clock(at)
    const reasons = certainty.reasonsNot(at, clock, found, expected)
    const others = hits.filter(isOfOther)
    const evidence = others.filter((hit) => !isEnded(hit))
    const echo = others.length < hits.length
    const old = hits.length > 0 ? [] : former(at)
    const all = [...hits, ...old]
    const matchesOf = (some: readonly Hit[]) => some.map((hit) => certainty.matchOf(hit, at, clock))
    const named = matchesOf(evidence.length > 0 ? evidence : [...others, ...old])

    const firstUsedAt = use(evidence, at) ?? use(old, at)
    const result = {
      // If the clock is behind, words that somebody recorded earlier would match again.
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
      ...(firstUsedAt === null && old[0] !== undefined
        ? { old_epoch: true as const, changed_at: timeAt(old[0].changedAt) }
        : {}),
    }
    freshness.noted(at)
    if (challenge !== null) challenges.use(challenge.id)
    // Words of the previous epoch count as wrong too, so that they do not make guessing easier.
    if (hits.length === 0) guesses.wrong(trying)
    if (result.verified) guesses.right(trying)
    // Pruned by the highest stored use, not by the clock. Otherwise a clock that was ahead for a
    // while could allow words to be used twice. So only a new use makes others old.
    if (evidence.length + old.length > 0) state.replays.prune(state.replays.highest() - REMEMBERED)
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
  }

  return { verify, wasNoGuess: (caller) => guesses.takeBack({ caller, expected: false }) }
}
