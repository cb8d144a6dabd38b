/** Envelopes, each for the one device that can open it. */
import type { Service } from '../api/port.ts'
import { deviceOf } from './faults.ts'
import type { Ground } from './ground.ts'
import { demandMember } from './rosters.ts'

export const envelopes = ({ db }: Ground): Service['envelopes'] => ({
  read: async ({ connection }, session) => {
    const device = deviceOf(session)
    await demandMember(db, session.account, connection)
    const rows = await db
      .selectFrom('envelopes')
      .innerJoin('devices', 'devices.id', 'recipient')
      .select('envelope')
      .where('connection_id', '=', connection)
      .where('recipient', '=', device)
      // A newcomer in the key log gets what is sealed to it once it has compared that log.
      .where('approved_at', 'is not', null)
      .orderBy('epoch')
      .execute()
    return { envelopes: rows.map((row) => row.envelope) }
  },
})
