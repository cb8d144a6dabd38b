/**
 * Reports given-up webhooks to the account server, which notifies the user. A report that fails is
 * repeated after the next sync.
 */
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import { toAppError } from '../errors.ts'
import type { WebhookRow } from '../state/webhooks.ts'
import type { DeliveryContext, Deliveries } from './deliveries.ts'

/** The account server, as far as it stores reports. */
export type WebhookNotifier = Pick<Account, 'webhookNotices'>

/** The wait before a server that is too old for reports is asked again, in milliseconds. */
const OLD_MS = 3_600_000
/** The greatest length of a name in a report. */
const LONGEST = 255

/** Returns a function that reports the webhooks that were given up. It never throws. */
export function newReports(
  { rows, timers, log, stopping }: DeliveryContext,
  { standing }: Pick<Deliveries, 'standing'>,
): (account: WebhookNotifier) => Promise<void> {
  let oldUntil = 0

  async function report(
    account: WebhookNotifier,
    row: WebhookRow,
    event_id: string,
  ): Promise<void> {
    const settings = standing(row.id)
    if (settings === null) return
    const { id, name, failing_since } = row
    // Paths and queries of URLs often contain secrets.
    const shown = name ?? new URL(settings.url).host.slice(0, LONGEST)
    const failingSince = timeAt(failing_since ?? timers.now())
    await account.webhookNotices.create({
      body: { webhook_id: id, event_id, name: shown, failing_since: failingSince },
    })
    rows.reported(id, event_id)
  }

  return async (account) => {
    if (timers.now() < oldUntil) return
    try {
      for (const row of rows.all())
        if (row.unreported !== null) await report(account, row, row.unreported)
    } catch (cause) {
      if (stopping.aborted) return
      if (toAppError(cause).code === 'no_such_route') oldUntil = timers.now() + OLD_MS
      log('warn', 'could not report a given-up webhook', { cause })
    }
  }
}
