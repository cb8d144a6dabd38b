/** The texts of `../documents.ts`. */
import type { Texts } from './text.ts'

export const documentTexts: Texts<'openapi' | 'docs' | 'tools'> = {
  openapi: {
    read: {
      summary: 'Read this document',
      description:
        'This OpenAPI document is the same for all callers. Generate a typed client from it, or read it as a page at /api/v1/docs.',
    },
  },
  docs: {
    read: {
      summary: 'Read the documentation page',
      description:
        'A page for people: search, every operation with its example and errors, and a form to try an operation with a token that you paste. The page loads nothing from other servers.',
    },
  },
  tools: {
    catalogue: {
      summary: 'Read the catalogue of tools',
      description:
        'Has one operation under /api/v1/tools/ for each route that a model may call. Deleting the account is not among them. For assistants that use an OpenAPI document rather than MCP.',
    },
  },
}
