/**
 * The page of an open link: a form to ask for a connection with the link's owner. It has no script.
 * If the input is invalid, the server returns the form again with the errors. A slug that was never
 * used and a slug that is no longer used get the same response.
 */
import { safeParse } from 'valibot'
import { email, name, text } from '../../api/fields.ts'
import type { Open } from '../../api/port.ts'
import type { Content } from '../../api/route.ts'
import type { ServiceContext } from '../context.ts'
import { ask, type Asked, findLink } from '../links/open-link-asks.ts'
import { document, html, type Html, personName } from './document.ts'

/** The link, with the texts that its owner chose. */
interface OpenLinkPage {
  readonly slug: string
  readonly title: string
  readonly owner: string
  readonly headline: string | null
  /** The base URL of this server. */
  readonly server: string
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
}): Content => {
  const { title, heading, main, ...rest } = of
  const whole = html`<main class="page">
    <p class="eyebrow">Open link</p>
    <h1>${heading}</h1>
    ${main}
  </main>`
  return document({ ...rest, title, main: whole, form: true })
}

const headed = (
  { title, server }: OpenLinkPage,
  of: { heading?: string; main: Html; status?: number },
): Content => {
  const { heading, ...rest } = of
  const whole = heading === undefined ? title : `${heading}: ${title}`
  return page({ ...rest, server, title: whole, heading: html`<bdi>${title}</bdi>` })
}

const rule = ({ owner, headline }: OpenLinkPage): Html =>
  html`<p class="rule">
    <strong>Ask ${personName(owner)} to connect with you.</strong>
    ${headline === null ? '' : html`<span class="headline"><bdi>${headline}</bdi></span>`} Anyone
    can use any name. Continue only if you got this link from this person, in a way that you already
    trust.
  </p>`

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
  const [name, email, message] = FIELDS.map((field) => attributes(field, faults))
  const main = html`${rule(link)}
    <form class="card" method="post" action="/o/${link.slug}">
      ${
        again === null
          ? html``
          : html`<p class="verdict" data-kind="bad">
              Your request was not sent. Correct the marked fields.
            </p>`
      }
      <div class="entry">
        <label for="display_name">Your name</label>
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
        <label for="email">Your e-mail address</label>
        <p class="hint" id="email-hint">
          We mail a link to this address, to check that the address is yours. Your request is not
          sent until you open the link and confirm.
        </p>
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
        <label for="message">Your message (optional)</label>
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
      <p><button type="submit">Ask to connect</button></p>
    </form>
    <section class="card" aria-labelledby="becomes">
      <h2 id="becomes">What happens to your request</h2>
      <ol>
        <li>You open the link in our mail and confirm.</li>
        <li>
          ${personName(link.owner)} sees your name, your address and your message, and approves or
          declines. If your request is declined, you get no mail.
        </li>
        <li>
          If it is approved, you get an invitation by mail. After that, you recognise each other on
          calls by three words.
        </li>
      </ol>
    </section>`
  return headed(link, again === null ? { main } : { heading: 'Not sent', main, status: 422 })
}

/** Returns the page after a valid form was submitted. It is the same for every mailbox. */
const askedPage = (link: OpenLinkPage): Content =>
  headed(link, {
    heading: 'Open your mailbox',
    main: html`<section class="result" data-kind="wait">
        <h2>Open your mailbox</h2>
        <p>
          We mailed you a link. Open it within a day and confirm. Then ${personName(link.owner)}
          sees your request.
        </p>
      </section>
      <p class="small">
        Did you get no mail? Look in the folder for unwanted mail, and check your address for typing
        errors. We send few such mails to one address in an hour, and none while a request from this
        address is already waiting here.
      </p>`,
  })

/** Returns the page of a paused link. `status` must be 409 if a form was submitted. */
const pausedPage = (link: OpenLinkPage, status = 200): Content =>
  headed(link, {
    heading: 'Paused',
    status,
    main: html`<section class="result" data-kind="warn">
      <h2>This link is paused</h2>
      <p>
        ${personName(link.owner)} accepts no requests here at the moment. Nothing was sent. Try
        again later, or ask this person in another way.
      </p>
    </section>`,
  })

/** Returns the page for a link that has too many requests, with status 429. */
function fullPage(link: OpenLinkPage): Content {
  const full = headed(link, {
    heading: 'Too many requests',
    status: 429,
    main: html`<section class="result" data-kind="warn">
      <h2>Too many people ask at the moment</h2>
      <p>This link accepts no more requests for now. Nothing was sent. Try again later.</p>
    </section>`,
  })
  return { ...full, headers: { ...full.headers, 'Retry-After': String(RETRY_AFTER_S) } }
}

/** Returns the page for an unknown slug, with status 404. It is always the same. */
const unknownPage = (server: string): Content =>
  page({
    server,
    title: 'No such link',
    heading: html`There is no such link`,
    status: 404,
    main: html`<section class="card">
      <p>
        The address may contain a typing error, or the link was deleted or has a new address. Ask
        the person who gave you the link for the new one.
      </p>
    </section>`,
  })

const NAME = name(100)
const MESSAGE = text(1000)

/**
 * Trims the values and normalises line ends. Browsers submit text with CRLF (HTML, form
 * submission), which must not count as two characters.
 */
const cleaned = (values: Values): Values => ({
  display_name: values.display_name.trim(),
  email: values.email.trim(),
  message: values.message.replaceAll(/\r\n?/g, '\n').trim(),
})

const faultOf = (schema: typeof NAME, value: string): string | undefined => {
  const { issues } = safeParse(schema, value, { abortPipeEarly: true })
  return issues?.[0].message
}

/** Returns the errors of the fields, as texts for the user. */
function faultsIn({ display_name, email: address, message }: Values): Faults {
  const nameFault = display_name === '' ? 'Enter your name.' : faultOf(NAME, display_name)
  const emailFault = safeParse(email, address).success
    ? undefined
    : 'Enter your e-mail address, for example name@example.org.'
  const messageFault = message === '' ? undefined : faultOf(MESSAGE, message)
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
  read: async ({ slug }) => {
    const server = ground.publicUrl()
    const found = await findLink(ground.db, slug)
    if (found === null) return unknownPage(server)
    const link = { ...found, server }
    return link.state === 'paused' ? pausedPage(link) : formPage(link)
  },

  ask: async ({ slug, body }) => {
    const server = ground.publicUrl()
    const found = await findLink(ground.db, slug)
    if (found === null) return unknownPage(server)
    const link = { ...found, server }
    if (link.state === 'paused') return pausedPage(link, 409)
    const values = cleaned(body)
    const faults = faultsIn(values)
    if (Object.keys(faults).length > 0) return formPage(link, { values, faults })
    switch (await ask(ground, link, askedOf(values))) {
      case 'taken':
        return askedPage(link)
      case 'full':
        return fullPage(link)
      case 'paused':
        return pausedPage(link, 409)
      case 'gone':
        return unknownPage(server)
    }
  },
})
