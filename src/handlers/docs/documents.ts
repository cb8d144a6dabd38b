import { rest } from '../../api/rest/index.ts'
import { restNeed } from '../../auth/scopes.ts'
import { VERSION } from '../../runtime/version.ts'
import type { HandlerContext, Handlers } from '../context.ts'

/**
 * Returns the input of a document. Its server is the Host of the request, which the guard has
 * checked.
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
 * Wraps `fold` so that it builds a document once for each address, of which the guard accepts
 * few. The document is frozen, so that it is also written as JSON once.
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

// Loaded at the first call: the fold needs the schema converter, which an idle daemon does not
// load.
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
  read: async () => {
    const [{ docsFiles }, { docsPage }] = await Promise.all([
      import('./docs-files.ts'),
      import('./docs-page.ts'),
    ])
    return docsPage(await docsFiles())
  },
}
