import type { Subscriber } from '../events.ts'
import { notify } from '../mail/notices.ts'
import { plainName } from '../mail/quoting.ts'

/** Notifies the owner of an open link about a request with a confirmed mailbox. */
export const noticeOfRequest: Subscriber<'open_link.requested'> = (
  { trx },
  { account, link, request, name, email, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'open_link_request',
      title: 'A person asks to connect',
      body: `${plainName(name)} at ${email} came by an open link. The mailbox is proven, but anyone can write any name.`,
      data: { open_link_id: link, open_link_request_id: request },
    },
    at,
  )
