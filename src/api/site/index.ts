/**
 * *site*: the public pages of an account server.
 *
 * Links to them are mailed, so they need no token, and a GET must not change anything.
 */
import * as v from 'valibot'
import { Health, Readiness } from '../rest/health.ts'
import type { Table } from '../route.ts'
import { ServedStampBody } from '../stamp-file.ts'

const html = ['text/html; charset=utf-8'] as const

/** The maximum size of a form, in bytes. */
const FORM_LIMIT = 32 * 1024

const AddressProof = v.object({
  proof: v.pipe(
    v.string(),
    v.description('A MAC of the nonce, which only the replicas of this server can compute.'),
  ),
})

export const site = {
  home: {
    /** The start page, for a person who opens the address without a path. */
    read: {
      method: 'GET',
      path: '/',
      by: 'account',
      media: html,
    },
  },
  siteHealth: {
    /** Check whether the account server is up. */
    read: {
      method: 'GET',
      path: '/health',
      by: 'account',
      reply: Health,
    },
    /**
     * Check whether the account server reaches its database; 503 if it does not. Lists what the
     * server depends on.
     */
    ready: {
      method: 'GET',
      path: '/health/ready',
      by: 'account',
      reply: Readiness,
    },
  },
  guestPages: {
    /**
     * The page of a guest code. It asks who called, shows the guest's words and checks those of the
     * other side.
     */
    read: {
      method: 'GET',
      path: '/g/{id}',
      by: 'account',
      media: html,
    },
    /** Record that the guest opened the page. */
    opened: {
      method: 'POST',
      path: '/g/{id}/opened',
      by: 'account',
      status: 204,
    },
  },
  stampPages: {
    /** The page of a stamp, which verifies the stamp in the browser. */
    read: {
      method: 'GET',
      path: '/s/{id}',
      by: 'account',
      media: html,
    },
    /** The stamp file, the key that signs receipts, and the signed profile of the account. */
    file: {
      method: 'GET',
      path: '/s/{id}/file',
      by: 'account',
      reply: ServedStampBody,
    },
  },
  openLinkPages: {
    /** The page of an open link: a form with which a person asks to connect. */
    read: {
      method: 'GET',
      path: '/o/{slug}',
      by: 'account',
      media: html,
    },
    /** Ask to connect. The server mails a link that confirms the mailbox. */
    ask: {
      method: 'POST',
      path: '/o/{slug}',
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
    /** The page of a mailed link, with buttons that confirm or reject. */
    read: {
      method: 'GET',
      path: '/confirm/{token}',
      by: 'account',
      media: html,
    },
    /** Confirm a mailbox, or reject what the link would confirm. */
    confirm: {
      method: 'POST',
      path: '/confirm/{token}',
      by: 'account',
      form: true,
      limit: FORM_LIMIT,
      body: v.object({ answer: v.optional(v.picklist(['confirm', 'reject'])) }),
      media: html,
    },
  },
  exportFiles: {
    /** Download an export file by a signed link. */
    read: {
      method: 'GET',
      path: '/exports/{id}',
      by: 'account',
      query: v.object({
        expires: v.optional(v.string(), ''),
        holder: v.optional(v.string(), ''),
        signature: v.optional(v.string(), ''),
      }),
      media: ['application/zip'],
    },
  },
  addressProofs: {
    /** Prove that requests to an address reach this server (`countersignd publish --check`). */
    read: {
      method: 'GET',
      path: '/.well-known/countersign/{nonce}',
      by: 'account',
      reply: AddressProof,
    },
  },
  assets: {
    /** A script or style of the pages. */
    read: {
      method: 'GET',
      path: '/assets/{name}',
      by: 'account',
      media: ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    },
  },
} as const satisfies Table
export type Site = typeof site
