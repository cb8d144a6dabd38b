/** *docs*: the files that the documentation page is made of. Public as the page is. */
import type { Table } from '../route.ts'

export const docsTable = {
  docsFiles: {
    read: {
      method: 'GET',
      path: '/api/v1/docs/{name}',
      summary: 'A script or style of the documentation page',
      by: 'daemon',
      media: ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    },
  },
} as const satisfies Table
export type DocsTable = typeof docsTable
