import type { Subscriber } from '../events.ts'
import { notify } from '../mail/notices.ts'
import { plainName } from '../mail/quoting.ts'

/** Notifies the owner of a guest code that its page was opened for the first time. */
export const noticeOfOpening: Subscriber<'guest_code.opened'> = (
  { trx },
  { account, code, label, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'guest_code_opened',
      title: 'The page of a guest code was opened',
      body: `The page of the guest code ${plainName(label)} was opened for the first time. If your guest cannot have been that, revoke it.`,
      data: { guest_code_id: code },
    },
    at,
  )
