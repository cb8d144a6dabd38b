/**
 * The shared parts of the public pages: templates, the frame of a document, and its headers. All
 * values in a template are escaped, except values that were made by a template themselves. Pages
 * have no inline scripts and styles, so that the content security policy can forbid both. Values
 * for scripts are in `data-*` attributes.
 */
import type { Content } from '../../api/route.ts'
import { displayedName } from '../../crypto/encoding/quoted.ts'
import type { Language } from '../../languages/languages.ts'
import { partsOf, type Template } from '../../languages/message.ts'
import { hostOf } from '../mail/quoting.ts'

/** HTML made by a template. Because of the private member, no other object can have this type. */
export class Html {
  readonly #text: string

  constructor(parts: readonly string[], values: readonly Value[]) {
    this.#text = parts
      .map((part, i) => part + (i < values.length ? render(values[i]!) : ''))
      .join('')
  }

  toString(): string {
    return this.#text
  }
}

type Value = string | number | Html | readonly Html[]

/** The tag of templates. It escapes strings and numbers, but not `Html` and lists of `Html`. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(parts, values)

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text for an element's content or a quoted attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITY[character]!)
}

/** Returns a message as HTML. Values are escaped, except `Html`. */
export function messageHtml<Names extends string>(
  { locale }: Language,
  template: Template<Names>,
  values: { readonly [N in Names]: string | number | Html },
): Html {
  const parts = partsOf(template, values, locale)
  return new Html(['', ...parts.map(() => '')], parts)
}

/** Returns a name as HTML that is isolated from the direction of the text around it. */
export const personName = (name: string): Html => html`<bdi>${displayedName(name)}</bdi>`

function render(value: Value): string {
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.map(String).join('\n') : escape(String(value))
}

/** Returns a Content-Security-Policy with only the permissions that the page needs. */
const policyOf = (script: boolean, form: boolean) =>
  [
    "default-src 'none'",
    `script-src ${script ? "'self'" : "'none'"}`,
    "style-src 'self'",
    `connect-src ${script ? "'self'" : "'none'"}`,
    "img-src 'self' data:",
    "base-uri 'none'",
    `form-action ${form ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ].join('; ')

/**
 * The icon: three bars for three words. It is a data URL, so that the browser makes no request for
 * it, which would reveal that the page was opened.
 */
export const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2453b8"/>' +
      '<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>',
  )

/** The same icon as part of a page, in the colours of the style sheet. */
export const MARK = html`<svg viewBox="0 0 16 16" width="24" height="24" aria-hidden="true">
  <rect width="16" height="16" rx="4" />
  <path d="M4 5h8M4 8h5M4 11h7" />
</svg>`

/** Returns the elements with which the head of every page begins. */
export const headOf = (title: Html | string): Html =>
  html`<meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title}</title>
    <link rel="icon" href="${ICON}" />`

/** The command that checks a stamp without a page. */
export const STAMP_COMMAND = html`<code translate="no"
  >countersignd stamp verify FILE STAMP --root ROOT</code
>`

/**
 * Returns a response with an HTML document around `main`.
 * @param of `language`: the language of the texts; `server`: the base URL of this server, which
 *   the page names; `status`: 200 by default; `form`: whether the page may send a form to this
 *   server
 */
export function document(of: {
  language: Language
  title: string
  server?: string
  script?: '/assets/guest.js' | '/assets/stamp.js'
  form?: true
  main: Html
  status?: number
}): Content {
  const { language, script, server, form = false } = of
  const { frame } = language.messages
  const page = html`<!doctype html>
    <html lang="${language.tag}">
      <head>
        ${headOf(html`${of.title} &ndash; Countersign`)}
        <meta name="robots" content="noindex" />
        <meta name="format-detection" content="telephone=no" />
        <link rel="stylesheet" href="/assets/style.css" />
        ${script === undefined ? html`` : html`<script type="module" src="${script}"></script>`}
      </head>
      <body>
        <header class="brand">
          ${MARK}
          <span>Countersign</span>
          ${
            server === undefined
              ? html``
              : html`<span class="server">
                  ${messageHtml(language, frame.server, { host: hostOf(server) })}
                </span>`
          }
        </header>
        ${of.main}
      </body>
    </html> `
  return {
    type: 'text/html; charset=utf-8',
    ...(of.status === undefined ? {} : { status: of.status }),
    body: page.toString(),
    headers: {
      'Content-Language': language.tag,
      // The language depends on this field (RFC 9110 section 12.5.5).
      Vary: 'Accept-Language',
      'Content-Security-Policy': policyOf(script !== undefined, form),
      // With `no-referrer`, a browser would send `Origin: null` with a form (Fetch section 3.1),
      // which this server rejects.
      'Referrer-Policy': form ? 'same-origin' : 'no-referrer',
    },
  }
}

/**
 * The text that is shown until the page's script removes it. The style sheet delays it, so that it
 * appears only if JavaScript is disabled or the script cannot be loaded.
 */
export const needsScript = ({ messages }: Language): Html =>
  html`<p class="notice late" id="needs-script" data-kind="warn">${messages.frame.needsScript}</p>`

/**
 * Returns attributes with the messages of the page's script, which gets no messages of other pages
 * or languages, and with the language tag for its dates and numbers.
 */
export const scriptMessages = ({ locale }: Language, messages: object): Html =>
  html`data-locale="${locale}" data-messages="${JSON.stringify(messages)}"`
