/**
 * The operations on members of a connection that need no keys: inviting and withdrawing
 * invitations.
 */
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import { isId } from '../../crypto/encoding/id.ts'
import {
  requireGoingOn,
  requireMember,
  requireOwner,
  holdConnection,
  roleIn,
} from './connection-rows.ts'
import { notFound } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { ENDED, receiversOf } from './invitation-ends.ts'
import {
  INVITATION_PREFIX,
  selectInvitations,
  isOfMailbox,
  isStanding,
  invitationResource,
} from './invitation-rows.ts'
import { invite } from './inviting.ts'
import { inviterIn } from './preset-rows.ts'

export const members = (ground: ServiceContext): Service['members'] => {
  const { events, now } = ground

  return {
    add: ({ id: connection, body }, { account }) =>
      events.transaction(async (trx) => {
        await requireMember(trx, account, connection)
        await holdConnection(trx, connection)
        await requireOwner(trx, account, connection)
        await requireGoingOn(trx, connection)
        const inviter = await inviterIn(trx, account, connection)
        const id = await invite(trx, ground, inviter, body)
        const row = await selectInvitations(trx)
          .where('invitations.id', '=', id)
          .executeTakeFirstOrThrow()
        return invitationResource(row, 'sent', now())
      }),

    remove: async ({ id: connection, mid }, { account }) => {
      await events.transaction(async (trx) => {
        await requireMember(trx, account, connection)
        if (mid === account) throw noDevice('Leaving')
        await holdConnection(trx, connection)
        await requireOwner(trx, account, connection)
        if (!isId('acc_', mid) && !isId(INVITATION_PREFIX, mid)) throw notFound('member')
        if ((await roleIn(trx, connection, mid)) !== null) throw noDevice('Removing a member')
        const at = now()
        const open = await trx
          .selectFrom('invitations')
          .select(ENDED)
          .where('connection_id', '=', connection)
          .where((of) => isStanding(of, at))
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
        const receivers = await receiversOf(trx, open)
        await events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
      })
    },
  }
}

const noDevice = (what: string) =>
  new AppError('no_device', `${what} needs a device’s keys. Do it on a device that is signed in.`)
