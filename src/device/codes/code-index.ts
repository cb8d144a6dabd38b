/**
 * The index of codes: who says which words, for a few windows at a time. A window's codes are computed into its table in small
 * steps, so that nobody waits for them. Whatever happens between two steps, the answer is right: a table counts the places that
 * are in it, and what it finds is computed again.
 */
import type { codeUnder } from '../../crypto/code.ts'
import { newSpeakers } from './code-speakers.ts'
import { type CodeTable, newCodeTable } from './code-table.ts'

/** Codes that are computed between two looks at the clock: about 0.1 ms. */
const STEP = 128
/** The three windows that are accepted, and the one after them. */
const MOST_WINDOWS = 4

/** Somebody says a code in a window. */
export interface Said {
  /** The connection or guest code. */
  readonly id: string
  /** The 16 bytes of the speaker's id. */
  readonly speaker: Uint8Array
  readonly window: number
}

export interface CodeIndex {
  /** Take a subject in, or in place of what it was: its code key (32 bytes, copied) and the ids of its speakers, 16 bytes each. */
  put(id: string, kc: Uint8Array, speakers: readonly Uint8Array[]): void
  remove(id: string): void
  /** How many subjects there are. */
  size(): number
  /** How many codes a window takes, or a few more. */
  codes(): number
  /**
   * Compute what is missing of these windows, at most four, in their order, until all is there or `enough` says so. Some of it
   * is done in any case.
   * @returns whether all is there
   */
  prepare(windows: readonly number[], enough: () => boolean): boolean
  /** Everybody who says this code in one of these windows; what is missing of them is computed at once. */
  find(code: number, windows: readonly number[]): Said[]
}

interface Window {
  number: number
  table: CodeTable
  /** Whoever has a place below this number is in the table. */
  entered: number
}

/**
 * An empty index.
 * @param read computes a code
 */
export function newCodeIndex(read?: typeof codeUnder): CodeIndex {
  const speakers = newSpeakers(read)
  const open: Window[] = []

  function enter({ number, table }: Window, place: number): void {
    const code = speakers.code(place, number)
    if (code !== null) table.enter(code, place)
  }

  /** Begin a table anew, with room for everybody and for one more step. */
  function begin(window: Window): void {
    const codes = speakers.places() + STEP
    window.table.clear()
    if (window.table.room() < codes) window.table = newCodeTable(codes)
    window.entered = 0
  }

  /** A window as far as it was computed. One that is new takes the place of one that is not wanted. */
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

  /** Steps do not come again by a place that was given to somebody else. */
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
