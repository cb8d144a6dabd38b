/**
 * The index of codes: finds the speakers of given words, for a few windows at a time.
 *
 * The codes of a window are computed into a hash table in small steps, so that no request waits for
 * the whole table. Look-ups are correct at any time: the index counts the speakers in a table,
 * adds the missing speakers before a look-up, and computes every code that it finds again.
 *
 * The intake reads connections and active guest codes from the state one by one, because decrypting
 * a secret takes about 50 µs. It adds nothing before the first look-up. After that, it adds each
 * change before the next look-up.
 */
import type { codeUnder } from '../../crypto/code.ts'
import type { State } from '../../state/state.ts'
import type { Vault } from '../identity/vault.ts'
import { keyToCheck, type Lack, readSubject, type Subject } from './code-subjects.ts'
import { type CodeTable, newCodeTable, newIdMap, newSpeakers } from './code-table.ts'

/** The number of codes computed between two checks of the time. They take about 0.1 ms. */
const STEP = 128
/** The three accepted windows, and the window after them. */
const MOST_WINDOWS = 4

/** A speaker and the window in which the code is the speaker's. */
export interface SpokenCode {
  /** The id of the connection or guest code. */
  readonly id: string
  /** The 16 bytes of the speaker's id. */
  readonly speaker: Uint8Array
  readonly window: number
}

interface CodeIndex {
  /**
   * Adds a subject, or replaces the subject with this id.
   * @param kc the subject's code key, 32 bytes, which is copied
   * @param speakers the ids of the subject's speakers, 16 bytes each
   */
  put(id: string, kc: Uint8Array, speakers: readonly Uint8Array[]): void
  remove(id: string): void
  /** Returns the number of subjects. */
  size(): number
  /** Returns the number of codes in a window, or a slightly higher number. */
  codes(): number
  /**
   * Computes the missing codes of windows until none is missing or `enough` returns true.
   *
   * Computes them in the order of the windows. If any is missing, computes some even if `enough`
   * returns true at once.
   * @param windows at most four
   * @returns whether no code is missing
   */
  prepare(windows: readonly number[], enough: () => boolean): boolean
  /** Returns the speakers of a code in any of these windows. First computes all missing codes. */
  find(code: number, windows: readonly number[]): SpokenCode[]
}

interface Window {
  number: number
  table: CodeTable
  /** The number of places already entered: all places below it are in the table. */
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

  /** Returns a window with the codes computed so far. A new window replaces an unwanted one. */
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

  /** Enters a speaker at a place that was already passed, because the place was reused since. */
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

/** The number of ids listed at once. Listing them takes about 0.1 ms. */
const PAGE = 256

/** How many subjects can be checked. */
export interface Tally {
  readonly checked: number
  readonly unchecked: number
  /** The reasons why some subjects cannot be checked, each listed once. */
  readonly lacks: readonly Lack[]
}

interface Guest {
  readonly expiresAt: number
  readonly isChecked: boolean
}

interface Intake {
  /**
   * Marks a subject as changed, after it was added, changed or deleted in the state. It leaves the
   * index and is read again before the next look-up.
   */
  changed(id: string): void
  /**
   * Adds subjects that are not in the index yet, until none is left or `enough` returns true. If
   * any is left, adds some even if `enough` returns true at once.
   * @returns whether none is left
   * @throws AppError keychain_locked, not_signed_in; the call can be repeated
   */
  work(enough: () => boolean): boolean
  /**
   * Returns how many of the added subjects can be checked.
   * @param now Unix milliseconds
   */
  tally(now: number): Tally
}

/**
 * Creates the intake of an index.
 * @param of `account` is the own account id
 */
export function newIntake({
  state,
  vault,
  account,
  index,
}: {
  state: State
  vault: Vault
  account: string
  index: CodeIndex
}): Intake {
  let isBegun = false
  let isListed = false
  /** The id up to which connections are listed. */
  let last = ''
  const waiting = new Set<string>()
  /** The connections that cannot be checked, each with the reason. */
  const lacking = newIdMap<Lack>()
  const lacks: Record<Lack, number> = { secret_missing: 0, rotation_pending: 0, roster_forked: 0 }
  const guests = new Map<string, Guest>()

  function drop(id: string): void {
    index.remove(id)
    guests.delete(id)
    const lack = lacking.get(id)
    if (lack === undefined) return
    lacking.delete(id)
    lacks[lack]--
  }

  /**
   * Adds a subject to the index.
   * @returns null, or the reason why it cannot be added
   */
  function put(subject: Subject): Lack | null {
    const { kc, lack } = keyToCheck(vault, subject)
    if (kc === null) return lack
    index.put(
      subject.id,
      kc,
      subject.speakers.map(({ bytes }) => bytes),
    )
    kc.fill(0)
    return null
  }

  function take(id: string): void {
    drop(id)
    const subject = readSubject(state, account, id)
    if (subject === null) return
    // All members are in the connection that replaced this one, so the words of this connection are
    // not needed.
    if (subject.hold === 'roster_forked' && state.replacements.isSettled(id)) return
    const lack = put(subject)
    if (subject.expiresAt !== null)
      guests.set(id, { expiresAt: subject.expiresAt, isChecked: lack === null })
    else if (lack !== null) {
      lacking.set(id, lack)
      lacks[lack]++
    }
  }

  /** Queues the next page of subjects from the state. */
  function list(): void {
    if (!isBegun) for (const { id } of state.guests.all()) waiting.add(id)
    isBegun = true
    const page = state.connections.page(last, PAGE)
    for (const id of page) waiting.add(id)
    last = page.at(-1) ?? last
    isListed = page.length < PAGE
  }

  return {
    changed(id) {
      if (!isBegun) return
      drop(id)
      waiting.add(id)
    },

    work(enough) {
      for (;;) {
        for (const id of waiting) {
          take(id)
          waiting.delete(id)
          if (enough()) return false
        }
        if (isListed) return true
        list()
        if (enough()) return false
      }
    },

    tally(now) {
      let checked = index.size()
      let missing = lacks.secret_missing
      let unchecked = lacking.size()
      for (const { expiresAt, isChecked } of guests.values()) {
        const isLive = expiresAt > now
        if (isChecked && !isLive) checked--
        if (isChecked || !isLive) continue
        missing++
        unchecked++
      }
      const found: Record<Lack, number> = { ...lacks, secret_missing: missing }
      const why = (Object.keys(found) as Lack[]).filter((lack) => found[lack] > 0)
      return { checked, unchecked, lacks: why }
    },
  }
}
