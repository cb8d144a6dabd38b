/**
 * Reads key logs and rosters from the account server in pages.
 *
 * A response has at most 16 MiB, and a log can be longer. Entries that are already stored are not
 * read again.
 */
import { requirePlaces } from '../../crypto/logs/chain.ts'
import { requireThat, Refusal } from '../../crypto/refusal.ts'

/**
 * The maximum size of the own key log, in characters.
 *
 * A device needs the whole log to sign the next entry, so it reads all that an account server
 * accepts: 100,000 entries of 4,096 characters.
 */
export const MOST_OWN_CHARACTERS = 100_000 * 4096
/** After this many new entries, the pages read so far are verified and stored. */
const MOST_UNKEPT = 4000

/** A part of a log, as the account server returned it. */
interface FetchedLogPage {
  readonly entries: readonly string[]
  /** The seq of the log's newest entry. */
  readonly seq: number
}

interface Reading<P extends FetchedLogPage> {
  /** Reads the page that begins at a seq. */
  readonly read: (from: number) => Promise<P>
  /** The entries that were accepted before, beginning with the first. */
  readonly known: readonly string[]
  /** The maximum size of the log, in characters. */
  readonly most: number
  /**
   * Returns the seq that an entry names.
   * @throws Refusal if the entry is malformed
   */
  readonly seqOf: (jws: string) => number
  /** Verifies and stores a first part of the log. Absent if the log must be accepted as a whole. */
  readonly keep?: (entries: readonly string[]) => Promise<void>
}

/** A log as the account server returned it. Entries that were not stored are unverified. */
interface ShownLog<P extends FetchedLogPage> {
  readonly entries: readonly string[]
  /** The page with the newest entry. */
  readonly last: P
}

/**
 * Reads a log from the newest known entry on.
 *
 * If the server does not return that entry at its seq, its history differs or was rolled back. The
 * log is then read from the first entry, and no part is stored, so that verifying the whole log
 * gives the reason. Reading stops at an entry that is not at the seq it names, because verification
 * will refuse that entry.
 * @throws Refusal `log_full`, `too_large`, `gap` if a page is empty before the end; what `read` and
 *   `keep` throw
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
 * Appends a page that begins with the newest accepted entry, and reads the remaining pages.
 * @param known the number of accepted entries
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
    // Spread syntax is not used, because a page of 16 MiB can have more entries than a call can
    // have arguments.
    entries = entries.concat(page.entries)
    requirePlaces(entries)
    size += sizeOf(page.entries)
    requireThat(size <= most, 'too_large', `the log has more than ${most} characters`)
    const isEnd = entries.length > page.seq || entries.length === 0
    if (isEnd || !isInPlace(page.entries, from, seqOf)) return { entries, last: page }
    // A page that begins with the newest known entry may contain nothing else.
    requireThat(page.entries.length > 0, 'gap', `entry ${from} is missing`)
    const unkept = entries.length - accepted
    // Verifying takes time in proportion to the log's length, so for a long log several pages are
    // verified and stored together.
    if (keep !== undefined && unkept > 0 && unkept >= Math.min(accepted / 2, MOST_UNKEPT)) {
      await keep(entries)
      accepted = entries.length
    }
    page = await read(entries.length)
  }
}

const sizeOf = (entries: readonly string[]): number =>
  entries.reduce((size, { length }) => size + length, 0)

/** Checks whether each entry is at the seq that it names. */
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
