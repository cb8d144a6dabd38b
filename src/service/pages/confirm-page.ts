/**
 * The pages of a mailed link: its confirmation, the result, and a link that is no longer valid.
 */
import type { Content } from '../../api/route.ts'
import type { Said } from '../accounts/email-claims.ts'
import { document } from './document.ts'
import { html, type Html } from './html.ts'

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
export const confirmPage = ({ title, text, token }: Said & { token: string }): Content =>
  page({
    title,
    main: html`<form class="card" method="post" action="/confirm/${token}">
      ${paragraphs(text)}
      <p><button type="submit">Confirm</button></p>
    </form>`,
  })

/** Returns the page after a confirmation. */
export const confirmedPage = ({ title, text }: Said): Content =>
  page({ title, main: html`<section class="card">${paragraphs(text)}</section>` })

/** Returns the page for an unknown, used or expired link: status 404, always the same. */
export const endedPage = (): Content =>
  page({
    title: 'This link has ended',
    status: 404,
    main: html`<section class="card">
      <p>
        It was used already, or it is too old. If you confirmed something with it before, that still
        holds. Otherwise begin anew where the mail came from, and use the link in the newest mail.
      </p>
    </section>`,
  })
