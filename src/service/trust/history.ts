/** What happened to a trust card, as the account server hears of it. An id begins with the time of its event, so ids are in order. */
import { createHash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { LogEntry } from '../../api/rest/verify.ts'
import { formatId, newId, parseId } from '../../crypto/encoding/id.ts'
import type { Schema } from '../db/schema.ts'
import type { Subscriber } from '../events.ts'

/** The prefix of their ids. */
export const EVENT = 'tev_'

type Event = Schema['trust_events']

/** The id of an event at a time (Unix milliseconds): the rest of it tells it from others, and orders those of one moment. */
function idAt(at: number, rest: Uint8Array): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.set(rest.subarray(0, 10), 6)
  return formatId(EVENT, bytes)
}

/** The id of a verification as an event: the same whenever its device pushes it. */
const idOf = ({ id }: LogEntry, watched: string, at: number) =>
  idAt(at, createHash('sha256').update(`${id}\0${watched}`).digest())

/** The id of what happens at a moment, after all that happened at it before. */
const nextId = (at: number) => idAt(at, parseId(EVENT, newId(EVENT, at)).subarray(6))

type Card = Pick<Event, 'account_id' | 'watched_id'>

/** A note that is changed again and again is one event, the last, or the history would grow without end. */
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

/** Stores events of one moment, in this order. */
async function noteEvents(
  db: Kysely<Schema>,
  of: Card & Pick<Event, 'at'>,
  events: readonly Event['event'][],
): Promise<void> {
  if (events[0] === 'note_changed') await dropNoteBefore(db, of)
  const rows = events.map((event) => ({ ...of, id: nextId(of.at), event, detail: null }))
  await db.insertInto('trust_events').values(rows).execute()
}

/** Those who were verified, by the entries of a verification log. */
function verifiedIn(entries: readonly LogEntry[], account: string, now: number): Event[] {
  return entries
    .filter(({ outcome }) => outcome === 'verified')
    .flatMap((entry) => {
      // A clock that is ahead must not put it before all that comes.
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

/** Stores the successful checks of a log on the account's trust cards. Stored ones stay as they are. */
async function noteVerified(
  db: Kysely<Schema>,
  account: string,
  entries: readonly LogEntry[],
  now: number,
): Promise<void> {
  // One entry may name a person several times.
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
