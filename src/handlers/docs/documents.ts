/** The API documents: OpenAPI, the tool catalogue, and the documentation page. */
import { rest } from '../../api/rest/index.ts'
import type { Content, Table } from '../../api/route.ts'
import { restNeed } from '../../auth/scopes.ts'
import { VERSION } from '../../runtime/version.ts'
import { type Html, html, ICON } from '../../service/pages/document.ts'
import type { HandlerContext, Handlers } from '../context.ts'
import { type DocsFile, type DocsFiles, docsFiles } from './docs-files.ts'

/**
 * Returns the data from which a document is built. The document's server URL is the request's Host,
 * which was already checked.
 */
async function foldedFor(context: HandlerContext) {
  const { default: examples } = await import('../../api/openapi/examples.json', {
    with: { type: 'json' },
  })
  const host = context.header('host')
  const server = host === undefined ? undefined : `http://${host}`
  return { table: rest, version: VERSION, need: restNeed, server, examples }
}

type Document = Readonly<Record<string, unknown>> & { readonly openapi: string }

/**
 * Wraps `fold` so that it builds a document once for each Host. Few Hosts pass the check. The
 * document is frozen, so it is also converted to JSON only once.
 */
function once(fold: (context: HandlerContext) => Promise<Document>) {
  const made = new Map<string, Promise<Document>>()
  return async (context: HandlerContext): Promise<Document> => {
    const host = context.header('host') ?? ''
    const known = made.get(host)
    if (known !== undefined) return known
    const document = fold(context).then((folded): Document => Object.freeze(folded))
    made.set(host, document)
    // After a failure, the next request tries again.
    document.catch(() => made.delete(host))
    return document
  }
}

// Imported at the first call, because building needs the schema converter, which an idle daemon
// should not load.
const restDocument = once(async (context) => {
  const { openapiDocument } = await import('../../api/openapi/document.ts')
  return openapiDocument(await foldedFor(context))
})
const catalogue = once(async (context) => {
  const { toolCatalogue } = await import('../../api/tools/catalogue.ts')
  return toolCatalogue(await foldedFor(context))
})

export const openapi: Handlers['openapi'] = { read: async (_, context) => restDocument(context) }
export const tools: Handlers['tools'] = { catalogue: async (_, context) => catalogue(context) }

/**
 * The reference page sets inline styles and shows images from responses. The policy ensures that a
 * token typed into the page can be sent only to this server.
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

async function rows(): Promise<Html[]> {
  const { restTextOf } = await import('../../api/rest/texts/index.ts')
  const table: Table = rest
  return Object.entries(table).flatMap(([group, routes]) => [
    html`<tr>
      <th colspan="4" scope="rowgroup">${group}</th>
    </tr>`,
    ...Object.entries(routes).map(
      ([name, { method, path }]) =>
        html`<tr>
          <td><code>${method}</code></td>
          <td><code>${path}</code></td>
          <td>${restNeed(method, path.slice(1).split('/'))}</td>
          <td>${restTextOf(group, name).summary}</td>
        </tr>`,
    ),
  ])
}

const list = async (explanation: string): Promise<Html> =>
  html`<main class="routes">
    <h1>Countersign API</h1>
    <p>${explanation}</p>
    <p>
      The typed document is <a href="/api/v1/openapi.json">openapi.json</a>. A route needs
      <code>Authorization: Bearer &lt;token&gt;</code>, where the token has at least the scope in
      the third column. If the scope is none, the route needs no token.
      <code>POST /api/v1/token</code> with <code>{"name": "me", "scope": "read"}</code> creates a
      token.
    </p>
    <table>
      <thead>
        <tr>
          <th scope="col">Method</th>
          <th scope="col">Path</th>
          <th scope="col">Scope</th>
          <th scope="col">What it does</th>
        </tr>
      </thead>
      <tbody>
        ${await rows()}
      </tbody>
    </table>
  </main>`

const pathOf = ({ name }: DocsFile) => `/api/v1/docs/${name}`

const head = ({ reference, start, style }: DocsFiles): Html =>
  html`<link rel="stylesheet" href="${pathOf(style)}" integrity="${style.integrity}" />
    <script defer src="${pathOf(start)}" integrity="${start.integrity}"></script>
    <script defer src="${pathOf(reference)}" integrity="${reference.integrity}"></script>`

/**
 * Returns the documentation page.
 *
 * With scripts, the page is the interactive reference (`pages/docs.ts`). Without scripts, or if the
 * reference is not built, it is a list of all routes.
 * @param files null if they are not built
 */
async function docsPage(files: DocsFiles | null): Promise<Content> {
  const body =
    files === null
      ? await list('The interactive page is not built. Run "npm run build" in the source folder.')
      : html`<div id="reference"></div>
          <noscript>${await list('If JavaScript is allowed, this page is interactive.')}</noscript>`
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>Countersign API</title>
        <link rel="icon" href="${ICON}" />
        ${files === null ? '' : head(files)}
      </head>
      <body>
        ${body}
      </body>
    </html> `
  return {
    type: 'text/html; charset=utf-8',
    body: page.toString(),
    headers: { 'Content-Security-Policy': POLICY },
  }
}

export const docs: Handlers['docs'] = { read: async () => docsPage(await docsFiles()) }
