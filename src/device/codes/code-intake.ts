/**
 * Adds connections and live guest codes from the state to the index of codes. It adds them one by
 * one, because opening a secret takes some 50 µs. It adds none before the first look-up; from
 * then on, it adds each change before the next look-up.
 */
import type { State } from '../../state/state.ts'
import type { CodeIndex } from './code-index.ts'
import { type Lack, type Subject, keyToCheck, readSubject } from './code-subjects.ts'
import { newIdMap } from './id-map.ts'
import type { Vault } from '../identity/vault.ts'

/** The ids that are listed at once: about 0.1 ms. */
const PAGE = 256

/** How much can be checked. */
export interface Tally {
  readonly checked: number
  readonly unchecked: number
  /** The reasons why some cannot be checked, each once. */
  readonly lacks: readonly Lack[]
}

interface Guest {
  readonly expiresAt: number
  readonly isChecked: boolean
}

export interface Intake {
  /**
   * Removes a subject from the index, after it was added, changed or deleted in the state. It is
   * read again before the next look-up.
   */
  changed(id: string): void
  /**
   * Adds subjects that are not in the index yet, until none is left or `enough` returns true.
   * Adds some of them in any case.
   * @returns whether none is left
   * @throws AppError keychain_locked, not_signed_in; the call can then be repeated
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
  /** Connections up to this id are listed. */
  let last = ''
  const waiting = new Set<string>()
  /**
   * The connections that cannot be checked, with the reason, and the number of them for each
   * reason.
   */
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
   * @returns the reason why that is not possible, or null
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
    // All its members are in the connection that replaced it: its words are not needed.
    if (subject.hold === 'roster_forked' && state.replacements.isSettled(id)) return
    const lack = put(subject)
    if (subject.expiresAt !== null)
      guests.set(id, { expiresAt: subject.expiresAt, isChecked: lack === null })
    else if (lack !== null) {
      lacking.set(id, lack)
      lacks[lack]++
    }
  }

  /** Queues the next subjects of the state. */
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
