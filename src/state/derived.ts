/** Values that are computed from the state, and computed again only after a change of the state. */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/**
 * Returns a function that returns the number of changes of a database, by this program, since it
 * was opened. Only this program writes to the database, so the same number means the same content.
 *
 * Returns null inside a transaction, which may still be rolled back.
 * @see https://www.sqlite.org/lang_corefunc.html#total_changes
 */
export function changeCount(db: DatabaseSync): () => number | null {
  const count = statement<{ n: number }>(db, 'select total_changes() as n')
  return () => (db.isTransaction ? null : (count.get()?.n ?? null))
}

/** Returns a function that returns what `make` returns for a state, and caches it. */
export function derived<State extends { readonly changes: () => number | null }, Value>(
  make: (state: State) => Value,
): (state: State) => Value {
  const known = new WeakMap<State, { readonly at: number; readonly value: Value }>()
  return (state) => {
    const at = state.changes()
    const last = known.get(state)
    if (last !== undefined && last.at === at) return last.value
    const value = make(state)
    if (at !== null) known.set(state, { at, value })
    return value
  }
}
