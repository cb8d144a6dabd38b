/**
 * *docs*: the start page, and the files of the documentation page. They are public like that page.
 */
import type { Table } from '../route.ts'

export const docsTable = {
  home: {
    /** The start page: what the daemon is, where its documentation is, and how to get a token. */
    read: {
      method: 'GET',
      path: '/',
      by: 'daemon',
      media: ['text/html; charset=utf-8', 'text/plain; charset=utf-8'],
    },
  },
  docsFiles: {
    /** A script or style of the documentation page. */
    read: {
      method: 'GET',
      path: '/api/v1/docs/{name}',
      by: 'daemon',
      media: ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    },
  },
} as const satisfies Table
export type DocsTable = typeof docsTable
