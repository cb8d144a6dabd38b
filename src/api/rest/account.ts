import * as v from 'valibot'
import { Mailed, Page, Time, email, id, listOf, named } from '../fields.ts'
import { Reachable } from '../reachable.ts'
import type { Routes } from '../route.ts'

export const Device = named(
  'Device',
  v.object({
    id: id('dev_'),
    name: v.string(),
    platform: v.picklist(['linux', 'macos', 'windows', 'other']),
    state: v.pipe(
      v.picklist(['pending', 'active']),
      v.description(
        'pending: the device may only read until it is approved with the words on both screens.',
      ),
    ),
    current: v.pipe(
      v.boolean(),
      v.description('Whether this is the device that answers the request.'),
    ),
    last_seen_at: v.nullable(Time),
    key_ids: v.pipe(
      v.array(v.string()),
      v.description('RFC 7638 thumbprints of the signing and sealing keys of the device.'),
    ),
    created_at: Time,
  }),
)
export type Device = v.InferOutput<typeof Device>

export const devices = {
  list: {
    method: 'GET',
    path: '/api/v1/devices',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Device),
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/devices/{id}',
    by: 'both',
    errors: ['no_device'],
    handlerErrors: ['invalid_state'],
    status: 204,
  },
} as const satisfies Routes

export const Session = named(
  'Session',
  v.object({
    id: id('ses_'),
    device_id: id('dev_'),
    current: v.pipe(
      v.boolean(),
      v.description('Whether this is the session that makes the request.'),
    ),
    last_seen_at: Time,
    active_organisation_id: v.nullable(v.string()),
    created_at: Time,
  }),
)
export type Session = v.InferOutput<typeof Session>

export const sessions = {
  list: {
    method: 'GET',
    path: '/api/v1/sessions',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Session),
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/sessions/{id}',
    by: 'account',
    errors: ['invalid_state'],
    status: 204,
  },
} as const satisfies Routes

export const Email = named(
  'Email',
  v.object({
    id: id('eml_'),
    address: v.string(),
    primary: v.pipe(
      v.boolean(),
      v.description('Whether the account server sends its mails to this address.'),
    ),
    verified: v.pipe(
      v.boolean(),
      v.description('false until the mailed confirmation link is opened.'),
    ),
    created_at: Time,
  }),
)
export type Email = v.InferOutput<typeof Email>

/** An address to which a confirmation link was mailed. */
const AddedEmail = named('AddedEmail', v.object({ ...Email.entries, mailed: Mailed }))

export const emails = {
  list: {
    method: 'GET',
    path: '/api/v1/emails',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Email),
  },
  create: {
    method: 'POST',
    path: '/api/v1/emails',
    by: 'account',
    errors: ['forbidden', 'rate_limited'],
    body: v.strictObject({
      address: v.pipe(
        email,
        v.description('The address to add. A confirmation link is mailed to it.'),
      ),
    }),
    reply: AddedEmail,
    status: 201,
  },
} as const satisfies Routes

export const DownloadLink = v.object({ url: v.string(), reachable: Reachable, expires_at: Time })
export type DownloadLink = v.InferOutput<typeof DownloadLink>

export const Export = named(
  'Export',
  v.object({
    id: id('exp_'),
    state: v.picklist(['queued', 'building', 'ready', 'failed', 'expired']),
    progress: v.pipe(
      v.number(),
      v.integer(),
      v.description('The progress of building the export, in per cent.'),
    ),
    finished_at: v.nullable(Time),
    size_bytes: v.nullable(v.pipe(v.number(), v.integer())),
    expires_at: v.pipe(v.nullable(Time), v.description('The time at which the file is deleted.')),
    error: v.nullable(v.string()),
    created_at: Time,
  }),
)
export type Export = v.InferOutput<typeof Export>

export const exports = {
  list: {
    method: 'GET',
    path: '/api/v1/exports',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Export),
  },
  create: {
    method: 'POST',
    path: '/api/v1/exports',
    by: 'both',
    reply: v.object({ id: id('exp_') }),
    status: 202,
  },
  clear: {
    method: 'DELETE',
    path: '/api/v1/exports',
    by: 'account',
    reply: v.object({ deleted: v.pipe(v.number(), v.integer()) }),
  },
  download: {
    method: 'GET',
    path: '/api/v1/exports/{id}/download',
    by: 'both',
    errors: ['export_not_ready'],
    reply: DownloadLink,
  },
} as const satisfies Routes

export const account = {
  delete: {
    method: 'DELETE',
    path: '/api/v1/account',
    by: 'both',
    errors: ['forbidden', 'not_found', 'invalid_state'],
    handlerErrors: ['insufficient_user_authentication'],
    status: 204,
  },
} as const satisfies Routes
