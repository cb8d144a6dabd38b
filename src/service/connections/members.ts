/**
 * The operations on a connection's members that need no device keys: sending and withdrawing
 * invitations. The responses do not reveal whether a mailbox has an account. So one person may be
 * invited twice, by account and by mailbox, and can approve either invitation.
 */
import type { Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import type { Invitee } from '../../api/rest/connections.ts'
import { isId, newId } from '../../crypto/encoding/id.ts'
import { MOST_MEMBERS } from '../../crypto/logs/limits.ts'
import { AppError } from '../../errors.ts'
import { accountAt } from '../accounts/account-record.ts'
import { markInvitationsNamed } from '../accounts/invitation-marks.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import { justDeleted, notFound } from '../db/faults.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import type { InvitationTarget, Inviter } from '../events.ts'
import {
  lockConnection,
  requireGoingOn,
  requireMember,
  requireOwner,
  roleIn,
} from './connection-rows.ts'
import { ENDED, receiversOf } from './invitation-ends.ts'
import {
  askAgain,
  INVITATION_PREFIX,
  invitationResource,
  invitedIn,
  isLeftBehind,
  isOfMailbox,
  occupiesPlace,
  selectInvitations,
  type OccupyingInvitation,
  occupyingInvitations,
} from './invitation-rows.ts'
import { inviterIn } from './presets.ts'

/**
 * The limit for sent invitations, including those to connections that were deleted since. It is the
 * maximum number of members of a connection.
 */
const SENT: Brake = {
  what: 'invitation',
  most: MOST_MEMBERS,
  periodMs: 3_600_000,
  message: `Too many people were invited. The limit is ${MOST_MEMBERS} an hour.`,
}

const STATES = {
  self: 'This is your own account.',
  member: 'This account is already a member of the connection.',
  invited: 'Another owner has already invited this person. Wait for the answer of the person.',
  full: `This connection already has ${MOST_MEMBERS} members, including invited ones, which is the limit.`,
} as const

const refused = (state: keyof typeof STATES) =>
  new AppError('invalid_state', STATES[state], { details: { state } })

const targetOf = (invitee: Invitee): InvitationTarget =>
  'email' in invitee
    ? { account: null, email: invitee.email.toLowerCase() }
    : { account: invitee.user_id, email: null }

/**
 * Checks that the invited account exists and is not the inviter's own.
 * @throws AppError `not_found`, `invalid_state`
 */
async function requireOther(
  trx: Transaction<Schema>,
  by: Inviter,
  { account, email }: InvitationTarget,
) {
  const own = account ?? (await accountAt(trx, email!))
  if (own === by.account) throw refused('self')
  if (account === null) return
  const row = await trx
    .selectFrom('accounts')
    .select('id')
    .where('id', '=', account)
    .executeTakeFirst()
  if (row === undefined) throw notFound('account')
}

/**
 * Checks that the invited account is not a member. If a mailbox is invited, its account is
 * considered only if it approved an invitation to that mailbox, because only then do members know
 * it.
 * @throws AppError `invalid_state`
 */
async function requireNoMember(
  trx: Transaction<Schema>,
  { connection }: Inviter,
  target: InvitationTarget,
) {
  const { account, email } = target
  if (account !== null) {
    if ((await roleIn(trx, connection, account)) !== null) throw refused('member')
    return
  }
  const row = await trx
    .selectFrom('invitations')
    .innerJoin('memberships', (join) =>
      join
        .onRef('memberships.connection_id', '=', 'invitations.connection_id')
        .onRef('memberships.account_id', '=', 'to_account'),
    )
    .select('id')
    .where('invitations.connection_id', '=', connection)
    .where('to_email', '=', email)
    .executeTakeFirst()
  if (row !== undefined) throw refused('member')
}

async function requireRoom(
  trx: Transaction<Schema>,
  { connection }: Inviter,
  invited: readonly OccupyingInvitation[],
) {
  const { members } = await trx
    .selectFrom('memberships')
    .select(({ fn }) => fn.countAll<number>().as('members'))
    .where('connection_id', '=', connection)
    .executeTakeFirstOrThrow()
  if (Number(members) + invitedIn(invited).length >= MOST_MEMBERS) throw refused('full')
}

/**
 * Invites an account or a mailbox in the name of an owner. The caller must have locked the
 * connection. A repeated invitation changes only the message and the expiry. Invitations by several
 * owners need one approval each, because a consent names its inviter.
 * @returns the id of the invitation
 * @throws AppError `not_found` for an account that does not exist, `invalid_state` with a state of
 *   `STATES`, `rate_limited`
 */
export async function invite(
  trx: Transaction<Schema>,
  { events, now }: Pick<ServiceContext, 'events' | 'now'>,
  by: Inviter,
  invitee: Invitee,
): Promise<string> {
  const target = targetOf(invitee)
  const { account, email } = target
  await requireOther(trx, by, target)
  await requireNoMember(trx, by, target)
  const at = now()
  const all = await occupyingInvitations(trx, [by.connection], at).execute()
  const same = all.filter((one) =>
    email === null ? one.to_account === account && one.to_email === null : one.to_email === email,
  )
  const own = same.find((one) => one.from_account === by.account)
  const { message } = by
  const expires_at = at + by.goodForMs
  if (own !== undefined) {
    await askAgain(trx, own, { message, expires_at })
    await markInvitationsNamed(trx, [own])
    // No letter was sent for an invitation that was disabled, so it is sent now.
    if (isLeftBehind(own))
      await events.publish(trx, { type: 'invitation.sent', invitation: own.id, by, target, at })
    return own.id
  }
  if (same.some(({ state }) => state === 'pending')) throw refused('invited')
  // `requireRoom` already counts an account that another owner has invited.
  const isWaiting = all.some((one) => account !== null && one.to_account === account)
  if (!isWaiting && same.length === 0) await requireRoom(trx, by, all)
  const id = newId(INVITATION_PREFIX, at)
  await countTryIn(trx, by.account, SENT, at)
  await trx
    .insertInto('invitations')
    .values({
      id,
      connection_id: by.connection,
      connection_name: by.name,
      from_account: by.account,
      to_account: account,
      to_email: email,
      state: 'pending',
      consent: 0,
      consent_jws: null,
      message,
      created_at: at,
      expires_at,
    })
    .execute()
  // The invitation may be to a connection that replaces another one of the account.
  if (account !== null) markChanged(trx, ['duties'], { accounts: [account] })
  await markInvitationsNamed(trx, [{ id }])
  await events.publish(trx, { type: 'invitation.sent', invitation: id, by, target, at })
  return id
}

export const members = (ground: ServiceContext): Service['members'] => {
  const { events, now } = ground

  return {
    add: ({ id: connection, body }, { account }) =>
      events.transaction(async (trx) => {
        await requireMember(trx, account, connection)
        await lockConnection(trx, connection)
        await requireOwner(trx, account, connection)
        await requireGoingOn(trx, connection)
        const inviter = await inviterIn(trx, account, connection)
        const id = await invite(trx, ground, inviter, body)
        const row = await selectInvitations(trx)
          .where('invitations.id', '=', id)
          // The invited account can be deleted between the two statements, with its invitations.
          .executeTakeFirstOrThrow(() => justDeleted())
        return invitationResource(row, 'sent', now())
      }),

    remove: async ({ id: connection, mid }, { account }) => {
      await events.transaction(async (trx) => {
        await requireMember(trx, account, connection)
        if (mid === account) throw noDevice('Leaving')
        await lockConnection(trx, connection)
        await requireOwner(trx, account, connection)
        if (!isId('acc_', mid) && !isId(INVITATION_PREFIX, mid)) throw notFound('member')
        if ((await roleIn(trx, connection, mid)) !== null) throw noDevice('Removing a member')
        const at = now()
        const open = await trx
          .selectFrom('invitations')
          .select(ENDED)
          .where('connection_id', '=', connection)
          .where((of) => occupiesPlace(of, at))
          .where((of) =>
            isId(INVITATION_PREFIX, mid)
              ? isOfMailbox(of, connection, mid)
              : of('to_account', '=', mid),
          )
          .execute()
        if (open.length === 0) throw notFound('member')
        const ids = open.map(({ id }) => id)
        await trx
          .updateTable('invitations')
          .set({ state: 'withdrawn', consent: 0 })
          .where('id', 'in', ids)
          .execute()
        await markInvitationsNamed(trx, open)
        const receivers = await receiversOf(trx, open)
        await events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
      })
    },
  }
}

const noDevice = (what: string) =>
  new AppError('no_device', `${what} needs a device’s keys. Use a device that is signed in.`)
