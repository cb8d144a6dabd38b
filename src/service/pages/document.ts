/**
 * The shared parts of the public pages: templates, the frame of a document and its headers. Values
 * in a template are escaped, unless a template made them; no string is exempt. Pages have no inline
 * script and no inline style, so that the policy can forbid both; values for the scripts are in
 * `data-*` attributes.
 */
import type { Content } from '../../api/route.ts'

/** HTML made by a template. The private member prevents other objects from having this type. */
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

/** The tag of every template: it escapes strings and numbers, but not `Html` and lists of it. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Html =>
  new Html(parts, values)

const ENTITY: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns a text escaped for an element's content or a quoted attribute. */
export function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITY[character]!)
}

function render(value: Value): string {
  if (value instanceof Html) return value.toString()
  return typeof value === 'object' ? value.map(String).join('\n') : escape(String(value))
}

/**
 * Returns the Content-Security-Policy with only the permissions that the page needs. A page with
 * a form has no script.
 */
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
 * Three bars for three words. A data URL, so that it causes no request that reveals the opening
 * of the page.
 */
export const ICON =
  'data:image/svg+xml,' +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2453b8"/>' +
      '<path d="M4 5h8M4 8h5M4 11h7" stroke="#fff" stroke-width="1.6" stroke-linecap="round"/></svg>',
  )

/**
 * Returns a document around `main`, as the response of the server.
 * @param of `status` is 200 by default; `form`: whether the page may send a form to this server
 */
export function document(of: {
  title: string
  script?: '/assets/guest.js' | '/assets/stamp.js'
  form?: true
  main: Html
  status?: number
}): Content {
  const { script, form = false } = of
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="robots" content="noindex" />
        <meta name="format-detection" content="telephone=no" />
        <title>${of.title} &ndash; Countersign</title>
        <link rel="icon" href="${ICON}" />
        <link rel="stylesheet" href="/assets/style.css" />
        ${script === undefined ? html`` : html`<script type="module" src="${script}"></script>`}
      </head>
      <body>
        <header class="brand">
          <svg viewBox="0 0 16 16" width="24" height="24" aria-hidden="true">
            <rect width="16" height="16" rx="4" />
            <path d="M4 5h8M4 8h5M4 11h7" />
          </svg>
          <span>Countersign</span>
        </header>
        ${of.main}
      </body>
    </html> `
  return {
    type: 'text/html; charset=utf-8',
    ...(of.status === undefined ? {} : { status: of.status }),
    body: page.toString(),
    headers: {
      'Content-Security-Policy': policyOf(script !== undefined, form),
      // With no-referrer, a browser omits the origin of a form (Fetch section 3.1), and the guard
      // rejects `Origin: null`.
      'Referrer-Policy': form ? 'same-origin' : 'no-referrer',
    },
  }
}

/** The text shown without scripts, which these pages need. */
export const needsScript = html`<noscript
  ><p class="notice" data-kind="warn">
    This page works inside your browser and needs JavaScript for it. Allow it for this page and
    reload.
  </p></noscript
>`
