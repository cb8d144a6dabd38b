/** The letters to owners of open links about new requests, and their limit. */
import { acceptsMail, primaryAddress } from '../accounts/account-record.ts'
import { type Allowance, takePlace } from '../accounts/mail-allowance.ts'
import { readerOf } from '../accounts/readers.ts'
import type { ServiceContext } from '../context.ts'
import type { Subscriber } from '../events.ts'
import { newRequestMessage } from '../mail/messages-from-others.ts'

/**
 * The limit for letters to one mailbox, for all its open links together. Strangers cause the
 * requests. A letter contains the number of requests that wait, so no letter is needed for each.
 */
const LETTERS: Allowance = { what: 'open link request', most: 1, periodMs: 3_600_000 }

/** Mails the owner of an open link about a new request, at most once an hour. */
export const letterOfRequest =
  ({ publicUrl }: Pick<ServiceContext, 'publicUrl'>): Subscriber<'open_link.requested'> =>
  async ({ trx, send }, { account, link, name, email, at }) => {
    const to = await primaryAddress(trx, account)
    if (to === null || !(await acceptsMail(trx, account))) return
    if (!(await takePlace(trx, LETTERS, to, at))) return
    const { title } = await trx
      .selectFrom('open_links')
      .select('title')
      .where('id', '=', link)
      .executeTakeFirstOrThrow()
    const { count } = await trx
      .selectFrom('open_link_requests')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('account_id', '=', account)
      .where('state', '=', 'pending')
      .executeTakeFirstOrThrow()
    const waiting = Number(count)
    const reader = await readerOf(trx, account)
    send(newRequestMessage({ to, reader, name, email, title, waiting, publicUrl: publicUrl() }))
  }
