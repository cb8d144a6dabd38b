/** Feedback of users to the operator: stored, and mailed to the operator. */
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { primaryAddress } from './account-record.ts'
import type { ServiceContext } from '../context.ts'
import { feedbackMessage } from '../mail/messages-from-others.ts'
import { keepNewest } from '../db/newest.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'

const SENT: Brake = {
  what: 'feedback',
  most: 20,
  periodMs: 3_600_000,
  told: 'This is much feedback for one hour. Thank you.',
}

/** The number of newest messages that are kept per account. */
const MOST = 500

export const feedback = (ground: ServiceContext): Service['feedback'] => ({
  async send({ body: { message, category = null } }, { account }) {
    const { db, mail, background, operator: to, publicUrl, version, now } = ground
    const at = now()
    const id = newId('fdb_', at)
    const from = await db.transaction().execute(async (trx) => {
      await countTryIn(trx, account, SENT, at)
      const row = { id, account_id: account, message, category, created_at: at }
      await trx.insertInto('feedback').values(row).execute()
      await keepNewest(trx, 'feedback', account, MOST)
      return primaryAddress(trx, account)
    })
    const letter = { to, from, account, message, category, version, publicUrl: publicUrl() }
    background.run(() => mail.send(feedbackMessage(letter)))
    return { id, message, category, created_at: timeAt(at) }
  },
})
