/** The notifications and letters about an account's addresses. */
import type { Subscriber } from '../events.ts'
import { emailAddedMessage } from '../mail/messages.ts'
import { notify } from '../mail/notices.ts'

/** Notifies the account that an address was confirmed. */
export const noticeOfEmail: Subscriber<'email.added'> = (
  { trx },
  { account, email, address, at },
) =>
  notify(
    trx,
    account,
    {
      kind: 'email_added',
      title: 'An address was added to your account',
      body: `${address} was confirmed: a code that is mailed there signs in to your account from now on.`,
      data: { email_id: email },
    },
    at,
  )

/** Writes to the previous primary address, if there is one. */
export const letterOfEmail =
  ({ publicUrl }: { publicUrl: () => string }): Subscriber<'email.added'> =>
  ({ send }, { address, primary }) => {
    if (primary !== null) send(emailAddedMessage({ to: primary, address, publicUrl: publicUrl() }))
  }
