/**
 * The pages at mailed links. The user of a link confirms the mailbox to which the link was sent.
 * Mail scanners open links too, so opening the page changes nothing; only its button confirms. The
 * page for an unknown, used or expired link is always the same.
 */
import type { Open } from '../../api/port.ts'
import type { Content } from '../../api/route.ts'
import {
  confirmClaim,
  findClaim,
  type ConfirmationText,
  tokenHash,
} from '../accounts/email-claims.ts'
import type { ServiceContext } from '../context.ts'
import { confirmAsk, findAsk } from '../links/open-link-asks.ts'
import { document, html, type Html } from './document.ts'

const paragraphs = (text: string): Html[] =>
  text.split('\n\n').map((part) => html`<p class="said">${part}</p>`)

const page = (of: { title: string; main: Html; status?: number }): Content =>
  document({
    ...of,
    main: html`<main class="page narrow">
      <p class="eyebrow">Mailbox</p>
      <h1>${of.title}</h1>
      ${of.main}
    </main>`,
    form: true,
  })

/** Returns the page that shows what the link with this token confirms. */
const confirmPage = ({ title, text, token }: ConfirmationText & { token: string }): Content =>
  page({
    title,
    main: html`<form class="card" method="post" action="/confirm/${token}">
      ${paragraphs(text)}
      <p><button type="submit">Confirm</button></p>
    </form>`,
  })

/** Returns the page after a confirmation. */
const confirmedPage = ({ title, text }: ConfirmationText): Content =>
  page({ title, main: html`<section class="card">${paragraphs(text)}</section>` })

/** Returns the page for an unknown, used or expired link: status 404, always the same. */
const endedPage = (): Content =>
  page({
    title: 'This link is no longer valid',
    status: 404,
    main: html`<section class="card">
      <p>
        The link was already used, or it has expired. If you confirmed something with it, the
        confirmation is still valid. Otherwise repeat the step for which you got the mail, and use
        the link in the newest mail.
      </p>
    </section>`,
  })

export const confirmationPages = (ground: ServiceContext): Open['confirmationPages'] => {
  const { db, now } = ground
  return {
    read: async ({ token }) => {
      const of = tokenHash(token)
      const link = (await findAsk(db, of, now())) ?? (await findClaim(db, of, now()))
      if (link === null) return endedPage()
      return link.settled === true ? confirmedPage(link) : confirmPage({ ...link, token })
    },

    confirm: async ({ token }) => {
      const of = tokenHash(token)
      const confirmed = (await confirmAsk(ground, of)) ?? (await confirmClaim(ground, of))
      return confirmed === null ? endedPage() : confirmedPage(confirmed)
    },
  }
}
