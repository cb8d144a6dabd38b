/**
 * First contacts by four words (protocol, section 3a). The server relays three messages between two
 * devices and cannot read them. It learns neither the words nor whether they were right.
 */
import type { Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { MOST_OPEN, WORDS_MS } from '../../api/rest/first-contacts.ts'
import { AppError } from '../../errors.ts'
import { requireGoingOn, lockConnection } from './connection-rows.ts'
import { requireApproved } from '../accounts/device-rows.ts'
import { requireId, deviceOf, notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { type Named, INVITATION_PREFIX, selectInvitations, stateOf } from './invitation-rows.ts'
import { isFor } from './invitations.ts'
import type { Schema } from '../db/schema.ts'

const MESSAGES = ['message_0', 'message_1', 'message_2'] as const

/** Selects the first contacts that have not expired at `at` (Unix milliseconds). */
const openAt = (db: Kysely<Schema>, at: number) =>
  db
    .selectFrom('first_contacts')
    .innerJoin('invitations', 'invitations.id', 'invitation_id')
    .selectAll('first_contacts')
    .select(['connection_id', 'from_account'])
    .where('first_contacts.expires_at', '>', at)

type Row = Awaited<ReturnType<ReturnType<typeof openAt>['executeTakeFirstOrThrow']>>

const runOf = (row: Row) => ({
  invitation: row.invitation_id,
  sid: row.sid,
  connection: row.connection_id,
  inviter: row.from_account,
  invitee: row.invitee_id,
  expires_at: timeAt(row.expires_at),
  messages: MESSAGES.flatMap((name) => row[name] ?? []),
})

/**
 * Returns whether an invited account has begun a first contact for a connection. The account need
 * not be a member yet.
 */
export async function hasBegun(
  db: Kysely<Schema>,
  of: { account: string; connection: string; at: number },
): Promise<boolean> {
  const row = await openAt(db, of.at)
    .where('invitee_id', '=', of.account)
    .where('connection_id', '=', of.connection)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Checks that an account may open another first contact. The first contact of the invitation `id`
 * is not counted.
 * @throws AppError `rate_limited`, with Retry-After
 */
async function requireRoom(
  trx: Transaction<Schema>,
  of: { account: string; id: string; at: number },
) {
  const { open } = await trx
    .selectFrom('first_contacts')
    .innerJoin('invitations', 'invitations.id', 'invitation_id')
    .select(({ fn }) => fn.countAll<number>().as('open'))
    .where('from_account', '=', of.account)
    .where('invitation_id', '!=', of.id)
    .where('first_contacts.expires_at', '>', of.at)
    .executeTakeFirstOrThrow()
  if (Number(open) < MOST_OPEN) return
  throw new AppError(
    'rate_limited',
    `Too many first contacts are open. The limit is ${MOST_OPEN} at once. Try again in 15 minutes.`,
    { headers: { 'Retry-After': String(WORDS_MS / 1000) } },
  )
}

/**
 * Checks that an invitation is pending or approved.
 * @throws AppError `invalid_state`
 */
function requireOpen(row: Named, at: number): void {
  const state = stateOf(row, at)
  if (state === 'pending' || state === 'approved') return
  throw new AppError('invalid_state', `This invitation is ${state}. Invite the person again.`, {
    details: { state },
  })
}

export const deviceFirstContacts = ({
  db,
  now,
}: ServiceContext): Service['deviceFirstContacts'] => {
  /**
   * Returns an open first contact with its connection and inviter.
   * @throws AppError `not_found`
   */
  async function readOf(invitation: string): Promise<Row> {
    requireId(INVITATION_PREFIX, invitation, 'invitation')
    const row = await openAt(db, now()).where('invitation_id', '=', invitation).executeTakeFirst()
    if (row === undefined) throw notFound('first contact')
    return row
  }

  async function requireInvited(account: string, invitation: string): Promise<void> {
    const row = await selectInvitations(db)
      .where('invitations.id', '=', invitation)
      .executeTakeFirst()
    if (row === undefined || !(await isFor(db, account, row))) throw notFound('first contact')
    requireOpen(row, now())
  }

  return {
    open: async ({ body: { invitation, sid } }, session) => {
      const { account } = session
      const device_id = await requireApproved(db, session)
      const at = now()
      const expires_at = at + WORDS_MS
      await db.transaction().execute(async (trx) => {
        const row = await selectInvitations(trx)
          .where('invitations.id', '=', invitation)
          .where('from_account', '=', account)
          .executeTakeFirst()
        if (row === undefined) throw notFound('invitation')
        await lockConnection(trx, row.connection_id)
        await requireGoingOn(trx, row.connection_id)
        requireOpen(row, at)
        await requireRoom(trx, { account, id: invitation, at })
        await trx
          .deleteFrom('first_contacts')
          .where((of) => of.or([of('expires_at', '<=', at), of('invitation_id', '=', invitation)]))
          .execute()
        await trx
          .insertInto('first_contacts')
          .values({ invitation_id: invitation, sid, device_id, expires_at })
          .execute()
      })
      return { expires_at: timeAt(expires_at) }
    },

    list: async (_, session) => {
      const device = deviceOf(session)
      const rows = await openAt(db, now())
        .where((of) => of.or([of('device_id', '=', device), of('invitee_device', '=', device)]))
        .orderBy('invitation_id')
        .execute()
      return { items: rows.map(runOf) }
    },

    read: async ({ invitation }, { account }) => {
      const row = await readOf(invitation)
      await requireInvited(account, invitation)
      return runOf(row)
    },

    send: async ({ invitation, body: { sid, place, message } }, session) => {
      const { account } = session
      const device = await requireApproved(db, session)
      const row = await readOf(invitation)
      if (row.sid !== sid) throw notFound('first contact')
      if (place === 0) await requireInvited(account, invitation)
      else if ((place === 1 ? row.device_id : row.invitee_device) !== device)
        throw notFound('first contact')
      if (row[MESSAGES[place]] === message && (place !== 0 || row.invitee_device === device)) return
      const { numUpdatedRows: sent } = await db
        .updateTable('first_contacts')
        .set({
          [MESSAGES[place]]: message,
          ...(place === 0 ? { invitee_id: account, invitee_device: device } : {}),
        })
        .where('invitation_id', '=', invitation)
        .where('sid', '=', sid)
        .where(MESSAGES[place], 'is', null)
        .$if(place > 0, (query) => query.where(MESSAGES[place === 2 ? 1 : 0], 'is not', null))
        .executeTakeFirst()
      if (sent !== 1n)
        throw new AppError(
          'conflict',
          'Another message is already stored at this place, or the previous message is missing.',
        )
    },

    end: async ({ invitation }, session) => {
      const device = deviceOf(session)
      await db
        .deleteFrom('first_contacts')
        .where('invitation_id', '=', invitation)
        .where('device_id', '=', device)
        .execute()
    },
  }
}
