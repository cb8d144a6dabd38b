/** *site*: the public pages of an account server. Links to them arrive by mail, so they need no token and set nothing on GET. */
import * as v from 'valibot'
import { Jwk, Jws } from '../fields.ts'
import { Health } from '../rest/health.ts'
import { media, type Table } from '../route.ts'

const html = media('text/html; charset=utf-8')

export const StampFile = v.object({
  stamp: Jws,
  key_log: v.array(Jws),
  receipt: v.optional(Jws),
})

export const site = {
  siteHealth: {
    read: {
      method: 'GET',
      path: '/health',
      summary: 'Tell whether the account server is up',
      by: 'account',
      reply: Health,
    },
    ready: {
      method: 'GET',
      path: '/health/ready',
      summary: 'Tell whether the account server reaches its database; 503 while it does not',
      by: 'account',
      reply: Health,
    },
  },
  guestPages: {
    read: {
      method: 'GET',
      path: '/g/{id}',
      summary: 'The page of a guest code: words to say, and a box to check the caller',
      by: 'account',
      reply: html,
    },
    opened: {
      method: 'POST',
      path: '/g/{id}/opened',
      summary: 'Note that the guest opened the page',
      by: 'account',
      status: 204,
    },
  },
  stampPages: {
    read: {
      method: 'GET',
      path: '/s/{id}',
      summary: 'The page of a stamp: checks it in the browser',
      by: 'account',
      reply: html,
    },
    file: {
      method: 'GET',
      path: '/s/{id}/file',
      summary: 'The stamp file, and the key of the receipt',
      by: 'account',
      reply: v.object({ ...StampFile.entries, receipt_key: Jwk }),
    },
  },
  assets: {
    read: {
      method: 'GET',
      path: '/assets/{name}',
      summary: 'A script or style of the pages',
      by: 'account',
      reply: media('text/javascript; charset=utf-8', 'text/css; charset=utf-8'),
    },
  },
} as const satisfies Table
export type Site = typeof site
