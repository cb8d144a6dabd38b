/**
 * Computes the table of words of public codes ahead of time, in the replica that has the lease. The
 * table is correct without the lease: words are added to a window only if no other replica has
 * added words to it in between.
 *
 * Few codes need no table, because each look-up computes their words. So a server with few codes
 * does no work in the background.
 */
import { windowOf } from '../../crypto/code.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { countedJob } from '../../metrics/jobs.ts'
import { newSlices } from '../../slices.ts'
import { FEW_CODES, haveChanged, sharedCodes } from '../accounts/public-code-rows.ts'
import type { ServiceContext } from '../context.ts'
import { endLease, takeLease } from '../db/leases.ts'
import { newRunner } from '../db/runner.ts'
import { spokenWords } from './spoken-words.ts'
import {
  addWords,
  deleteWindow,
  type Gathered,
  newGathered,
  storedWindows,
  surplusWindows,
} from './word-table.ts'

/** Sizes of the table of words, in codes or windows. */
export interface WordSizes {
  /** A window with more changed codes than this is brought up to date. */
  readonly stale: number
  /** A look-up computes the words of at most this many changed codes. */
  readonly direct: number
  /** How many codes one pass reads, at most. They take 8 bytes for each code and window. */
  readonly pass: number
  /** For how many windows one pass computes words, at most. */
  readonly windows: number
}

export const WORD_SIZES: WordSizes = { stale: FEW_CODES, direct: 1000, pass: 65_536, windows: 8 }

/** A window is computed when it is this many windows ahead, at the latest. */
const AHEAD = 5
/** Older windows than this many before the current one are deleted. Replicas' clocks may differ. */
const KEPT = 2

/** How many rows one query reads. */
const BATCH = 200
/** The length of a slice, in milliseconds. It delays look-ups of this replica. */
const SLICE_MS = 0.5

/** How long the lease is valid. It is renewed before each pass. */
const LEASE_MS = 30_000

/** The delay before the next run, in milliseconds. */
const TICK_MS = 30_000

export interface WordBuilder {
  /** Starts a run in the background, which computes the words that are missing. */
  wake(): void
}

/** Windows that end at the same turn. */
interface Pass {
  readonly from: number
  readonly windows: readonly number[]
}

/**
 * Creates the builder of a server process.
 * @param of `signal` aborts when the server shuts down
 */
export function newWordBuilder(
  of: Pick<ServiceContext, 'db' | 'background' | 'now'> & {
    readonly signal: AbortSignal
    readonly sizes?: WordSizes
  },
): WordBuilder {
  const { db, background, now, signal, sizes = WORD_SIZES } = of
  const lease = { name: 'public words', owner: newId('', now()), ms: LEASE_MS } as const

  const currentWindow = () => windowOf(now())

  /** Returns windows that are not up to date, the earliest first; null if there are none. */
  async function nextPass(): Promise<Pass | null> {
    const current = currentWindow()
    const stored = await storedWindows(db)
    const turnOf = (window: number) => stored.get(window) ?? 0
    const isCurrent = new Set<number>()
    for (let window = current - 1; window <= current + AHEAD; window++) {
      const from = turnOf(window)
      if (isCurrent.has(from)) continue
      if (!(await haveChanged(db, from, sizes.stale))) {
        isCurrent.add(from)
        continue
      }
      const following = Array.from({ length: sizes.windows }, (_, i) => window + i)
      return { from, windows: following.filter((one) => turnOf(one) === from) }
    }
    return null
  }

  const surplus = () => {
    const current = currentWindow()
    return surplusWindows(db, current - KEPT, current + AHEAD + 2 * sizes.windows)
  }

  /** Adds the words of the next codes to the windows. */
  async function compute({ from, windows }: Pass, gathered: Gathered): Promise<void> {
    // Read before the codes, so that all changes until this turn are among the rows below.
    const { turn: newest } = await db
      .selectFrom('public_code_turns')
      .select('turn')
      .executeTakeFirstOrThrow()
    gathered.clear()
    const slice = newSlices(SLICE_MS)
    let turn = from
    let isMore = true
    while (isMore && gathered.room() > 0) {
      const limit = Math.min(BATCH, gathered.room())
      const rows = await sharedCodes(db)
        .where('turn', '>', turn)
        .orderBy('turn')
        .limit(limit)
        .execute()
      for (const row of rows) {
        gathered.add(row.turn, windows.map(spokenWords(row)))
        turn = row.turn
        await slice()
      }
      if (signal.aborted) return
      isMore = rows.length === limit
    }
    if (!isMore) turn = Math.max(turn, newest)
    if (turn === from) return
    for (const [i, window] of windows.entries()) {
      await addWords(db, { window, from, turn }, await gathered.rows(i, slice))
    }
  }

  /** Works until there is nothing to do. Returns whether there will be work later. */
  async function computeAll(): Promise<boolean> {
    let gathered: Gathered | null = null
    while (!signal.aborted) {
      const [pass, old] = [await nextPass(), await surplus()]
      if (pass === null && old.length === 0) return (await storedWindows(db)).size > 0
      if (!(await takeLease(db, lease, now()))) return true
      for (const window of old) await deleteWindow(db, window)
      if (pass === null) continue
      gathered ??= newGathered(sizes.pass, sizes.windows)
      await compute(pass, gathered)
    }
    return false
  }

  const runner = newRunner({
    background,
    signal,
    retryMs: TICK_MS,
    work: () =>
      countedJob('public words', async () => {
        if (await computeAll()) runner.wakeIn(TICK_MS)
        await endLease(db, lease)
      }),
  })
  return runner
}
