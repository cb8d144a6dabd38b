/**
 * Passes the changes that transactions announce to the streams of hints of this process.
 *
 * SQLite has one process, so a change is passed on after its commit. With PostgreSQL each
 * transaction sends messages to all replicas, which are delivered after the commit. A replica that
 * gets no messages, because its connection is lost or leads to a pooler, compares the marks of the
 * accounts that have streams here every second until it gets messages again.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { SYNC_PARTS, type SyncPart } from '../../api/device/changes.ts'
import type { HintSource } from '../../api/device/hints.ts'
import type { Log } from '../../log.ts'
import type { Channel } from '../db/channel.ts'
import type { Schema } from '../db/schema.ts'
import { type Changed, announceChanges } from '../db/sync-marks.ts'
import { afterwards } from '../db/transactions.ts'
import type { Hub } from './hub.ts'

/** How often the marks are compared while no messages arrive, in milliseconds. */
const COMPARE_MS = 1_000
/** How many accounts one query compares. */
const COMPARED = 1_000
/**
 * How often a replica sends a message to itself, to detect a broken connection, in milliseconds.
 */
const PROBE_MS = 20_000
/** How long a message to itself may take, in milliseconds. */
const PROBE_TAKES_MS = 5_000
/** The first and the longest wait between two attempts to get messages, in milliseconds. */
const [RETRY_MS, LONGEST_RETRY_MS] = [1_000, 60_000]

type Marks = Readonly<Record<SyncPart, number>>

export interface Announcements {
  /** Call it before the first event of a stream is sent. */
  readonly opening: (account: string) => Promise<void>
  /** Returns how this process learns of changes now. */
  readonly source: () => HintSource
}

/** A message to all replicas: the account, and what changed. */
const textOf = ({ account, parts, endsSession }: Changed): string =>
  [account, ...parts, ...(endsSession ? ['session'] : [])].join(' ')

function changedIn(text: string): Changed {
  const [account = '', ...rest] = text.split(' ')
  const parts = SYNC_PARTS.filter((part) => rest.includes(part))
  return { account, parts, endsSession: rest.includes('session') }
}

/** Sends the changes of all later transactions to the replicas. */
export const announceThrough = (db: Kysely<Schema>, channel: Channel): void =>
  announceChanges(db, (trx, changes) => channel.send(trx, changes.map(textOf)))

/**
 * Begins to pass changes on.
 * @param of `channel`: null if only this process uses the database; `recheck` ends the streams of
 *   ended sessions of accounts; `signal` aborts when the server shuts down
 */
export function newAnnouncements(of: {
  readonly db: Kysely<Schema>
  readonly channel: Channel | null
  readonly hub: Hub
  readonly recheck: (accounts: readonly string[]) => Promise<void>
  readonly log: Log
  readonly signal: AbortSignal
}): Announcements {
  const { db, channel, hub, recheck, log, signal } = of

  function pass({ account, parts, endsSession }: Changed): void {
    hub.changed(account, parts)
    // A revoked device is in the key log.
    if (endsSession || parts.includes('key_log')) void recheck([account])
  }

  if (channel === null) {
    announceChanges(db, async (_, changes) => afterwards(() => changes.forEach(pass)))
    return { opening: async () => undefined, source: () => 'process' }
  }

  /** The marks at the last comparison, or when the account opened its newest stream here. */
  const known = new Map<string, Marks>()
  /** The messages to this replica itself that have not arrived yet. */
  const expected = new Map<string, () => void>()
  let hasMessages = false
  const pause = (ms: number, signals: AbortSignal = signal) =>
    wait(ms, undefined, { signal: signals, ref: false })

  async function marksOf(accounts: readonly string[]): Promise<Map<string, Marks>> {
    const rows = await db
      .selectFrom('sync_marks')
      .selectAll()
      .where('account_id', 'in', accounts)
      .execute()
    return new Map(rows.map((row) => [row.account_id, row]))
  }

  /** Compares the marks of all accounts that have streams here, and passes the differences on. */
  async function compare(): Promise<void> {
    for (const account of known.keys()) if (hub.of(account).length === 0) known.delete(account)
    const all = [...hub.accounts()]
    for (let at = 0; at < all.length; at += COMPARED) {
      const some = all.slice(at, at + COMPARED)
      for (const [account, marks] of await marksOf(some)) {
        const before = known.get(account)
        known.set(account, marks)
        const parts = SYNC_PARTS.filter((part) => marks[part] !== before?.[part])
        if (parts.length > 0) hub.changed(account, parts)
      }
      await recheck(some)
    }
  }

  async function compareWithoutMessages(): Promise<void> {
    for (;;) {
      await pause(COMPARE_MS)
      if (hasMessages) continue
      await compare().catch((cause: unknown) =>
        log('debug', 'could not compare what changed', { cause }),
      )
    }
  }

  /** Sends a message to this replica itself. Throws if it does not arrive. */
  async function probe(from: Channel): Promise<void> {
    const text = randomUUID()
    const arrived = new Promise<void>((resolve) => void expected.set(text, resolve))
    const late = pause(PROBE_TAKES_MS).then(() => {
      throw new Error('A message to this server itself did not arrive.')
    })
    try {
      await Promise.race([Promise.all([from.send(db, [text]), arrived]), late])
    } finally {
      expected.delete(text)
      late.catch(() => undefined)
    }
  }

  function onMessage(text: string): void {
    if (text.includes(' ')) pass(changedIn(text))
    else expected.get(text)?.()
  }

  /** Receives messages until the connection breaks, and then throws. */
  async function receive(from: Channel, onBegin: () => void): Promise<never> {
    const broken = new AbortController()
    const close = await from.listen(onMessage, () => broken.abort())
    try {
      await probe(from)
      hasMessages = true
      onBegin()
      // What changed while there were no messages.
      await compare()
      for (;;) {
        await pause(PROBE_MS, AbortSignal.any([signal, broken.signal]))
        await probe(from)
      }
    } finally {
      hasMessages = false
      await close().catch(() => undefined)
    }
  }

  async function receiveAgain(from: Channel): Promise<void> {
    let retryMs = RETRY_MS
    let isNoted = false
    const onBegin = () => {
      if (isNoted) log('info', 'the database delivers messages about changes')
      retryMs = RETRY_MS
      isNoted = false
    }
    for (;;) {
      await receive(from, onBegin).catch((cause: unknown) => {
        signal.throwIfAborted()
        if (!isNoted)
          log('warn', 'the database delivers no messages; changes are read every second', { cause })
        isNoted = true
      })
      await pause(retryMs * (1 + Math.random()))
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS)
    }
  }

  // Both end when the server shuts down.
  for (const running of [receiveAgain(channel), compareWithoutMessages()])
    running.catch((cause: unknown) => {
      if (!signal.aborted) log('error', 'changes are not passed on', { cause })
    })
  return {
    source: () => (hasMessages ? 'messages' : 'comparison'),
    opening: async (account) => {
      const marks = (await marksOf([account])).get(account)
      if (marks !== undefined) known.set(account, marks)
    },
  }
}
