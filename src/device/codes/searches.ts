/**
 * Searches in slices. One searches all connections for an answer to a challenge for any connection.
 * The other searches the previous epochs for words that match no current epoch.
 */
import type { State } from '../../state/state.ts'
import type { OpenChallenge } from './challenges.ts'
import type { Tally } from './code-index.ts'
import { type Pace, SLICE_MS } from './code-schedule.ts'
import type { Codes } from './codes.ts'
import { expectedForChallenge } from './expected.ts'

/** The number of ids listed at once. Listing them takes about 0.1 ms. */
const PAGE = 256

/** The connections in which an answer was found, and how many subjects could be checked. */
export interface Searched extends Tally {
  /** Ids of connections. */
  readonly answered: readonly string[]
}

/**
 * Checks three words (as indices) as the answer to a challenge, in every connection.
 *
 * A connection takes about 0.3 ms. The search works in slices, so that other requests wait for at
 * most one slice.
 * @throws AppError keychain_locked, not_signed_in
 */
export async function searchAnswers(
  of: { readonly state: State; readonly codes: Codes; readonly pace: Pace },
  challenge: OpenChallenge,
  indices: readonly number[],
  now: number,
): Promise<Searched> {
  const { state, codes, pace } = of
  const answered: string[] = []
  const lacks = new Set<Tally['lacks'][number]>()
  let [checked, unchecked] = [0, 0]
  let end = pace.elapsed() + SLICE_MS
  let page = state.connections.page('', PAGE)
  while (page.length > 0) {
    for (const id of page) {
      const found = codes.findOf(expectedForChallenge(state, challenge, [id]), indices, now)
      if (found.hits.length > 0) answered.push(id)
      checked += found.checked
      unchecked += found.unchecked
      for (const lack of found.lacks) lacks.add(lack)
      if (pace.elapsed() < end) continue
      await pace.turn()
      end = pace.elapsed() + SLICE_MS
    }
    page = state.connections.page(page.at(-1)!, PAGE)
  }
  return { answered, checked, unchecked, lacks: [...lacks] }
}

/**
 * Returns the connections that have three words (as indices) in their previous epoch.
 *
 * A connection takes about 60 µs. The search works in slices, so that other requests wait for at
 * most one slice.
 * @param ids the connections to search
 * @throws AppError keychain_locked, not_signed_in
 */
export async function searchFormer(
  { codes, pace }: { readonly codes: Codes; readonly pace: Pace },
  ids: readonly string[],
  indices: readonly number[],
  now: number,
): Promise<string[]> {
  const found: string[] = []
  let end = pace.elapsed() + SLICE_MS
  for (const id of ids) {
    if (codes.findFormer(id, indices, now).length > 0) found.push(id)
    if (pace.elapsed() < end) continue
    await pace.turn()
    end = pace.elapsed() + SLICE_MS
  }
  return found
}
