import { rest } from '../../api/rest/index.ts'
import { restNeed } from '../../auth/scopes.ts'
import { VERSION } from '../../runtime/version.ts'
import type { Context, Handlers } from '../context.ts'

/** What a document is folded from. It names the address by which it was asked for, which is one that the daemon answers to. */
async function foldedFor(context: Context) {
  const { default: examples } = await import('../../api/openapi/examples.json', {
    with: { type: 'json' },
  })
  const host = context.header('host')
  const server = host === undefined ? undefined : `http://${host}`
  return { table: rest, version: VERSION, need: restNeed, server, examples }
}

type Document = Readonly<Record<string, unknown>> & { readonly openapi: string }

/** A document is folded once for each address, of which the guard lets few through; what is frozen is also written once. */
function once(fold: (context: Context) => Promise<Document>) {
  const made = new Map<string, Promise<Document>>()
  return async (context: Context): Promise<Document> => {
    const host = context.header('host') ?? ''
    const known = made.get(host)
    if (known !== undefined) return known
    const document = fold(context).then((folded): Document => Object.freeze(folded))
    made.set(host, document)
    // What failed may go well the next time.
    document.catch(() => made.delete(host))
    return document
  }
}

// Loaded at the first call: folding the table needs the schema converter, which a daemon at rest does not.
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
