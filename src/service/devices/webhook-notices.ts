/** What devices report about their webhooks. */
import type { Service } from '../../api/port.ts'
import { holdApproved } from '../accounts/device-rows.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTryIn } from '../db/attempts.ts'
import { deviceOf } from '../db/faults.ts'
import { hasNote } from '../mail/notices.ts'

const REPORTED: Brake = {
  what: 'webhook notice',
  most: 100,
  periodMs: 24 * 3_600_000,
  message: 'Too many given-up webhooks were reported. The limit is 100 a day.',
}

export const webhookNotices = ({
  events,
  now,
}: Pick<ServiceContext, 'events' | 'now'>): Service['webhookNotices'] => ({
  /** Notifies the account. A device that lost the response sends the same report again. */
  create: async ({ body: { webhook_id, event_id, name, failing_since } }, session) =>
    events.transaction(async (trx) => {
      await holdApproved(trx, session)
      const { account } = session
      if (await hasNote(trx, account, 'webhook_given_up', { event_id })) return
      const at = now()
      await countTryIn(trx, account, REPORTED, at)
      await events.publish(trx, {
        type: 'webhook.given_up',
        account,
        device: deviceOf(session),
        webhook: webhook_id,
        event: event_id,
        name,
        since: Date.parse(failing_since),
        at,
      })
    }),
})
