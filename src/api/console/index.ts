/**
 * *console*: how a browser gets a token of its own, and the files of the console.
 *
 * The command line creates a code and opens the console with it. The console exchanges the code for
 * a token that is bound to a key of this browser (RFC 9449).
 */
import * as v from 'valibot'
import { ScopeName, Time, id } from '../fields.ts'
import type { Table } from '../route.ts'

/** A code, with which one browser gets one token. It is never shown again. */
export const ConsoleCode = v.object({
  code: v.string(),
  /** The origin of the console. */
  address: v.string(),
  /** The browser must open the console at `GET /console/open/{visit}`. */
  visit: v.string(),
  expires_at: Time,
})
export type ConsoleCode = v.InferOutput<typeof ConsoleCode>

/** The console's token. It is accepted only with a proof of the key that signed the exchange. */
export const ConsoleSession = v.object({
  token: v.string(),
  id: id('tok_'),
  /** The scope now. */
  scope: ScopeName,
  /** When the scope becomes `write`; null if it stays. */
  full_until: v.nullable(Time),
  expires_at: Time,
  /** The token ends after this many seconds without a request. */
  idle_s: v.number(),
  /** The daemon's time, by which the others are to be read. */
  now: Time,
})
export type ConsoleSession = v.InferOutput<typeof ConsoleSession>

export const consoleTable = {
  consoleCodes: {
    /** Create a code. Only programs of this user on this machine may do this, and no browser. */
    create: {
      method: 'POST',
      path: '/console/v1/codes',
      by: 'daemon',
      errors: ['invalid_state'],
      body: v.strictObject({ scope: v.optional(ScopeName, 'write') }),
      reply: ConsoleCode,
      status: 201,
      repeats: true,
    },
  },
  consoleSession: {
    /** Exchange a code for a token. Only the console may do this. */
    create: {
      method: 'POST',
      path: '/console/v1/session',
      by: 'daemon',
      errors: ['invalid_token', 'forbidden'],
      body: v.strictObject({ code: v.pipe(v.string(), v.maxLength(100)) }),
      reply: ConsoleSession,
      status: 201,
      repeats: true,
    },
    /** Revoke the token that sends this request. */
    delete: {
      method: 'DELETE',
      path: '/console/v1/session',
      by: 'daemon',
      errors: ['forbidden'],
      status: 204,
    },
  },
  consoleEntry: {
    /**
     * The page of the console, at a path that is new for each code. So no answer of another
     * program, which used the port before, is in the browser's cache.
     */
    read: {
      method: 'GET',
      path: '/console/open/{visit}',
      by: 'daemon',
      media: ['text/html; charset=utf-8'],
    },
  },
  consoleFiles: {
    /** A script, a style or an image of the console. */
    read: {
      method: 'GET',
      path: '/console/{name}',
      by: 'daemon',
      media: ['text/javascript; charset=utf-8', 'text/css; charset=utf-8'],
    },
  },
} as const satisfies Table
export type ConsoleTable = typeof consoleTable
