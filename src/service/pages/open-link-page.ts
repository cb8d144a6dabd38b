/**
 * The page of an open link: a form to ask for a connection with the link's owner. It has no script.
 * If the input is invalid, the server returns the form again with the errors. A slug that was never
 * used and a slug that is no longer used get the same response.
 */
import { safeParse } from 'valibot'
import { email, name, text } from '../../api/fields.ts'
import type { Open } from '../../api/port.ts'
import type { Content } from '../../api/route.ts'
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { type Language, languageOf, messageText } from '../../languages/languages.ts'
import type { ServiceContext } from '../context.ts'
import { ask, type Asked, findLink } from '../links/open-link-asks.ts'
import { document, html, type Html, messageHtml, personName } from './document.ts'

/** The link, with the texts that its owner chose. */
interface OpenLinkPage {
  readonly slug: string
  readonly title: string
  readonly owner: string
  readonly headline: string | null
  /** The base URL of this server. */
  readonly server: string
  readonly language: Language
}

/** The contents of the fields. */
interface Values {
  readonly display_name: string
  readonly email: string
  readonly message: string
}

type Field = keyof Values

/** The errors of fields, by name. */
type Faults = { readonly [F in Field]?: string }

const FIELDS: readonly Field[] = ['display_name', 'email', 'message']
const EMPTY: Values = { display_name: '', email: '', message: '' }

const RETRY_AFTER_S = 3600

const page = (of: {
  title: string
  heading: Html
  main: Html
  status?: number
  server: string
  language: Language
}): Content => {
  const { title, heading, main, ...rest } = of
  const whole = html`<main class="page">
    <p class="eyebrow">${of.language.messages.openLink.eyebrow}</p>
    <h1>${heading}</h1>
    ${main}
  </main>`
  return document({ ...rest, title, main: whole, form: true })
}

const headed = (
  { server, language, ...link }: OpenLinkPage,
  of: { heading?: string; main: Html; status?: number },
): Content => {
  const { heading, ...rest } = of
  const title = displayedName(link.title)
  const { headed: template } = language.messages.openLink
  const whole = heading === undefined ? title : messageText(language, template, { heading, title })
  return page({ ...rest, language, server, title: whole, heading: html`<bdi>${title}</bdi>` })
}

/** The longest headline of a profile, in code points. */
const LONGEST_HEADLINE = 200

function rule({ language, owner, headline }: OpenLinkPage): Html {
  const { openLink: texts } = language.messages
  return html`<p class="rule">
    <strong>${messageHtml(language, texts.rule, { owner: personName(owner) })}</strong>
    ${headline === null ? '' : html`<span class="headline"><bdi>${displayedName(headline, LONGEST_HEADLINE)}</bdi></span>`}
    ${texts.caution}
  </p>`
}

/**
 * Returns a field's attributes and its error text. The attributes refer to the text, for screen
 * readers.
 */
function attributes(field: Field, faults: Faults): { marks: Html; fault: Html } {
  const hint = field === 'email' ? 'email-hint' : ''
  const fault = faults[field]
  const described = [fault === undefined ? '' : `${field}-fault`, hint].filter((id) => id !== '')
  const describedBy =
    described.length === 0 ? html`` : html` aria-describedby="${described.join(' ')}"`
  if (fault === undefined) return { marks: describedBy, fault: html`` }
  const isFirst = FIELDS.find((each) => faults[each] !== undefined) === field
  return {
    marks: html`${describedBy} aria-invalid="true" ${isFirst ? 'autofocus' : ''}`,
    fault: html`<p class="fault" id="${field}-fault">${fault}</p>`,
  }
}

/**
 * Returns the form. If `again` is given, the status is 422, and the form contains the submitted
 * values (unchanged, but escaped) and the errors beside their fields.
 */
function formPage(
  link: OpenLinkPage,
  again: { values: Values; faults: Faults } | null = null,
): Content {
  const { values, faults } = again ?? { values: EMPTY, faults: {} }
  const { language } = link
  const { openLink: texts } = language.messages
  const [name, email, message] = FIELDS.map((field) => attributes(field, faults))
  const main = html`${rule(link)}
    <form class="card" method="post" action="/o/${link.slug}">
      ${again === null ? html`` : html`<p class="verdict" data-kind="bad">${texts.faulty}</p>`}
      <div class="entry">
        <label for="display_name">${texts.name}</label>
        ${name!.fault}
        <input
          id="display_name"
          name="display_name"
          type="text"
          value="${values.display_name}"
          maxlength="100"
          required
          dir="auto"
          autocomplete="name"
          ${name!.marks}
        />
      </div>
      <div class="entry">
        <label for="email">${texts.email}</label>
        <p class="hint" id="email-hint">${texts.emailHint}</p>
        ${email!.fault}
        <input
          id="email"
          name="email"
          type="email"
          value="${values.email}"
          maxlength="254"
          required
          autocomplete="email"
          spellcheck="false"
          ${email!.marks}
        />
      </div>
      <div class="entry">
        <label for="message">${texts.message}</label>
        ${message!.fault}
        <textarea
          id="message"
          name="message"
          rows="4"
          maxlength="1000"
          dir="auto"
          ${message!.marks}
        >
${values.message}</textarea>
      </div>
      <p><button type="submit">${texts.send}</button></p>
    </form>
    <section class="card" aria-labelledby="becomes">
      <h2 id="becomes">${texts.becomes}</h2>
      <ol>
        <li>${texts.becomesFirst}</li>
        <li>${messageHtml(language, texts.becomesThen, { owner: personName(link.owner) })}</li>
        <li>${texts.becomesLast}</li>
      </ol>
    </section>`
  return headed(link, again === null ? { main } : { heading: texts.notSent, main, status: 422 })
}

