import { rest } from '../api/rest/index.ts'
import { REST, scopeTable } from '../auth/scopes.ts'
import { VERSION } from '../version.ts'
import type { Handlers } from './context.ts'

export const openapi: Handlers['openapi'] = {
  read: async () => {
    // Loaded at the first call: folding the table needs the schema converter, which a daemon at rest does not.
    const { openapiDocument } = await import('../openapi.ts')
    return openapiDocument({ table: rest, version: VERSION, need: scopeTable(REST) })
  },
}

export const tools: Handlers['tools'] = {
  catalogue: async () => {
    const { toolCatalogue } = await import('../tools/catalogue.ts')
    return toolCatalogue({ table: rest, version: VERSION, need: scopeTable(REST) })
  },
}

export const docs: Handlers['docs'] = {
  read: async () => {
    const { docsPage } = await import('./docs-page.ts')
    return { type: 'text/html; charset=utf-8', body: docsPage() }
  },
}
