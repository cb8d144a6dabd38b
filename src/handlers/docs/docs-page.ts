/**
 * The documentation page: what to send first, and all routes as HTML. Its script shows the
 * interactive reference, which is large, only when the reader asks for it (`pages/docs.ts`).
 */
import { rest } from '../../api/rest/index.ts'
import type { Content, Table } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Html, headOf, html, MARK } from '../../service/pages/document.ts'
import type { DocsFile, DocsFiles } from './docs-files.ts'

/**
 * The reference sets inline styles and shows images from responses. The policy ensures that a token
 * typed into the page can be sent only to this server.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data: blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const pathOf = ({ name }: DocsFile) => `/api/v1/docs/${name}`

/** The fragment at which the reference shows a group or one of its routes. */
const fragmentOf = (group: string, route = '') => `#tag/${group.toLowerCase()}${route}`

/** Returns the requests to try first, for a shell. */
const firstRequests = (server: string): string =>
  `TOKEN=$(countersignd token create --name me --scope write)

# A guest code: the link in "url" shows your guest three words.
curl -s ${server}/api/v1/guest-codes \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"label":"Mum"}'

# The guest calls. Check the words that you hear.
curl -s ${server}/api/v1/verify \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"words":"matador carload recede"}'`

interface Groups {
  readonly links: Html
  readonly sections: Html
}

let made: Promise<Groups> | undefined
/** Returns the links to the groups, and the groups with their routes. They never change. */
const groups = (): Promise<Groups> => (made ??= makeGroups())

async function makeGroups(): Promise<Groups> {
  const { REST_GROUPS, restTextOf } = await import('../../api/rest/texts/index.ts')
  const { displayNameOf } = await import('../../api/rest/texts/text.ts')
  const table: Table = rest
  const all = Object.entries(table)
  return {
    links: html`${all.map(
      ([group]) => html`<li><a href="#routes-${group}">${displayNameOf(group)}</a></li>`,
    )}`,
    sections: html`${all.map(
      ([group, routes]) =>
        html`<section class="card" id="routes-${group}">
          <h2>${displayNameOf(group)}</h2>
          <p>${REST_GROUPS[group as keyof typeof REST_GROUPS]}</p>
          <table>
            <thead>
              <tr>
                <th scope="col">Route</th>
                <th scope="col">Scope</th>
                <th scope="col">What it does</th>
              </tr>
            </thead>
            <tbody>
              ${Object.entries(routes).map(
                ([name, { method, path }]) =>
                  html`<tr>
                    <td>
                      <a href="${fragmentOf(group, `/${method}${path}`)}"
                        ><code>${method} ${path}</code></a
                      >
                    </td>
                    <td>${restNeed(method, path.slice(1).split('/'))}</td>
                    <td>${restTextOf(group, name).summary}</td>
                  </tr>`,
              )}
            </tbody>
          </table>
        </section>`,
    )}`,
  }
}

/** Returns the part of the page that leads to the reference; a notice if it is not built. */
const tryIt = (files: DocsFiles | null): Html =>
  files === null
    ? html`<p class="notice">
        The interactive reference is not built. Run "npm run build" in the source folder.
      </p>`
    : html`<p id="try">
          <a class="button" href="${fragmentOf('verify')}">Try the routes here</a>
          <span id="loading" role="status"></span>
        </p>
        <noscript><p class="notice">To try the routes here, allow JavaScript.</p></noscript>`

const head = ({ reference, start, style }: DocsFiles): Html =>
  html`<link rel="stylesheet" href="${pathOf(style)}" integrity="${style.integrity}" />
    <script
      defer
      src="${pathOf(start)}"
      integrity="${start.integrity}"
      data-reference="${pathOf(reference)}"
      data-integrity="${reference.integrity}"
    ></script>`

/**
 * Returns the documentation page.
 * @param files null if they are not built
 * @param host the Host header of the request, which was already checked
 */
export async function docsPage(
  files: DocsFiles | null,
  host = '127.0.0.1:19821',
): Promise<Content> {
  const { links, sections } = await groups()
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        ${headOf('Countersign API')} ${files === null ? '' : head(files)}
      </head>
      <body>
        <div id="list">
          <header class="brand">
            ${MARK}
            <span>Countersign</span>
            <span class="server">${VERSION} on ${host}</span>
          </header>
          <main class="docs">
            <h1>Countersign API</h1>
            <p class="lead">
              Programs on this machine check the three words of a caller, give guests their words,
              and stamp content. Every request needs a token, except at the routes with the scope
              none.
            </p>
            <section class="card">
              <h2>Verify a caller</h2>
              <pre><code>${firstRequests(`http://${host}`)}</code></pre>
              <p>
                If <code>conclusive</code> is false, something could not be checked. That is not the
                same as wrong words.
              </p>
            </section>
            ${tryIt(files)}
            <p>
              The same as a file: <a href="/api/v1/openapi.json">openapi.json</a>. A token has the
              scope read, write or full; each includes the ones before it.
            </p>
            <nav aria-label="Groups of routes">
              <ul>
                ${links}
              </ul>
            </nav>
            ${sections}
          </main>
        </div>
        <div id="reference" hidden></div>
      </body>
    </html> `
  return {
    type: 'text/html; charset=utf-8',
    body: page.toString(),
    headers: { 'Content-Security-Policy': POLICY },
  }
}
