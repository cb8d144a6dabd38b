/**
 * The webhooks: how far each has come in the events, and its last deliveries. Their settings are
 * sealed records (`webhooks/settings.ts`).
 */
import type { DatabaseSync } from 'node:sqlite'
import { statement } from '../storage/sqlite.ts'

/** How many deliveries of a webhook are kept. */
const MOST_DELIVERIES = 100

/** A webhook. Times are Unix milliseconds. */
export interface WebhookRow {
  readonly id: string
  readonly name: string | null
  readonly created_at: number
  readonly state: 'active' | 'paused' | 'given_up'
  /** The sequence number of the last event that was delivered or not wanted. */
  readonly seq: number
  /** The attempts for the event after it. */
  readonly attempts: number
  /** When the first of these attempts failed. */
  readonly failing_since: number | null
  /** When the next one is. */
  readonly next_at: number | null
  /** The id of the event that it was given up, while the account server has not stored a notice. */
  readonly unreported: string | null
}

/** The outcome of the attempts to deliver an event. Times are Unix milliseconds. */
export interface DeliveryRow {
  readonly event: string
  readonly type: string
  readonly state: 'delivered' | 'waiting' | 'failed'
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly first_at: number
  readonly last_at: number
  readonly next_at: number | null
}

export type WebhookRows = ReturnType<typeof webhookRows>

/** Returns the statements for the webhooks. */
export function webhookRows(db: DatabaseSync) {
  const insert = statement(
    db,
    `insert into webhooks (id, name, created_at, state, seq, attempts)
     values (?, ?, ?, 'active', ?, 0)`,
  )
  const get = statement<WebhookRow>(db, 'select * from webhooks where id = ?')
  const all = statement<WebhookRow>(db, 'select * from webhooks order by id desc')
  const remove = statement(db, 'delete from webhooks where id = ?')
  const rename = statement(db, 'update webhooks set name = ? where id = ?')
  const setState = statement(
    db,
    `update webhooks set state = ?, attempts = 0, failing_since = null, next_at = null,
       unreported = null
     where id = ?`,
  )
  const move = statement(db, 'update webhooks set seq = ? where id = ? and seq < ?')
  const delivered = statement(
    db,
    `update webhooks set seq = ?, attempts = 0, failing_since = null, next_at = null where id = ?`,
  )
  const failed = statement(
    db,
    'update webhooks set attempts = ?, failing_since = ?, next_at = ? where id = ?',
  )
  const giveUp = statement(
    db,
    `update webhooks set state = 'given_up', next_at = null, unreported = ? where id = ?`,
  )
  const reported = statement(
    db,
    'update webhooks set unreported = null where id = ? and unreported = ?',
  )
  const deliveries = statement<DeliveryRow>(
    db,
    `select event, type, state, attempts, status, error, first_at, last_at, next_at
     from webhook_deliveries where webhook = ? order by event desc`,
  )
  const delivery = statement(
    db,
    `insert into webhook_deliveries
       (webhook, event, type, state, attempts, status, error, first_at, last_at, next_at)
     values (?1, ?2, ?3, ?4, 1, ?5, ?6, ?7, ?7, ?8)
     on conflict do update set state = excluded.state, attempts = attempts + 1,
       status = excluded.status, error = excluded.error, last_at = excluded.last_at,
       next_at = excluded.next_at`,
  )
  // An event that is no longer stored is not tried again: a gap takes its place.
  const dropWaiting = statement(
    db,
    `delete from webhook_deliveries where webhook = ? and state = 'waiting' and event <> ?`,
  )
  const dropOld = statement(
    db,
    `delete from webhook_deliveries where webhook = ?1 and event <= (
       select event from webhook_deliveries where webhook = ?1 order by event desc
       limit 1 offset ${MOST_DELIVERIES})`,
  )
  const reopen = statement(
    db,
    `update webhook_deliveries set state = 'waiting', next_at = null
     where webhook = ? and state = 'failed'`,
  )
  return {
    /** Adds an active webhook. Its first event is the one after `seq`. */
    insert: (row: Pick<WebhookRow, 'id' | 'name' | 'created_at' | 'seq'>): void =>
      void insert.run(row.id, row.name, row.created_at, row.seq),
    get: (id: string): WebhookRow | null => get.get(id),
    /** Returns all webhooks, newest first. */
    all: (): WebhookRow[] => all.all(),
    /** Deletes a webhook and its deliveries. */
    delete: (id: string): boolean => remove.run(id) > 0,
    rename: (id: string, name: string | null): void => void rename.run(name, id),
    /** Sets the state. The event that waits is tried at once when the state is active. */
    setState(id: string, state: WebhookRow['state']): void {
      setState.run(state, id)
      reopen.run(id)
    },
    /** Moves past events that are not wanted. */
    move: (id: string, seq: number): void => void move.run(seq, id, seq),
    /** Moves past the event that was delivered. */
    delivered: (id: string, seq: number): void => void delivered.run(seq, id),
    /** Stores a failed attempt and when the next one is. */
    failed: (
      id: string,
      {
        attempts,
        failing_since,
        next_at,
      }: Pick<WebhookRow, 'attempts' | 'failing_since' | 'next_at'>,
    ): void => void failed.run(attempts, failing_since, next_at, id),
    /** Gives a webhook up; `event` is the id of the event of this. */
    giveUp: (id: string, event: string): void => void giveUp.run(event, id),
    /** Records that the account server has stored a notice of this event. */
    reported: (id: string, event: string): void => void reported.run(id, event),
    /** Stores the outcome of an attempt. */
    record(
      id: string,
      row: Pick<
        DeliveryRow,
        'event' | 'type' | 'state' | 'status' | 'error' | 'last_at' | 'next_at'
      >,
    ): void {
      const { event, type, state, status, error, last_at, next_at } = row
      dropWaiting.run(id, event)
      delivery.run(id, event, type, state, status, error, last_at, next_at)
      dropOld.run(id)
    },
    /** Returns the last deliveries, newest first. */
    deliveries: (id: string): DeliveryRow[] => deliveries.all(id),
  }
}
