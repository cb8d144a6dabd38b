/**
 * The history of trust cards, made from domain events. The id of a history event begins with the
 * time at which it happened, so events sort by id.
 */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { VerificationEntry } from '../../api/rest/verify.ts'
import { formatId, newId, parseId } from '../../crypto/encoding/id.ts'
import type { Schema } from '../db/schema.ts'
import type { Subscriber } from '../events.ts'

/** The prefix of event ids. */
export const EVENT = 'tev_'

type Event = Schema['trust_events']

/**
 * Returns the id of an event at the time `at` (Unix milliseconds).
 * @param rest bytes that make the id unique and order events with the same time; the first 10 are
 *   used
 */
function idAt(at: number, rest: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.set(rest.subarray(0, 10), 6)
  return formatId(EVENT, bytes)
}

/**
 * Returns the event id of a verification. It is the same every time a device sends the same log
 * entry.
 */
const idOf = ({ id }: VerificationEntry, watched: string, at: number) =>
  idAt(at, createHash('sha256').update(`${id}\0${watched}`).digest())

/** Returns an id that is greater than the ids of earlier events with the same time. */
const nextId = (at: number) => idAt(at, parseId(EVENT, newId(EVENT, at)).subarray(6))

type Card = Pick<Event, 'account_id' | 'watched_id'>

/**
 * Deletes a card's newest event if it is a change of the note. So repeated changes of the note are
 * one event, which limits the length of the history.
 */
async function dropNoteBefore(db: Kysely<Schema>, { account_id, watched_id }: Card): Promise<void> {
  const newest = await db
    .selectFrom('trust_events')
    .select(['id', 'event'])
    .where('account_id', '=', account_id)
    .where('watched_id', '=', watched_id)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (newest?.event === 'note_changed')
    await db.deleteFrom('trust_events').where('id', '=', newest.id).execute()
}

/** Stores events that happened at the same time, in this order. */
async function noteEvents(
  db: Kysely<Schema>,
  of: Card & Pick<Event, 'at'>,
  events: readonly Event['event'][],
): Promise<void> {
  if (events[0] === 'note_changed') await dropNoteBefore(db, of)
  const rows = events.map((event) => ({ ...of, id: nextId(of.at), event, detail: null }))
  await db.insertInto('trust_events').values(rows).execute()
}

/** Returns an event for each account that these log entries name as verified. */
function verifiedIn(entries: readonly VerificationEntry[], account: string, now: number): Event[] {
  return entries
    .filter(({ outcome }) => outcome === 'verified')
    .flatMap((entry) => {
      // Limited to the present, because with a time in the future the event would sort after events
      // that happen later.
      const at = Math.min(Date.parse(entry.at), now)
      if (!(at >= 0)) return []
      const others = entry.matches.filter(({ speaker }) => speaker === 'other')
      return others.flatMap(({ member_id: watched_id, connection_name }) => {
        if (watched_id === undefined) return []
        const id = idOf(entry, watched_id, at)
        const detail = connection_name ?? null
        return [{ id, account_id: account, watched_id, at, event: 'verified' as const, detail }]
      })
    })
}

/**
 * Adds verifications to the history of an account's trust cards. Events that are already stored
 * stay unchanged.
 */
async function noteVerified(
  db: Kysely<Schema>,
  account: string,
  entries: readonly VerificationEntry[],
  now: number,
): Promise<void> {
  // An entry may name the same account several times.
  const events = [
    ...new Map(verifiedIn(entries, account, now).map((event) => [event.id, event])).values(),
  ]
  if (events.length === 0) return
  const cards = await db
    .selectFrom('trust_cards')
    .select('watched_id')
    .where('account_id', '=', account)
    .where('watched_id', 'in', [...new Set(events.map(({ watched_id }) => watched_id))])
    .execute()
  for (const { watched_id } of cards) {
    const own = events.filter((event) => event.watched_id === watched_id)
    await db
      .insertInto('trust_events')
      .values(own)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const last = Math.max(...own.map(({ at }) => at))
    await db
      .updateTable('trust_cards')
      .set({ last_verified_at: last })
      .where('account_id', '=', account)
      .where('watched_id', '=', watched_id)
      .where((or) => or.or([or('last_verified_at', 'is', null), or('last_verified_at', '<', last)]))
      .execute()
  }
}

export const historyOfCard: Subscriber<'trust_card.created'> = ({ trx }, event) => {
  const { account: account_id, watched: watched_id, at } = event
  return noteEvents(trx, { account_id, watched_id, at }, ['followed'])
}

export const historyOfChange: Subscriber<'trust_card.changed'> = ({ trx }, event) => {
  const { account: account_id, watched: watched_id, isConfirmed, isNoted, at } = event
  return noteEvents(trx, { account_id, watched_id, at }, [
    ...(isConfirmed ? (['confirmed'] as const) : []),
    ...(isNoted ? (['note_changed'] as const) : []),
  ])
}

export const historyOfVerifications: Subscriber<'verification.logged'> = (
  { trx },
  { by, entries, at },
) => noteVerified(trx, by.account, entries, at)