/** Returns the page after a valid form was submitted. It is the same for every mailbox. */
function askedPage(link: OpenLinkPage): Content {
  const { language, owner } = link
  const { openLink: texts } = language.messages
  return headed(link, {
    heading: texts.openMailbox,
    main: html`<section class="result" data-kind="wait">
        <h2>${texts.openMailbox}</h2>
        <p>${messageHtml(language, texts.mailed, { owner: personName(owner) })}</p>
      </section>
      <p class="small">${texts.noMail}</p>`,
  })
}

/** Returns the page of a paused link. `status` must be 409 if a form was submitted. */
function pausedPage(link: OpenLinkPage, status = 200): Content {
  const { language, owner } = link
  const { openLink: texts } = language.messages
  return headed(link, {
    heading: texts.paused,
    status,
    main: html`<section class="result" data-kind="warn">
      <h2>${texts.pausedTitle}</h2>
      <p>${messageHtml(language, texts.pausedText, { owner: personName(owner) })}</p>
    </section>`,
  })
}

/** Returns the page for a link that has too many requests, with status 429. */
function fullPage(link: OpenLinkPage): Content {
  const { openLink: texts } = link.language.messages
  const full = headed(link, {
    heading: texts.full,
    status: 429,
    main: html`<section class="result" data-kind="warn">
      <h2>${texts.fullTitle}</h2>
      <p>${texts.fullText}</p>
    </section>`,
  })
  return { ...full, headers: { ...full.headers, 'Retry-After': String(RETRY_AFTER_S) } }
}

/** Returns the page for an unknown slug, with status 404. It is always the same. */
function unknownPage({ server, language }: Pick<OpenLinkPage, 'server' | 'language'>): Content {
  const { openLink: texts } = language.messages
  return page({
    server,
    language,
    title: texts.unknown,
    heading: html`${texts.unknownTitle}`,
    status: 404,
    main: html`<section class="card"><p>${texts.unknownText}</p></section>`,
  })
}

/** The maximum lengths of fields, in UTF-16 code units. */
const MOST = { display_name: 100, message: 1000 } as const
const NAME = name(MOST.display_name)
const MESSAGE = text(MOST.message)

/**
 * Trims the values and normalises line ends. Browsers submit text with CRLF (HTML, form
 * submission), which must not count as two characters.
 */
const cleaned = (values: Values): Values => ({
  display_name: values.display_name.trim(),
  email: values.email.trim(),
  message: values.message.replaceAll(/\r\n?/g, '\n').trim(),
})

/** Returns the errors of the fields, as texts for the user. */
function faultsIn(language: Language, { display_name, email: address, message }: Values): Faults {
  const { openLink: texts } = language.messages
  const faultOf = (value: string, schema: typeof NAME, most: number): string | undefined => {
    if (safeParse(schema, value).success) return undefined
    return value.length > most
      ? messageText(language, texts.tooLong, { count: most })
      : texts.badCharacters
  }
  const nameFault =
    display_name === '' ? texts.noName : faultOf(display_name, NAME, MOST.display_name)
  const emailFault = safeParse(email, address).success ? undefined : texts.noEmail
  const messageFault = message === '' ? undefined : faultOf(message, MESSAGE, MOST.message)
  return {
    ...(nameFault === undefined ? {} : { display_name: nameFault }),
    ...(emailFault === undefined ? {} : { email: emailFault }),
    ...(messageFault === undefined ? {} : { message: messageFault }),
  }
}

const askedOf = ({ display_name, email: address, message }: Values): Asked => ({
  display_name,
  email: address.toLowerCase(),
  message: message === '' ? null : message,
})

export const openLinkPages = (ground: ServiceContext): Open['openLinkPages'] => ({
  read: async ({ slug }, { languages }) => {
    const frame = { language: languageOf(languages), server: ground.publicUrl() }
    const found = await findLink(ground.db, slug)
    if (found === null) return unknownPage(frame)
    const link = { ...found, ...frame }
    return link.state === 'paused' ? pausedPage(link) : formPage(link)
  },

  ask: async ({ slug, body }, { languages }) => {
    const frame = { language: languageOf(languages), server: ground.publicUrl() }
    const found = await findLink(ground.db, slug)
    if (found === null) return unknownPage(frame)
    const link = { ...found, ...frame }
    if (link.state === 'paused') return pausedPage(link, 409)
    const values = cleaned(body)
    const faults = faultsIn(frame.language, values)
    if (Object.keys(faults).length > 0) return formPage(link, { values, faults })
    switch (await ask(ground, link, askedOf(values), frame.language)) {
      case 'taken':
        return askedPage(link)
      case 'full':
        return fullPage(link)
      case 'paused':
        return pausedPage(link, 409)
      case 'gone':
        return unknownPage(frame)
    }
  },
})
