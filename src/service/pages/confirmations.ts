/**
 * The pages of mailed links. The user of a link confirms the mailbox to which it was sent. Mail
 * scanners open links too, so opening the page changes nothing; a button confirms. The page of an
 * unknown, used or expired link is always the same.
 */
import type { Open } from '../../api/port.ts'
import { tokenHash } from '../accounts/confirmation-links.ts'
import { confirmClaim, findClaim } from '../accounts/email-claims.ts'
import type { ServiceContext } from '../context.ts'
import { confirmAsk, findAsk } from '../links/open-link-confirmations.ts'
import { confirmPage, confirmedPage, endedPage } from './confirm-page.ts'

export const confirmationPages = (ground: ServiceContext): Open['confirmationPages'] => {
  const { db, now } = ground
  return {
    read: async ({ token }) => {
      const of = tokenHash(token)
      const said = (await findAsk(db, of, now())) ?? (await findClaim(db, of, now()))
      if (said === null) return endedPage()
      return said.settled === true ? confirmedPage(said) : confirmPage({ ...said, token })
    },

    confirm: async ({ token }) => {
      const of = tokenHash(token)
      const said = (await confirmAsk(ground, of)) ?? (await confirmClaim(ground, of))
      return said === null ? endedPage() : confirmedPage(said)
    },
  }
}
