/**
 * The first request of a sync: which parts of an account changed. If none did, the answer takes one
 * query, or none if the marks were read with the session.
 */
import type { Kysely } from 'kysely'
import { partsInAnswer, SYNC_LISTS, SYNC_PARTS, type SyncPart } from '../../api/device/changes.ts'
import { timeAt } from '../../api/fields.ts'
import type { CallerSession, Service } from '../../api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { nextInvitationExpiry } from '../connections/invitation-ends.ts'
import type { ServiceContext } from '../context.ts'
import { compiledOnce } from '../db/compiled.ts'
import type { Schema } from '../db/schema.ts'
import { MARK_BYTES, makeMarks, makeMarksOfLists, type Marks, NO_MARK } from '../db/sync-marks.ts'

/**
 * The age at which the marks of an account are used that were not made with the account, in
 * milliseconds. A transaction that was about to commit when they were made has not marked its
 * changes.
 */
const SETTLED_MS = 3_600_000

/** The state of every part at an earlier answer. */
interface Place {
  readonly marks: ReadonlyMap<SyncPart, number>
  /** When a part of `EXPIRIES` next changes by itself, Unix milliseconds; 0 if it does not. */
  readonly until: ReadonlyMap<SyncPart, number>
}

const NOWHERE: Place = { marks: new Map(), until: new Map() }

/** Returns a place as text: the marks in the order of the parts, and then the times. */
function textOf({ marks, until }: Place): string {
  const numbers = [
    ...SYNC_PARTS.map((part) => marks.get(part)!),
    ...EXPIRING.map((part) => until.get(part)!),
  ]
  const bytes = Buffer.alloc(numbers.length * MARK_BYTES)
  numbers.forEach((number, at) => bytes.writeUIntBE(number, at * MARK_BYTES, MARK_BYTES))
  return encodeBase64url(bytes)
}

/** Returns the place that a text names. An unknown text names a place with other marks. */
function placeOf(text: string): Place {
  let bytes: Buffer
  try {
    bytes = Buffer.from(decodeBase64url(text))
  } catch {
    return NOWHERE
  }
  if (bytes.length !== (SYNC_PARTS.length + EXPIRING.length) * MARK_BYTES) return NOWHERE
  const numberAt = (at: number) => bytes.readUIntBE(at * MARK_BYTES, MARK_BYTES)
  return {
    marks: new Map(SYNC_PARTS.map((part, at) => [part, numberAt(at)])),
    until: new Map(EXPIRING.map((part, at) => [part, numberAt(SYNC_PARTS.length + at)])),
  }
}

/** Returns when the next active guest code expires, Unix milliseconds; 0 if there is none. */
async function nextCodeExpiry(db: Kysely<Schema>, account: string, at: number): Promise<number> {
  const { first } = await db
    .selectFrom('guest_codes')
    .select(({ fn }) => fn.min('expires_at').as('first'))
    .where('account_id', '=', account)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', at)
    .executeTakeFirstOrThrow()
  return first ?? 0
}

/** The parts that also change by time, and how to find out when they next do. */
const EXPIRIES = {
  guest_codes: nextCodeExpiry,
  invitations: nextInvitationExpiry,
} as const satisfies Partial<Record<SyncPart, typeof nextCodeExpiry>>
const EXPIRING = Object.keys(EXPIRIES) as (keyof typeof EXPIRIES)[]

const readMarks = compiledOnce((db, { account }: { account: string }) =>
  db.selectFrom('sync_marks').selectAll().where('account_id', '=', account),
)

/**
 * Returns the marks of an account, with those of all lists; undefined if it has none.
 * @param known the marks, if they were read with the session
 */
async function marksOf(db: Kysely<Schema>, account: string, known?: Marks) {
  const row = known ?? (await readMarks(db, { account }))[0]
  if (row === undefined || SYNC_LISTS.every((list) => row[list] !== NO_MARK)) return row
  await makeMarksOfLists(db, account)
  return (await readMarks(db, { account }))[0]
}

export const changes = ({ db, now }: ServiceContext): Service['changes'] => ({
  read: async (
    { since },
    { account, marks: known }: CallerSession & { readonly marks?: Marks },
  ) => {
    const at = now()
    const row = await marksOf(db, account, known)
    const unnamed = { now: timeAt(at), since: null, ...partsInAnswer(SYNC_PARTS) }
    if (row === undefined) {
      await makeMarks(db, account, at)
      return unnamed
    }
    if (Math.abs(at - row.made_at) < SETTLED_MS) return unnamed
    const before = since === undefined ? NOWHERE : placeOf(since)
    const marks = new Map(SYNC_PARTS.map((part) => [part, row[part]]))
    const isOver = (until = 0) => until !== 0 && until <= at
    const changed = SYNC_PARTS.filter(
      (part) => marks.get(part) !== before.marks.get(part) || isOver(before.until.get(part)),
    )
    const until = new Map(before.until)
    // Read after the marks. An item that is created in between changes the mark, so that the next
    // sync reads the list again.
    for (const part of EXPIRING)
      if (changed.includes(part)) until.set(part, await EXPIRIES[part](db, account, at))
    return { now: timeAt(at), since: textOf({ marks, until }), ...partsInAnswer(changed) }
  },
})
