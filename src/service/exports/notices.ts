/** The notifications at the end of building an export. */
import type { Subscriber } from '../events.ts'
import { notify } from '../mail/notices.ts'

export const noticeOfExport: Subscriber<'export.ready'> = ({ trx }, event) => {
  const { account, export: id, expires, at } = event
  const note = {
    kind: 'export_ready',
    title: 'Your export is ready',
    body: `It can be downloaded until ${new Date(expires).toISOString().slice(0, 10)}.`,
    data: { export_id: id },
  } as const
  return notify(trx, account, note, at)
}

export const noticeOfFailure: Subscriber<'export.failed'> = ({ trx }, event) => {
  const { account, export: id, reason, at } = event
  const note = {
    kind: 'export_failed',
    title: 'Your export could not be built',
    body: reason,
    data: { export_id: id },
  } as const
  return notify(trx, account, note, at)
}
