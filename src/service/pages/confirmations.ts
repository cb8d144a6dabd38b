/**
 * The pages at mailed links. The user of a link confirms the mailbox to which the link was sent.
 * Mail scanners open links too, so opening the page changes nothing; only its button confirms. The
 * page for an unknown, used or expired link is always the same.
 */
import type { Open } from '../../api/port.ts'
import type { Content } from '../../api/route.ts'
import { displayedName, displayedText } from '../../crypto/encoding/quoted.ts'
import { type Language, languageOf, messageText } from '../../languages/languages.ts'
import {
  confirmClaim,
  type DisplayedClaim,
  findClaim,
  rejectClaim,
  tokenHash,
} from '../accounts/email-claims.ts'
import type { ServiceContext } from '../context.ts'
import { confirmAsk, type DisplayedAsk, findAsk, rejectAsk } from '../links/open-link-asks.ts'
import { quoted } from '../mail/quoting.ts'
import { document, html, type Html, messageHtml, personName } from './document.ts'

/** The language of the page, and the base URL of this server. */
interface Frame {
  readonly language: Language
  readonly server: string
}

const page = (frame: Frame, of: { title: string; main: Html; status?: number }): Content =>
  document({
    ...frame,
    ...of,
    main: html`<main class="page">
      <p class="eyebrow">${frame.language.messages.confirm.eyebrow}</p>
      <h1>${of.title}</h1>
      ${of.main}
    </main>`,
    form: true,
  })

/** The longest message of a request, in code points. */
const LONGEST_MESSAGE = 1000

/** What a page says: a text, and names with values that other people may have written. */
interface Statement {
  readonly title: string
  readonly facts?: readonly (readonly [name: string, value: string])[]
  readonly text: string | Html
}

/** Returns what the page says about a claim or a request. */
function statementOf(language: Language, of: DisplayedClaim | DisplayedAsk): Statement {
  const { confirm: texts } = language.messages
  switch (of.kind) {
    case 'address': {
      const name = quoted(of.name, language)
      return {
        title: texts.addressTitle,
        facts: [
          [texts.address, of.address],
          [texts.account, of.primary === null ? name : `${name} (${of.primary})`],
        ],
        text: texts.addressText,
      }
    }
    case 'taken':
      return {
        title: texts.takenTitle,
        text: messageText(language, texts.taken, { address: of.address }),
      }
    case 'added':
      return {
        title: texts.addedTitle,
        text: messageText(language, texts.added, { address: of.address }),
      }
    case 'ask':
      return {
        title: texts.askTitle,
        facts: [
          [texts.asked, displayedName(of.owner)],
          [texts.yourName, displayedName(of.name)],
          [texts.yourAddress, of.address],
          ...(of.message === null
            ? []
            : [[texts.yourMessage, displayedText(of.message, LONGEST_MESSAGE)] as const]),
        ],
        text: texts.askText,
      }
    case 'sent': {
      const owner = personName(of.owner)
      return {
        title: texts.sentTitle,
        text: messageHtml(language, texts.sent, { owner, address: of.address }),
      }
    }
  }
}

const factRows = (facts: NonNullable<Statement['facts']>): Html[] =>
  facts.map(
    ([name, value]) =>
      html`<div>
        <dt>${name}</dt>
        <dd class="said"><bdi>${value}</bdi></dd>
      </div>`,
  )

/** Returns the page that shows what the link with this token confirms. */
function confirmPage(frame: Frame, token: string, of: DisplayedClaim | DisplayedAsk): Content {
  const { title, facts = [], text } = statementOf(frame.language, of)
  const { confirm: texts } = frame.language.messages
  return page(frame, {
    title,
    main: html`<form class="card" method="post" action="/confirm/${token}">
        <dl>${factRows(facts)}</dl>
        <p>${text}</p>
        <p class="answers">
          <button type="submit" name="answer" value="confirm">${texts.confirm}</button>
          <button class="quiet" type="submit" name="answer" value="reject">${texts.reject}</button>
        </p>
      </form>
      <p class="small">${texts.untilThen}</p>`,
  })
}

/** Returns the page when nothing is left to confirm. */
function settledPage(frame: Frame, of: DisplayedClaim | DisplayedAsk): Content {
  const { title, text } = statementOf(frame.language, of)
  return page(frame, {
    title,
    main: html`<section class="card"><p class="said">${text}</p></section>`,
  })
}

/** Returns the page after a rejection. */
function rejectedPage(frame: Frame): Content {
  const { confirm: texts } = frame.language.messages
  return page(frame, {
    title: texts.rejectedTitle,
    main: html`<section class="card"><p>${texts.rejected}</p></section>`,
  })
}

/** Returns the page for an unknown, used or expired link: status 404, always the same. */
function endedPage(frame: Frame): Content {
  const { confirm: texts } = frame.language.messages
  return page(frame, {
    title: texts.endedTitle,
    status: 404,
    main: html`<section class="card"><p>${texts.ended}</p></section>`,
  })
}

export const confirmationPages = (ground: ServiceContext): Open['confirmationPages'] => {
  const { db, now, publicUrl } = ground
  return {
    read: async ({ token }, { languages }) => {
      const frame = { language: languageOf(languages), server: publicUrl() }
      const of = tokenHash(token)
      const link = (await findAsk(db, of, now())) ?? (await findClaim(db, of, now()))
      if (link === null) return endedPage(frame)
      return link.kind === 'taken' ? settledPage(frame, link) : confirmPage(frame, token, link)
    },

    confirm: async ({ token, body: { answer } }, { languages }) => {
      const frame = { language: languageOf(languages), server: publicUrl() }
      const of = tokenHash(token)
      if (answer === 'reject') {
        const rejected = (await rejectAsk(ground, of)) || (await rejectClaim(ground, of))
        return rejected ? rejectedPage(frame) : endedPage(frame)
      }
      const confirmed = (await confirmAsk(ground, of)) ?? (await confirmClaim(ground, of))
      return confirmed === null ? endedPage(frame) : settledPage(frame, confirmed)
    },
  }
}
