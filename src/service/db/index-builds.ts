/**
 * Builds the indexes that PostgreSQL does not have yet, in the background, while the server
 * answers requests. One replica builds at a time. A build that was interrupted leaves an invalid
 * index, which is dropped and built again.
 */
import type { Kysely } from 'kysely'
import { newId } from '../../crypto/encoding/id.ts'
import type { Log } from '../../log.ts'
import { countedJob } from '../../metrics/jobs.ts'
import type { Background } from './background.ts'
import type { Engine, Query } from './engine.ts'
import { type Index, creationOf } from './indexes.ts'
import { endLease, takeLease } from './leases.ts'
import { type Runner, newRunner } from './runner.ts'
import type { Schema } from './schema.ts'

/** How long the replica that builds has the lease. It renews the lease three times as often. */
const LEASE_MS = 60_000
/** The pause before another attempt after a failure, or while another process builds. */
const RETRY_MS = 60_000

interface Building {
  readonly engine: Engine
  readonly db: Kysely<Schema>
  readonly background: Background
  readonly now: () => number
  readonly log: Log
  /** Ends the work when the server shuts down. PostgreSQL completes a build that is running. */
  readonly signal: AbortSignal
  readonly indexes: readonly Index[]
  /** Called when all indexes are valid. */
  readonly onBuilt: () => void
}

/** Returns the indexes that are missing or invalid. */
async function unbuilt(db: Kysely<Schema>, indexes: readonly Index[]) {
  const { sql } = await import('kysely')
  const { rows } = await sql<{ name: string; valid: boolean | null }>`
    select name, indisvalid as valid
    from unnest(${indexes.map(({ name }) => name)}::text[]) as name
    left join pg_index on indexrelid = to_regclass(name)`.execute(db)
  const states = new Map(rows.map(({ name, valid }) => [name, valid]))
  return indexes
    .filter(({ name }) => states.get(name) !== true)
    .map((index) => ({ index, isInvalid: states.get(index.name) === false }))
}

/**
 * Builds an index. Returns false without building if a process of PostgreSQL still builds an index
 * of the table, for example for a server that was killed.
 */
async function build(query: Query, index: Index, isInvalid: boolean): Promise<boolean> {
  const { name, table } = index
  const running = `select 1 from pg_stat_progress_create_index
    where datname = current_database() and relid = '${table}'::regclass`
  if ((await query(running)).length > 0) return false
  // Neither statement makes requests wait: the locks that they need exclude only changes of the
  // schema. They themselves wait until older transactions have ended.
  if (isInvalid) await query(`drop index concurrently if exists ${name}`)
  await query(creationOf(index, true))
  return true
}

/** Returns the runner of the builds, which must be woken once. */
export function newIndexBuilds(of: Building): Runner {
  const { engine, db, background, now, log, signal, indexes, onBuilt } = of
  const lease = { name: 'index builds', owner: newId('', now()), ms: LEASE_MS } as const

  async function buildAll(): Promise<void> {
    const renewal = setInterval(() => {
      takeLease(db, lease, now()).catch(() => undefined)
    }, LEASE_MS / 3)
    try {
      await countedJob('index builds', async () => {
        for (const { index, isInvalid } of await unbuilt(db, indexes)) {
          const at = now()
          if (await engine.session((query) => build(query, index, isInvalid), signal))
            log('info', 'index built', { index: index.name, ms: now() - at })
        }
      })
    } catch (cause) {
      if (!signal.aborted) log('warn', 'index could not be built', { cause })
    } finally {
      clearInterval(renewal)
      await endLease(db, lease)
    }
  }

  const runner = newRunner({
    background,
    signal,
    retryMs: RETRY_MS,
    work: async () => {
      const isNeeded = async () => (await unbuilt(db, indexes)).length > 0
      if ((await isNeeded()) && (await takeLease(db, lease, now()))) await buildAll()
      if (signal.aborted) return
      if (await isNeeded()) runner.wakeIn(RETRY_MS)
      else onBuilt()
    },
  })
  return runner
}
