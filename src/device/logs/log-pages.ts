/**
 * Reads key logs and rosters from the account server in pages. A response has at most 16 MiB, and
 * a log can be longer. Stored entries are not read again.
 */
import { requirePlaces } from '../../crypto/logs/chain.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'

/**
 * The largest own key log, in characters. A device needs all of it to sign the next entry, so it
 * reads all that an account server accepts: 100,000 entries of 4,096 characters.
 */
export const MOST_OWN_CHARACTERS = 100_000 * 4096
/** After this many unstored entries, the pages read so far are checked and stored. */
const MOST_UNKEPT = 4000

/** A part of a log in a response of the account server. */
interface FetchedLogPage {
  readonly entries: readonly string[]
  /** The place of the newest entry of the log. */
  readonly seq: number
}

interface Reading<P extends FetchedLogPage> {
  /** Reads a page that begins at a place. */
  readonly read: (from: number) => Promise<P>
  /** The entries that were accepted before, from the first one on. */
  readonly known: readonly string[]
  /** The most characters that the log may have. */
  readonly most: number
  /**
   * Returns the place that an entry names.
   * @throws Refusal where the form of the entry is wrong
   */
  readonly seqOf: (jws: string) => number
  /**
   * Checks and stores a first part of the log; absent where the log is accepted whole or not at
   * all.
   */
  readonly keep?: (entries: readonly string[]) => Promise<void>
}

/** A log from the account server. Entries that were not stored are unchecked. */
interface ShownLog<P extends FetchedLogPage> {
  readonly entries: readonly string[]
  /** The page with the newest entry. */
  readonly last: P
}

/**
 * Reads a log from the newest known entry on. Where the server does not return that entry at its
 * place, its history is another one or goes back. The log is then read from the first entry on,
 * and no part of it is stored, so that the check of the whole log gives the reason. Reading ends
 * at an entry that stands at another place than it names, because that check refuses it.
 * @throws Refusal `log_full`, `too_large`, `gap` where a page is empty before the end; what
 *   `read` and `keep` throw
 */
export async function readPages<P extends FetchedLogPage>(of: Reading<P>): Promise<ShownLog<P>> {
  const { read, known } = of
  const newest = known.at(-1)
  if (newest === undefined) return readOn(of, 0, await read(0))
  const page = await read(known.length - 1)
  if (page.entries[0] === newest) return readOn(of, known.length, page)
  const { keep: _keep, ...whole } = of
  return readOn(whole, 0, await read(0))
}

/**
 * Appends a page that begins with the newest accepted entry, and reads the rest.
 * @param known how many entries were accepted
 */
async function readOn<P extends FetchedLogPage>(
  { read, known: before, most, seqOf, keep }: Reading<P>,
  known: number,
  first: P,
): Promise<ShownLog<P>> {
  let entries = before.slice(0, Math.max(known - 1, 0))
  let accepted = known
  let size = sizeOf(entries)
  let page = first
  for (;;) {
    const from = entries.length
    // Not spread: a page of 16 MiB can have more entries than a call can have arguments.
    entries = entries.concat(page.entries)
    requirePlaces(entries)
    size += sizeOf(page.entries)
    requireThat(size <= most, 'too_large', `the log has more than ${most} characters`)
    const isEnd = entries.length > page.seq || entries.length === 0
    if (isEnd || !isInPlace(page.entries, from, seqOf)) return { entries, last: page }
    // A page that begins with the newest known entry may contain nothing else.
    requireThat(page.entries.length > 0, 'gap', `entry ${from} is missing`)
    const unkept = entries.length - accepted
    // A check takes time in proportion to the log: of a long one, several pages are stored at a
    // time.
    if (keep !== undefined && unkept > 0 && unkept >= Math.min(accepted / 2, MOST_UNKEPT)) {
      await keep(entries)
      accepted = entries.length
    }
    page = await read(entries.length)
  }
}

const sizeOf = (entries: readonly string[]): number =>
  entries.reduce((size, { length }) => size + length, 0)

/** Checks whether entries name the places at which they stand. */
function isInPlace(
  entries: readonly string[],
  from: number,
  seqOf: (jws: string) => number,
): boolean {
  try {
    return entries.every((jws, at) => seqOf(jws) === from + at)
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}
