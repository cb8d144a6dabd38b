/**
 * The table of the words of public codes. It has the words of each window, grouped by their first
 * word. Rows are only added to a window, until the whole window is deleted.
 *
 * An entry refers to a code by the turn of its last change. So an entry no longer refers to any
 * code after its code has changed, and the changed code has a higher turn.
 */
import { setImmediate } from 'node:timers/promises'
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'

/** The number of words in the word list, and so of first words. */
const FIRST_WORDS = 4096
/** Two words, as a number below this. */
const TWO_WORDS = 2 ** 24

/** The length of an entry, and of the two words in it, in bytes. */
const ENTRY = 9
const WORDS = 3

/** How many rows one statement stores, at most. Few sizes make few different statements. */
const SIZES = [64, 8, 1]
/** After how many entries the time is checked. */
const CHECKED = 256
/** How many first words one statement deletes. */
const DELETED = 256

/** The value of `turn` while the words of a window are being deleted. */
const DELETING = -1

/** Returns the turns in entries that have these last two words. */
function turnsIn(entries: Uint8Array, lastWords: number): number[] {
  const bytes = Buffer.from(entries.buffer, entries.byteOffset, entries.byteLength)
  const turns: number[] = []
  for (let at = 0; at < bytes.length; at += ENTRY)
    if (bytes.readUIntBE(at, WORDS) === lastWords)
      turns.push(bytes.readUIntBE(at + WORDS, ENTRY - WORDS))
  return turns
}

/**
 * Returns the codes that may have these words in one of the windows.
 * @param words three words as a number of 36 bits
 * @returns `candidates`: the turns of codes, each once; `turn`: codes that were changed after this
 *   turn may be missing
 */
export async function readCandidates(
  db: Kysely<Schema>,
  windows: readonly number[],
  words: number,
): Promise<{ candidates: number[]; turn: number }> {
  const rows = await db
    .selectFrom('public_word_windows as known')
    .leftJoin('public_words as stored', (join) =>
      join
        .onRef('stored.window', '=', 'known.window')
        .on('stored.first_word', '=', Math.floor(words / TWO_WORDS)),
    )
    .select(['known.window', 'known.turn', 'entries'])
    .where('known.window', 'in', windows)
    .where('known.turn', '!=', DELETING)
    .execute()
  const turns = new Map(rows.map(({ window, turn }) => [window, turn]))
  const found = rows.flatMap(({ entries }) =>
    entries === null ? [] : turnsIn(entries, words % TWO_WORDS),
  )
  return {
    candidates: [...new Set(found)],
    turn: Math.min(...windows.map((window) => turns.get(window) ?? 0)),
  }
}

type WordRow = Pick<Schema['public_words'], 'first_word' | 'entries'>

/** The words of the codes that one pass reads, in several windows. */
export interface Gathered {
  /** Removes all codes, so that the memory is used again. */
  clear(): void
  /** How many more codes there is room for. */
  room(): number
  /** @param words the words in each window, as numbers of 36 bits */
  add(turn: number, words: readonly number[]): void
  /**
   * Returns the rows of a window, by its position in the list of windows. They are valid until the
   * next call.
   * @param slice called between steps; yields to other requests
   */
  rows(at: number, slice: () => Promise<void>): Promise<WordRow[]>
}

/** Creates room for the words of `codes` codes: 8 bytes for each code and window. */
export function newGathered(codes: number, windows: number): Gathered {
  const turns = new Float64Array(codes)
  const words = new Float64Array(codes * windows)
  const bytes = Buffer.alloc(codes * ENTRY)
  let count = 0
  return {
    clear: () => void (count = 0),
    room: () => codes - count,

    add(turn, ofWindows) {
      turns[count] = turn
      for (const [i, word] of ofWindows.entries()) words[i * codes + count] = word
      count += 1
    },

    async rows(at, slice) {
      const own = words.subarray(at * codes, at * codes + count)
      /** Where the entries of each first word end. */
      const ends = new Uint32Array(FIRST_WORDS)
      for (const word of own) ends[Math.floor(word / TWO_WORDS)]! += ENTRY
      await slice()
      for (let first = 1; first < FIRST_WORDS; first++) ends[first]! += ends[first - 1]!
      const begins = ends.slice()
      // The last entry of each first word is written first.
      for (const [i, word] of own.entries()) {
        const begin = (begins[Math.floor(word / TWO_WORDS)]! -= ENTRY)
        bytes.writeUIntBE(word % TWO_WORDS, begin, WORDS)
        bytes.writeUIntBE(turns[i]!, begin + WORDS, ENTRY - WORDS)
        if (i % CHECKED === 0) await slice()
      }
      const rows: WordRow[] = []
      for (let first = 0; first < FIRST_WORDS; first++)
        if (ends[first]! > begins[first]!)
          rows.push({ first_word: first, entries: bytes.subarray(begins[first], ends[first]) })
      return rows
    },
  }
}

