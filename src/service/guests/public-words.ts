/**
 * Finds the accounts with public codes that have given words now. The table of words names the
 * candidates, which are checked against their rows. The words of codes that have changed since are
 * computed, so a change takes effect immediately.
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import { acceptedAt, codeOf } from '../../crypto/code.ts'
import { AppError } from '../../errors.ts'
import { activeCodes, haveChanged } from '../accounts/public-code-rows.ts'
import type { ServiceContext } from '../context.ts'
import { type ActiveCode, spokenWords } from './spoken-words.ts'
import { type WordBuilder, WORD_SIZES, type WordSizes } from './word-builder.ts'
import { readCandidates } from './word-table.ts'

/** How many codes are computed before other requests can run; this takes a few milliseconds. */
const SLICE = 100
/** How many candidates one query reads. */
const BATCH = 500

/** How long a look-up waits for missing words, and how often it checks, in milliseconds. */
const PATIENCE_MS = 10_000
const POLL_MS = 250

const stillComputing = () =>
  new AppError(
    'backend_unavailable',
    'The account server has not computed the words of all public codes yet. Nothing was looked up. Try again in 5 s.',
    { headers: { 'Retry-After': '5' } },
  )

interface Found {
  readonly account: string
  readonly window: number
}

interface PublicWords {
  /**
   * Returns the accounts with an active public code that has these words now.
   * @param indices the words, as indices in the word list
   * @throws AppError `backend_unavailable` if words are missing and are not computed in time
   */
  find(indices: readonly number[]): Promise<Found[]>
}

/**
 * Creates the look-ups of a server process.
 * @param of `pause` replaces the wait between two checks, in tests
 */
export function newPublicWords(
  of: Pick<ServiceContext, 'db' | 'now'> & {
    readonly builder: WordBuilder
    readonly sizes?: WordSizes
    readonly pause?: (ms: number) => Promise<unknown>
  },
): PublicWords {
  const { db, now, builder, sizes = WORD_SIZES, pause = setTimeout } = of

  /** Returns the active codes among the candidates. */
  async function codesOf(candidates: readonly number[]): Promise<ActiveCode[]> {
    const found: ActiveCode[] = []
    for (let at = 0; at < candidates.length; at += BATCH)
      found.push(
        ...(await activeCodes(db)
          .where('turn', 'in', candidates.slice(at, at + BATCH))
          .execute()),
      )
    return found
  }

  /** Returns the codes that have these words in one of the windows. */
  async function matching(
    codes: readonly ActiveCode[],
    windows: readonly number[],
    words: number,
  ): Promise<Found[]> {
    // A code that was changed between two queries is in the list twice. The later row counts.
    const byAccount = new Map(codes.map((code) => [code.account_id, code]))
    const found: Found[] = []
    let worked = 0
    for (const [account, code] of byAccount) {
      const inWindow = spokenWords(code)
      for (const window of windows) if (inWindow(window) === words) found.push({ account, window })
      if (++worked % SLICE === 0) await setImmediate()
    }
    return found
  }

  /** Returns null if the words of too many codes are missing in the table. */
  async function findNow(words: number): Promise<Found[] | null> {
    const windows = acceptedAt(now())
    const { candidates, turn } = await readCandidates(db, windows, words)
    const codes = await codesOf(candidates)
    // Read after the candidates. So if a code is changed in between, it is among these.
    const changed = await activeCodes(db)
      .where('turn', '>', turn)
      .orderBy('turn')
      .limit(sizes.direct + 1)
      .execute()
    if (changed.length > sizes.stale) builder.wake()
    if (changed.length > sizes.direct) return null
    return matching([...codes, ...changed], windows, words)
  }

  /** Waits until the table has the words of almost all codes. */
  async function tableReady(): Promise<void> {
    for (let waited = 0; waited < PATIENCE_MS; waited += POLL_MS) {
      await pause(POLL_MS)
      const { turn } = await readCandidates(db, acceptedAt(now()), 0)
      if (!(await haveChanged(db, turn, sizes.direct))) return
      builder.wake()
    }
    throw stillComputing()
  }

  return {
    async find(indices) {
      const words = codeOf(indices)
      for (;;) {
        const found = await findNow(words)
        if (found !== null) return found
        await tableReady()
      }
    },
  }
}
