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
  rejectClaim,
  type ConfirmationText,
  tokenHash,
} from '../accounts/email-claims.ts'
import type { ServiceContext } from '../context.ts'
import { confirmAsk, findAsk, rejectAsk } from '../links/open-link-asks.ts'
import { document, html, type Html } from './document.ts'

type Page = { title: string; main: Html; status?: number; server: string }

const page = (of: Page): Content =>
  document({
    ...of,
    main: html`<main class="page">
      <p class="eyebrow">Mailbox</p>
      <h1>${of.title}</h1>
      ${of.main}
    </main>`,
    form: true,
  })

const factRows = (facts: NonNullable<ConfirmationText['facts']>): Html[] =>
  facts.map(
    ([name, value]) =>
      html`<div>
        <dt>${name}</dt>
        <dd class="said"><bdi>${value}</bdi></dd>
      </div>`,
  )

/** Returns the page that shows what the link with this token confirms. */
const confirmPage = (
  { title, facts = [], text }: ConfirmationText,
  of: { token: string; server: string },
): Content =>
  page({
    title,
    server: of.server,
    main: html`<form class="card" method="post" action="/confirm/${of.token}">
        <dl>${factRows(facts)}</dl>
        <p>${text}</p>
        <p class="answers">
          <button type="submit" name="answer" value="confirm">Confirm</button>
          <button class="quiet" type="submit" name="answer" value="reject">This was not me</button>
        </p>
      </form>
      <p class="small">Until you confirm, nothing happens. You can also just close this page.</p>`,
  })

/** Returns the page after a confirmation. */
const confirmedPage = ({ title, text }: ConfirmationText, server: string): Content =>
  page({
    title,
    server,
    main: html`<section class="card"><p class="said">${text}</p></section>`,
  })

/** Returns the page after a rejection. */
const rejectedPage = (server: string): Content =>
  page({
    title: 'Nothing was confirmed',
    server,
    main: html`<section class="card">
      <p>
        The link in the mail does not work any more. If you get such a mail again, you can ignore
        it: without the mail, nobody can confirm anything for your mailbox.
      </p>
    </section>`,
  })

/** Returns the page for an unknown, used or expired link: status 404, always the same. */
const endedPage = (server: string): Content =>
  page({
    title: 'This link is no longer valid',
    server,
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
  const { db, now, publicUrl } = ground
  return {
    read: async ({ token }) => {
      const [of, server] = [tokenHash(token), publicUrl()]
      const link = (await findAsk(db, of, now())) ?? (await findClaim(db, of, now()))
      if (link === null) return endedPage(server)
      return link.settled === true
        ? confirmedPage(link, server)
        : confirmPage(link, { token, server })
    },

    confirm: async ({ token, body: { answer } }) => {
      const [of, server] = [tokenHash(token), publicUrl()]
      if (answer === 'reject') {
        const rejected = (await rejectAsk(ground, of)) || (await rejectClaim(ground, of))
        return rejected ? rejectedPage(server) : endedPage(server)
      }
      const confirmed = (await confirmAsk(ground, of)) ?? (await confirmClaim(ground, of))
      return confirmed === null ? endedPage(server) : confirmedPage(confirmed, server)
    },
  }
}
