/** The texts of `../documents.ts`. */
import type { Texts } from './text.ts'

export const documentTexts: Texts<'openapi' | 'docs' | 'tools'> = {
  openapi: {
    read: {
      summary: 'Read this document',
      description:
        'The same for all callers. Generate a typed client from it, or open /api/v1/docs, which reads it.',
    },
  },
  docs: {
    read: {
      summary: 'Read the documentation page',
      description:
        'For people: search, every operation with its example and errors, and a form to try it with a token that you paste. It loads nothing from elsewhere.',
    },
  },
  tools: {
    catalogue: {
      summary: 'Read the catalogue of tools',
      description:
        'One operation under /api/v1/tools/ for each route that a model may call; the end of the account is none of them. For assistants that take an OpenAPI document rather than MCP.',
    },
  },
}
