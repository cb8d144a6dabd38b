/** Envelopes, each for the one device that can open it. */
import type { Service } from '../api/port.ts'
import type { Ground } from './ground.ts'
import { demandMember } from './rosters.ts'

export const envelopes = ({ db }: Ground): Service['envelopes'] => ({
  read: async ({ connection }, { account, device }) => {
    await demandMember(db, account, connection)
    const rows = await db
      .selectFrom('envelopes')
      .select('envelope')
      .where('connection_id', '=', connection)
      .where('recipient', '=', device)
      .orderBy('epoch')
      .execute()
    return { envelopes: rows.map((row) => row.envelope) }
  },
})