async function insert(
  trx: Transaction<Schema>,
  of: { window: number; turn: number },
  rows: readonly WordRow[],
): Promise<void> {
  for (let at = 0; at < rows.length;) {
    const size = SIZES.find((one) => one <= rows.length - at)!
    const part = rows.slice(at, at + size)
    await trx
      .insertInto('public_words')
      .values(part.map((row) => ({ ...of, ...row })))
      .execute()
    at += size
    await setImmediate()
  }
}

/** Creates the row of a window, if it is missing. */
async function beginWindow(trx: Transaction<Schema>, window: number): Promise<void> {
  const made = await trx
    .insertInto('public_word_windows')
    .values({ window, turn: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .returning('window')
    .execute()
  // Words without a row of their window are left only by an operator who deleted the row.
  if (made.length > 0) await trx.deleteFrom('public_words').where('window', '=', window).execute()
}

/**
 * Adds words to a window: those of all codes that were changed after `from` and until `turn`. Does
 * nothing if the window does not end at `from`, because another replica has added words or is
 * deleting the window.
 */
export const addWords = (
  db: Kysely<Schema>,
  { window, from, turn }: { window: number; from: number; turn: number },
  rows: readonly WordRow[],
): Promise<void> =>
  db.transaction().execute(async (trx) => {
    if (from === 0) await beginWindow(trx, window)
    const { numUpdatedRows: updated } = await trx
      .updateTable('public_word_windows')
      .set({ turn })
      .where('window', '=', window)
      .where('turn', '=', from)
      .executeTakeFirstOrThrow()
    if (updated === 1n) await insert(trx, { window, turn }, rows)
  })

/** Returns the turn of each stored window, without the windows that are being deleted. */
export async function storedWindows(db: Kysely<Schema>): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('public_word_windows')
    .select(['window', 'turn'])
    .where('turn', '!=', DELETING)
    .execute()
  return new Map(rows.map(({ window, turn }) => [window, turn]))
}

/** Returns the windows before `first` or after `last`, and those of an interrupted deletion. */
export async function surplusWindows(
  db: Kysely<Schema>,
  first: number,
  last: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('public_word_windows')
    .select('window')
    .where((of) =>
      of.or([of('turn', '=', DELETING), of('window', '<', first), of('window', '>', last)]),
    )
    .orderBy('window')
    .execute()
  return rows.map(({ window }) => window)
}

/**
 * Deletes the words of a window in several transactions. The row of the window is deleted last, so
 * that no words can be added to the window before all are deleted.
 */
export async function deleteWindow(db: Kysely<Schema>, window: number): Promise<void> {
  await db
    .updateTable('public_word_windows')
    .set({ turn: DELETING })
    .where('window', '=', window)
    .execute()
  for (let first = 0; first < FIRST_WORDS; first += DELETED) {
    await db.transaction().execute(async (trx) => {
      // This update changes nothing. It locks the row, and finds nothing if another replica has
      // deleted the window, after which words may have been added to it again.
      const { numUpdatedRows: locked } = await trx
        .updateTable('public_word_windows')
        .set({ turn: DELETING })
        .where('window', '=', window)
        .where('turn', '=', DELETING)
        .executeTakeFirstOrThrow()
      if (locked !== 1n) return
      await trx
        .deleteFrom('public_words')
        .where('window', '=', window)
        .where('first_word', '>=', first)
        .where('first_word', '<', first + DELETED)
        .execute()
    })
    await setImmediate()
  }
  await db
    .deleteFrom('public_word_windows')
    .where('window', '=', window)
    .where('turn', '=', DELETING)
    .execute()
}
