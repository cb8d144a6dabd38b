/**
 * Builds exports in the background. Each server process builds one export at a time, and serves
 * other requests between its pages.
 */
import { setImmediate } from 'node:timers/promises'
import type { Account } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { countedJob } from '../../metrics/jobs.ts'
import { type Job, Lost, newLeases, deleteParts } from './leases.ts'
import { type Step, zipOf } from './zip.ts'
import type { ServiceContext } from '../context.ts'
import { newRunner } from '../db/runner.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'

/**
 * When a builder writes to its lease, in milliseconds. It renews the lease after RENEWAL_MS at the
 * latest, and stores a changed progress after PROGRESS_MS at the earliest.
 */
const RENEWAL_MS = 10_000
const PROGRESS_MS = 500
/** How long a finished file is stored, in milliseconds. */
const KEPT_MS = 7 * 24 * 3_600_000
/**
 * The shortest and longest delay before the next run, in milliseconds. The lower limit is needed
 * because replicas' clocks differ, the upper limit because timers have a maximum.
 */
const SOONEST_MS = 1_000
const LATEST_MS = 24 * 3_600_000
/** The delay after a database outage, in milliseconds. */
const RETRY_MS = 30_000

const UNBUILT =
  'The account server could not build this export. Request another. If the next export fails too, inform the operator of the account server. The server’s ' +
  'log has the reason.'

export interface Exporter {
  /**
   * Starts a run in the background. It builds queued and abandoned exports, and deletes expired
   * files.
   */
  wake(): void
}

/** Thrown to end a build because the server is shutting down. */
class Closing extends Error {}

/**
 * Creates the exporter of a server process.
 * @param of `accountOf`: returns an account's calls for a caller without a device; `isAway`:
 *   whether an error is a database outage; `signal`: aborts when the server shuts down. Unfinished
 *   exports are then left to another server.
 */
export function newExporter(of: {
  ground: Pick<ServiceContext, 'db' | 'events' | 'background' | 'now'>
  accountOf: (id: string) => Account
  isAway: (error: unknown) => boolean
  log: Log
  signal: AbortSignal
}): Exporter {
  const { ground, accountOf, isAway, log, signal } = of
  const { db, events, background, now } = ground
  const leases = newLeases(ground)

  function steps(job: Job): Step {
    let renewedAt = now()
    let stored = 0
    return async (percent) => {
      await setImmediate()
      if (signal.aborted) throw new Closing()
      const silence = now() - renewedAt
      if (silence < (percent > stored ? PROGRESS_MS : RENEWAL_MS)) return
      await leases.hold(db, job, percent)
      renewedAt = now()
      stored = percent
    }
  }

  /** Builds the file and stores it in parts. Returns the file's size in bytes. */
  async function store(job: Job): Promise<number> {
    const source = { db, id: job.account, account: accountOf(job.account), now }
    let seq = 0
    let size = 0
    for await (const bytes of zipOf(source, { at: now(), step: steps(job) })) {
      await db.transaction().execute(async (trx) => {
        await leases.hold(trx, job)
        await trx.insertInto('export_parts').values({ export_id: job.id, seq, bytes }).execute()
      })
      seq += 1
      size += bytes.length
    }
    return size
  }

  const finish = (job: Job, size: number) =>
    events.transaction(async (trx) => {
      const at = now()
      const expires = at + KEPT_MS
      const file = { size_bytes: size, finished_at: at, expires_at: expires }
      await leases.end(trx, job, { state: 'ready', progress: 100, ...file })
      const { account, id } = job
      await events.publish(trx, { type: 'export.ready', account, export: id, expires, at })
    })

  async function fail(job: Job): Promise<void> {
    await events.transaction(async (trx) => {
      const at = now()
      await leases.end(trx, job, { state: 'failed', error: UNBUILT, finished_at: at })
      const { account, id } = job
      await events.publish(trx, { type: 'export.failed', account, export: id, reason: UNBUILT, at })
    })
    await deleteParts(db, job.id)
  }

  async function giveUp(job: Job, cause: unknown): Promise<void> {
    if (cause instanceof Lost) return
    // Queued again, so that the next server does not have to wait until the lease expires.
    if (cause instanceof Closing)
      return transactionWithMarks(db, (trx) => leases.end(trx, job, { state: 'queued' }))
    const isOutage = cause instanceof AppError && cause.code === 'backend_unavailable'
    if (isOutage || isAway(cause)) throw cause
    await fail(job)
    log('error', 'could not build an export', { export_id: job.id, cause })
  }

  async function build(job: Job): Promise<void> {
    try {
      await finish(job, await store(job))
    } catch (cause) {
      await giveUp(job, cause).catch((error: unknown) => {
        // If the lease is lost, the export or its account was deleted, and there is no state to
        // update.
        if (!(error instanceof Lost)) throw error
      })
    }
  }

  /** Marks expired exports and deletes their files. The exports stay in the list. */
  async function sweep(): Promise<void> {
    const expired = await db
      .selectFrom('exports')
      .select(['id', 'account_id'])
      .where('state', '=', 'ready')
      .where('expires_at', '<=', now())
      .execute()
    for (const { id, account_id: account } of expired) {
      await deleteParts(db, id)
      await transactionWithMarks(db, async (trx) => {
        await trx.updateTable('exports').set({ state: 'expired' }).where('id', '=', id).execute()
        markChanged(trx, ['exports'], { accounts: [account] })
      })
    }
  }

  /** Schedules the next run for the time when another builder's lease ends or a file expires. */
  async function plan(): Promise<void> {
    const lease = await db
      .selectFrom('exports')
      .select(({ fn }) => fn.min('builder_until').as('at'))
      .where('state', '=', 'building')
      .executeTakeFirst()
    const file = await db
      .selectFrom('exports')
      .select(({ fn }) => fn.min('expires_at').as('at'))
      .where('state', '=', 'ready')
      .executeTakeFirst()
    const times = [lease?.at, file?.at].filter((at) => typeof at === 'number')
    if (times.length === 0) return
    const ms = Math.min(...times) - now()
    runner.wakeIn(Math.min(Math.max(ms, SOONEST_MS), LATEST_MS))
  }

  async function work(): Promise<void> {
    while (!signal.aborted) {
      const job = await leases.take()
      if (job === null) break
      await build(job)
    }
    if (signal.aborted) return
    await sweep()
    await plan()
  }

  const runner = newRunner({
    background,
    signal,
    work: () => countedJob('exports', work),
    retryMs: RETRY_MS,
  })
  return runner
}
