/** Completes the arguments of prompts and of resource templates. */
import { isWholeId } from '../naming/beginnings.ts'
import type { Reference } from '../naming/kinds.ts'
import { offersFor } from '../naming/offers.ts'
import { type Ask, apiOf } from './call.ts'
import { finderOf } from './names.ts'

/** What an argument accepts. */
export interface Completed {
  /** What it names. */
  readonly takes?: Reference
  /** Whether a name that only others claim does not count. */
  readonly isOwnOnly?: true
  /** The values that are proposed. */
  readonly values?: readonly string[]
}

/** The maximum number of values in an answer. The protocol sets it. */
const MOST = 100

/** Returns everything that an argument accepts, from lists that the caller may read. */
async function acceptedBy(ask: Ask, { takes, isOwnOnly, values = [] }: Completed) {
  if (takes === undefined) return values
  const items = (await finderOf(apiOf(ask)).read(takes)).map(({ item }) => item)
  return offersFor(isOwnOnly ? items.filter(({ names }) => names.length > 0) : items)
}

/**
 * Returns the completions of a typed text: what begins with it, and then what contains it.
 * @throws AppError as the rows of the lists do
 */
export async function proposalsFor(ask: Ask, argument: Completed, typed: string) {
  const wanted = typed.trim().toLowerCase()
  const found = (await acceptedBy(ask, argument)).flatMap((value) => {
    const at = value.toLowerCase().indexOf(wanted)
    // The letters inside an id mean nothing.
    return at === 0 || (at > 0 && !isWholeId(value)) ? [{ value, isBegin: at === 0 }] : []
  })
  const all = found
    .toSorted((a, b) => Number(b.isBegin) - Number(a.isBegin))
    .map(({ value }) => value)
  return { values: all.slice(0, MOST), total: all.length, hasMore: all.length > MOST }
}
