/** Envelopes. Each can be opened by one device only. */
import type { Service } from '../../api/port.ts'
import { accountsInRoster } from '../../crypto/logs/roster.ts'
import {
  CONNECTION_PREFIX,
  requireMember,
  holdConnection,
  touchConnection,
} from './connection-rows.ts'
import { requireApproved, holdApproved } from '../accounts/device-rows.ts'
import { addressed, storeEnvelopes } from './envelope-rows.ts'
import { requireId, deviceOf, judged } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { keyLogsOf, withoutDeletedMembers, rosterEntries } from './roster-rows.ts'
import { storedRoster } from '../accounts/stored-logs.ts'

export const envelopes = ({ db, now }: ServiceContext): Service['envelopes'] => ({
  read: async ({ connection }, session) => {
    const device = deviceOf(session)
    await requireMember(db, session.account, connection)
    const rows = await db
      .selectFrom('envelopes')
      .innerJoin('devices', 'devices.id', 'recipient')
      .select('envelope')
      .where('connection_id', '=', connection)
      .where('recipient', '=', device)
      // A new device in the key log gets its envelopes after the check of that log.
      .where('approved_at', 'is not', null)
      .orderBy('epoch')
      .execute()
    return { envelopes: rows.map((row) => row.envelope) }
  },

  delete: async ({ connection, epoch }, session) => {
    const device = await requireApproved(db, session)
    await requireMember(db, session.account, connection)
    await db
      .deleteFrom('envelopes')
      .where('connection_id', '=', connection)
      .where('recipient', '=', device)
      .where('epoch', '=', epoch)
      .execute()
  },

  add: async ({ connection, body }, session) => {
    requireId(CONNECTION_PREFIX, connection, 'connection')
    const { account } = session
    const sender = { account, device: await requireApproved(db, session) }
    return db.transaction().execute(async (trx) => {
      await holdApproved(trx, session)
      await holdConnection(trx, connection)
      await requireMember(trx, account, connection)
      const entries = await rosterEntries(trx, connection)
      const keyLogs = await keyLogsOf(trx, connection, accountsInRoster(entries))
      const roster = await storedRoster(connection, { entries, keyLogs })
      const there = await withoutDeletedMembers(trx, roster)
      const all = judged('envelopes', () =>
        addressed(body.envelopes, { sender, roster: there, keyLogs, newest: roster.head }),
      )
      const kept = await storeEnvelopes(trx, { roster, sender: sender.device }, all)
      const owners = [...new Set(kept.map((one) => one.account))]
      if (owners.length > 0) await touchConnection(trx, connection, now(), owners)
      return { stored: kept.length }
    })
  },
})
