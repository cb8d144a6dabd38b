/** Members of a connection, as far as that takes no keys: inviting, and taking invitations back. */
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import { isId } from '../../crypto/encoding/id.ts'
import {
  demandGoingOn,
  demandMember,
  demandOwner,
  holdConnection,
  roleIn,
} from './connection-rows.ts'
import { notFound } from '../db/faults.ts'
import type { Ground } from '../context.ts'
import { ENDED, notifyEnds, withdrawalsOf } from './invitation-ends.ts'
import { PREFIX, invitations, isOfMailbox, isStanding, resource } from './invitation-rows.ts'
import { sendAll } from './invitation-letters.ts'
import { invite } from './inviting.ts'
import { inviterIn } from './preset-rows.ts'

export const members = (ground: Ground): Service['members'] => {
  const { db, now } = ground

  return {
    add: async ({ id: connection, body }, { account }) => {
      const { letter, made } = await db.transaction().execute(async (trx) => {
        await demandMember(trx, account, connection)
        await holdConnection(trx, connection)
        await demandOwner(trx, account, connection)
        await demandGoingOn(trx, connection)
        const inviter = await inviterIn(trx, account, connection)
        const { id, letter } = await invite(trx, ground, inviter, body)
        const row = await invitations(trx)
          .where('invitations.id', '=', id)
          .executeTakeFirstOrThrow()
        return { letter, made: resource(row, 'sent', now()) }
      })
      // It is kept already: a relay that is away must not say otherwise.
      if (letter !== null) ground.background.run(() => sendAll(ground.mail, [letter]))
      return made
    },

    remove: async ({ id: connection, mid }, { account }) => {
      await db.transaction().execute(async (trx) => {
        await demandMember(trx, account, connection)
        if (mid === account) throw noDevice('Leaving')
        await holdConnection(trx, connection)
        await demandOwner(trx, account, connection)
        if (!isId('acc_', mid) && !isId(PREFIX, mid)) throw notFound('member')
        if ((await roleIn(trx, connection, mid)) !== null) throw noDevice('Removing a member')
        const at = now()
        const open = await trx
          .selectFrom('invitations')
          .select(ENDED)
          .where('connection_id', '=', connection)
          .where((of) => isStanding(of, at))
          .where((of) =>
            isId(PREFIX, mid) ? isOfMailbox(of, connection, mid) : of('to_account', '=', mid),
          )
          .execute()
        if (open.length === 0) throw notFound('member')
        const ids = open.map(({ id }) => id)
        await trx
          .updateTable('invitations')
          .set({ state: 'withdrawn', consent: 0 })
          .where('id', 'in', ids)
          .execute()
        await notifyEnds(trx, await withdrawalsOf(trx, open), at)
      })
    },
  }
}

const noDevice = (what: string) =>
  new AppError('no_device', `${what} takes the keys of a device: do it where one is signed in.`)
