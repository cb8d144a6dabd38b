/**
 * *site*: the public pages of an account server. Links to them are mailed, so they need no token,
 * and a GET changes nothing.
 */
import * as v from 'valibot'
import { Jwk, Jws } from '../fields.ts'
import { Health } from '../rest/health.ts'
import type { Table } from '../route.ts'

const html = ['text/html; charset=utf-8'] as const

/** The largest body of a form, in bytes. */
const FORM_LIMIT = 32 * 1024

export const StampFileBody = v.object({
  stamp: Jws,
  key_log: v.array(Jws),
  receipt: v.optional(Jws),
})

export const site = {
  home: {
    read: {
      method: 'GET',
      path: '/',
      summary: 'What this is, for a person who opens the address alone',
      by: 'account',
      media: html,
    },
  },
  siteHealth: {
    read: {
      method: 'GET',
      path: '/health',
      summary: 'Check whether the account server is up',
      by: 'account',
      reply: Health,
    },
    ready: {
      method: 'GET',
      path: '/health/ready',
      summary: 'Check whether the account server reaches its database; 503 if it does not',
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
      media: html,
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
      media: html,
    },
    file: {
      method: 'GET',
      path: '/s/{id}/file',
      summary: 'The stamp file, and the key of the receipt',
      by: 'account',
      reply: v.object({ ...StampFileBody.entries, receipt_key: Jwk }),
    },
  },
  openLinkPages: {
    read: {
      method: 'GET',
      path: '/o/{slug}',
      summary: 'The page of an open link: a form to ask to connect',
      by: 'account',
      media: html,
    },
    ask: {
      method: 'POST',
      path: '/o/{slug}',
      summary: 'Ask to connect; a link to confirm the mailbox is mailed',
      by: 'account',
      form: true,
      limit: FORM_LIMIT,
      body: v.object({
        display_name: v.optional(v.string(), ''),
        email: v.optional(v.string(), ''),
        message: v.optional(v.string(), ''),
      }),
      media: html,
    },
  },
  confirmationPages: {
    read: {
      method: 'GET',
      path: '/confirm/{token}',
      summary: 'The page of a link that was mailed: a button that confirms the mailbox',
      by: 'account',
      media: html,
    },
    confirm: {
      method: 'POST',
      path: '/confirm/{token}',
      summary: 'Confirm a mailbox',
      by: 'account',
      form: true,
      limit: FORM_LIMIT,
      body: v.object({}),
      media: html,
    },
  },
  exportFiles: {
    read: {
      method: 'GET',
      path: '/exports/{id}',
      summary: 'The file of an export, by a signed link',
      by: 'account',
      query: v.object({
        expires: v.optional(v.string(), ''),
        holder: v.optional(v.string(), ''),
        signature: v.optional(v.string(), ''),
      }),
      media: ['application/zip'],
    },
  },
  assets: {
    read: {
      method: 'GET',
      path: '/assets/{name}',
      summary: 'A script or style of the pages',
      by: 'account',
      media: ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    },
  },
} as const satisfies Table
export type Site = typeof site
