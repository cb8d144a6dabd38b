/**
 * The first page, and the files of the documentation page; that page itself is a route of the
 * interface (`documents.ts`).
 */
import { type DocsTable, docsTable } from '../api/docs/index.ts'
import { lazily } from '../api/lazy.ts'
import type { Answers } from '../api/route.ts'
import type { Context } from './context.ts'

export type DocsHandlers = Answers<DocsTable, 'daemon', Context>

export const docsAnswers = lazily<DocsHandlers>(docsTable, ['daemon'], {
  home: async () => (await import('./home.ts')).home,
  docsFiles: async () => (await import('./docs-files.ts')).files,
})
