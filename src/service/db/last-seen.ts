/**
 * Stores when sessions were last seen. The sessions of about a second are stored by one statement,
 * so that most requests need no statement and no commit for that. A crash loses the times of that
 * second, and the next request of each device stores them again.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Kysely } from 'kysely'
import type { Background } from './background.ts'
import { compiledOnce } from './compiled.ts'
import type { Schema } from './schema.ts'

/** The precision of `last_seen_at`, in milliseconds. It avoids a write for every request. */
const SEEN_MS = 60_000
/** How long sessions are gathered, in milliseconds, and how many at most. */
const GATHERED_MS = 1000
const MOST_GATHERED = 1000

export interface LastSeen {
  /**
   * Stores that a session was seen, within about a second, unless that is stored to the minute.
   * @param session `last_seen_at`: the stored time
   */
  note(session: { readonly id: string; readonly last_seen_at: number }): void
}

/** Another replica may have stored a later time. */
const store = compiledOnce(
  (db, of: { readonly ids: readonly string[]; readonly at: number; readonly before: number }) =>
    db
      .updateTable('sessions')
      .set({ last_seen_at: of.at })
      .where('id', 'in', of.ids)
      .where('last_seen_at', '<=', of.before),
)

/** @param of `signal` aborts when the server shuts down; the gathered sessions are then stored */
export function newLastSeen(of: {
  readonly db: Kysely<Schema>
  readonly background: Background
  readonly now: () => number
  readonly signal: AbortSignal
}): LastSeen {
  const { db, background, now, signal } = of
  /** Runs work outside of the request, which may be in a transaction. */
  const outside = AsyncLocalStorage.snapshot()
  let gathered = new Set<string>()
  /** When the first of the gathered sessions was seen. */
  let since = 0
  let timer: NodeJS.Timeout | undefined

  function storeGathered(): void {
    clearTimeout(timer)
    timer = undefined
    if (gathered.size === 0) return
    const values = { ids: [...gathered], at: since, before: since - SEEN_MS }
    gathered = new Set()
    background.run(() => store(db, values))
  }

  signal.addEventListener('abort', storeGathered)
  return {
    note: ({ id, last_seen_at }) => {
      const at = now()
      if (last_seen_at > at - SEEN_MS) return
      if (gathered.size === 0) since = at
      gathered.add(id)
      if (gathered.size >= MOST_GATHERED) outside(storeGathered)
      else timer ??= outside(() => setTimeout(storeGathered, GATHERED_MS).unref())
    },
  }
}
