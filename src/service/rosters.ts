/**
 * Rosters and the envelopes that come with them. The server checks what it can: that the entry is a valid first one, signed by
 * the device that brings it, and that each envelope is addressed as the entry says. What is inside an envelope it cannot see,
 * and members check all of it again.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../api/port.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import { thumbprint } from '../crypto/jwk.ts'
import { parseJws } from '../crypto/jws.ts'
import { signerAt, verifyKeyLog, verifySignedBy, type KeyLog } from '../crypto/key-log.ts'
import { demand } from '../crypto/refusal.ts'
import { verifyRoster, type Roster } from '../crypto/roster.ts'
import { AppError } from '../errors.ts'
import { readConnection } from './connections.ts'
import { demandApproved, holdApproved } from './device-rows.ts'
import { demandId, judged, notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import { readKeyLog } from './key-logs.ts'
import type { Schema } from './schema.ts'

/** The device that asks, and whose it is. */
interface Opener {
  readonly account: string
  readonly device: string
}
type Body = Parameters<Service['rosters']['open']>[0]['body']
interface Addressed {
  readonly recipient: string
  readonly envelope: string
}

export const rosters = ({ db, now }: Ground): Service['rosters'] => ({
  open: async ({ body }, session) => {
    const { account } = session
    const opener = { account, device: await demandApproved(db, session) }
    const { entries } = await readKeyLog(db, account)
    const keyLog = verifyKeyLog(account, entries)
    const roster = judged('entry', () => opened(body, opener, keyLog))
    const envelopes = judged('envelopes', () => addressed(body.envelopes, opener, roster, keyLog))
    await db.transaction().execute(async (trx) => {
      await holdApproved(trx, session)
      const at = now()
      const made = await trx
        .insertInto('connections')
        .values({ id: body.connection, epoch: roster.epoch, created_at: at })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst()
      if (made.numInsertedOrUpdatedRows === 1n) await store(trx, opener, body, envelopes, at)
      else await demandSame(trx, body)
    })
    return readConnection(db, account, body.connection)
  },

  read: async ({ connection }, { account }) => {
    await demandMember(db, account, connection)
    const rows = await db
      .selectFrom('roster_entries')
      .select('entry')
      .where('connection_id', '=', connection)
      .orderBy('seq')
      .execute()
    return { entries: rows.map((row) => row.entry) }
  },
})

/** Throws AppError `not_found` unless the account is in the connection. */
export async function demandMember(db: Kysely<Schema>, account: string, connection: string) {
  demandId('con_', connection, 'connection')
  const row = await db
    .selectFrom('memberships')
    .select('account_id')
    .where('account_id', '=', account)
    .where('connection_id', '=', connection)
    .executeTakeFirst()
  if (row === undefined) throw notFound('connection')
}

/** The roster of one entry, made by the device of this session. Throws Refusal. */
function opened({ connection, entry }: Body, { device }: Opener, keyLog: KeyLog): Roster {
  const roster = verifyRoster(connection, [entry], new Map([[keyLog.account, keyLog]]))
  const signer = signerAt(keyLog, device, keyLog.seq)
  demand(
    parseJws(entry, 'roster+jws').kid === signer.kid,
    'unknown_signer',
    'signed by another device',
  )
  return roster
}

/** Whom each envelope is for: a device of the account at most once. Throws Refusal. */
function addressed(
  envelopes: readonly string[],
  { device }: Opener,
  roster: Roster,
  keyLog: KeyLog,
): Addressed[] {
  const list = envelopes.map((envelope): Addressed => {
    const jws = parseJws(envelope, 'envelope+jws')
    const of = (name: string) => jws.payload.get(name)
    demand(of('connection') === roster.connection, 'wrong_connection', 'of another connection')
    demand(of('epoch') === roster.epoch, 'unknown_epoch', 'sealed for another epoch')
    const head = encodeBase64url(roster.epochHead)
    demand(of('epoch_head') === head, 'wrong_epoch_head', 'the epoch was opened by another entry')
    demand(of('sender') === device, 'unknown_signer', 'sealed by another device')
    verifySignedBy(signerAt(keyLog, device, keyLog.seq), jws)
    const recipient = keyLog.active.find(({ id }) => id === of('recipient'))
    demand(recipient !== undefined, 'wrong_recipient', 'sealed to no device of this account')
    const kid = thumbprint(recipient.keys.seal)
    demand(of('recipient_kid') === kid, 'wrong_recipient_kid', 'sealed to another key')
    return { recipient: recipient.id, envelope }
  })
  const distinct = new Set(list.map(({ recipient }) => recipient)).size === list.length
  demand(distinct, 'duplicate_device', 'two envelopes for one device')
  return list
}

async function store(
  trx: Transaction<Schema>,
  { account }: Opener,
  { connection, name, entry }: Body,
  envelopes: readonly Addressed[],
  at: number,
) {
  const of = { connection_id: connection }
  await trx
    .insertInto('memberships')
    .values({ ...of, account_id: account, role: 'owner', name, favorite: 0, updated_at: at })
    .execute()
  await trx
    .insertInto('roster_entries')
    .values({ ...of, seq: 0, entry })
    .execute()
  await trx
    .insertInto('envelopes')
    .values(envelopes.map((one) => ({ ...of, epoch: 1, ...one })))
    .execute()
}

/** A device that did not hear the answer asks again with the same entry; any other entry comes too late. */
async function demandSame(trx: Transaction<Schema>, { connection, entry }: Body) {
  const first = await trx
    .selectFrom('roster_entries')
    .select('entry')
    .where('connection_id', '=', connection)
    .where('seq', '=', 0)
    .executeTakeFirst()
  // The entry names and is signed by its account, so the same entry is the same account's.
  if (first?.entry !== entry)
    throw new AppError('conflict', 'This connection was opened by another entry: make a new one.')
}
