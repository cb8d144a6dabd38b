/**
 * The index of codes: which speakers have which words, for a few windows at a time. The codes of
 * a window are computed into its table in small steps, so that no request waits for all of them.
 * A look-up is right after any number of steps: a table counts the places that are in it, and
 * each code that it finds is computed again.
 */
import type { codeUnder } from '../../crypto/code.ts'
import { newSpeakers } from './code-speakers.ts'
import { type CodeTable, newCodeTable } from './code-table.ts'

/** The codes that are computed between two checks of the time: about 0.1 ms. */
const STEP = 128
/** The three accepted windows, and the one after them. */
const MOST_WINDOWS = 4

/** A speaker who has a code in a window. */
export interface SpokenCode {
  /** The id of the connection or guest code. */
  readonly id: string
  /** The 16 bytes of the speaker's id. */
  readonly speaker: Uint8Array
  readonly window: number
}

export interface CodeIndex {
  /**
   * Adds a subject, or replaces the one with this id.
   * @param kc its code key, 32 bytes, which is copied
   * @param speakers the ids of its speakers, 16 bytes each
   */
  put(id: string, kc: Uint8Array, speakers: readonly Uint8Array[]): void
  remove(id: string): void
  /** Returns the number of subjects. */
  size(): number
  /** Returns how many codes a window has, or a few more. */
  codes(): number
  /**
   * Computes the missing codes of windows until all are there or `enough` returns true. Computes
   * some of them in any case. The windows are computed in their order.
   * @param windows at most four
   * @returns whether all are there
   */
  prepare(windows: readonly number[], enough: () => boolean): boolean
  /**
   * Returns the speakers who have this code in one of these windows. Computes missing codes at
   * once.
   */
  find(code: number, windows: readonly number[]): SpokenCode[]
}

interface Window {
  number: number
  table: CodeTable
  /** The speakers with a place below this number are in the table. */
  entered: number
}

/**
 * Creates an empty index.
 * @param read computes a code
 */
export function newCodeIndex(read?: typeof codeUnder): CodeIndex {
  const speakers = newSpeakers(read)
  const open: Window[] = []

  function enter({ number, table }: Window, place: number): void {
    const code = speakers.code(place, number)
    if (code !== null) table.enter(code, place)
  }

  /** Clears a table, and makes room for all speakers and one more step. */
  function begin(window: Window): void {
    const codes = speakers.places() + STEP
    window.table.clear()
    if (window.table.room() < codes) window.table = newCodeTable(codes)
    window.entered = 0
  }

  /** Returns a window with the codes computed so far. A new one replaces one that is not wanted. */
  function windowOf(number: number, wanted: readonly number[]): Window {
    const known = open.find((window) => window.number === number)
    if (known !== undefined) return known
    if (open.length < MOST_WINDOWS) {
      const made = { number, table: newCodeTable(speakers.places() + STEP), entered: 0 }
      open.push(made)
      return made
    }
    const old = open.find((window) => !wanted.includes(window.number))!
    old.number = number
    begin(old)
    return old
  }

  function step(window: Window): void {
    if (window.table.room() < STEP) begin(window)
    const end = Math.min(window.entered + STEP, speakers.places())
    for (let place = window.entered; place < end; place++) enter(window, place)
    window.entered = end
  }

  function prepare(wanted: readonly number[], enough: () => boolean): boolean {
    for (const number of wanted) {
      const window = windowOf(number, wanted)
      while (window.entered < speakers.places()) {
        step(window)
        if (enough()) return false
      }
    }
    return true
  }

  /** Enters a place that the steps have passed: it was given to another speaker since. */
  function enterPassed(place: number): void {
    for (const window of open) {
      if (place >= window.entered) continue
      if (window.table.room() === 0) begin(window)
      else enter(window, place)
    }
  }

  return {
    remove: (id) => speakers.remove(id),
    size: () => speakers.subjects(),
    codes: () => speakers.places(),
    prepare,

    put(id, kc, of) {
      speakers.remove(id)
      for (const place of speakers.add(id, kc, of)) enterPassed(place)
    },

    find(code, wanted) {
      prepare(wanted, () => false)
      return wanted.flatMap((number) =>
        windowOf(number, wanted)
          .table.find(code)
          .filter((place) => speakers.code(place, number) === code)
          .map((place) => ({ ...speakers.at(place), window: number })),
      )
    },
  }
}
