/** Searches the previous epochs, in slices, for words that match no current one. */
import { type Pace, SLICE_MS } from './code-schedule.ts'
import type { Codes } from './codes.ts'

/**
 * Returns the connections that have three words, by indices, in their previous epoch. A
 * connection takes some 60 µs. The search works in slices, so that other requests wait for one
 * slice at most.
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
