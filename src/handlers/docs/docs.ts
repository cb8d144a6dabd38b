/**
 * The start page, and the files of the documentation page. The documentation page itself is a
 * route of the interface (`documents.ts`).
 */
import { docsTable } from '../../api/docs/index.ts'
import { lazily } from '../../api/lazy.ts'
import type { DocsHandlers } from '../context.ts'

export const docsAnswers = lazily<DocsHandlers>(docsTable, ['daemon'], {
  home: async () => (await import('./home.ts')).home,
  docsFiles: async () => (await import('./docs-files.ts')).files,
})
