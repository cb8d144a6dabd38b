/**
 * "Limits of logs": places of a log, forks, and the record that a device keeps of the highest place
 * seen.
 */
import { type Bytes, hex, need, Refused, same } from './bytes.ts'
import { bytesAt, countAt } from './json.ts'
import type { Jws } from './jws.ts'

export interface Known {
  readonly seq: number
  readonly head_hex: string
}

export interface Entry {
  readonly jws: Jws
  readonly seq: number
  readonly prev: Bytes
}

const PLACES = 100_000
const LAST = {
  roster: { from: PLACES - 1000, ops: ['remove', 'leave', 'confirm', 'end'] },
  keylog: { from: PLACES - 1000, ops: ['revoke', 'reset'] },
}
export type Log = keyof typeof LAST

/** @throws Refused `log_full` */
export function checkPlace(log: Log, op: string, seq: number): void {
  need(seq < PLACES, 'log_full')
  need(seq < LAST[log].from || LAST[log].ops.includes(op), 'log_full')
}

export const place = (jws: Jws): Entry => ({
  jws,
  seq: countAt(jws.payload, 'seq'),
  prev: bytesAt(jws.payload, 'prev', 32),
})

/**
 * Verifies entries in the order received.
 * `read` checks the form; `apply` checks all else against the state before the entry, and returns
 * the state after it. A second valid entry at one place is a fork.
 */
export function walk<E extends Entry, S>(
  texts: readonly string[],
  known: Known | null,
  forked: string,
  read: (text: string) => E,
  apply: (before: S | null, entry: E) => S,
): { entries: E[]; states: S[] } {
  need(texts.length > 0, 'empty')
  const entries: E[] = []
  const states: S[] = []
  for (const text of texts) {
    const entry = read(text)
    need(!entries.some((earlier) => earlier.jws.text === text), 'duplicate_entry')
    need(entry.seq <= entries.length, 'gap')
    const wanted = entry.seq === 0 ? new Uint8Array(32) : entries[entry.seq - 1]!.jws.hash
    need(same(entry.prev, wanted), 'prev_mismatch')
    const state = apply(entry.seq === 0 ? null : states[entry.seq - 1]!, entry)
    if (entry.seq < entries.length) throw new Refused(forked)
    entries.push(entry)
    states.push(state)
  }
  if (known !== null) {
    need(known.seq < entries.length, 'rollback')
    need(hex(entries[known.seq]!.jws.hash) === known.head_hex, forked)
  }
  return { entries, states }
}
