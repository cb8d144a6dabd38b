/** The API documents: OpenAPI, the tool catalogue, and the documentation page. */
import { rest } from '../../api/rest/index.ts'
import { restNeed } from '../../auth/scopes.ts'
import { VERSION } from '../../runtime/version.ts'
import type { HandlerContext, Handlers } from '../context.ts'
import { docsFiles } from './docs-files.ts'
import { docsPage } from './docs-page.ts'

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

export const docs: Handlers['docs'] = {
  read: async (_, context) => docsPage(await docsFiles(), context.header('host')),
}
