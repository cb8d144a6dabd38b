import * as v from 'valibot'
import { Page, Time, id, listOf, named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const Device = named(
  'Device',
  v.object({
    id: id('dev_'),
    name: v.string(),
    platform: v.picklist(['linux', 'macos', 'windows', 'other']),
    state: v.pipe(
      v.picklist(['pending', 'active']),
      v.description('pending: it may only read until it is approved by the words of both screens.'),
    ),
    current: v.pipe(v.boolean(), v.description('Whether it is the device that answers.')),
    last_seen_at: v.nullable(Time),
    key_ids: v.pipe(
      v.array(v.string()),
      v.description('RFC 7638 thumbprints of its signing and sealing keys.'),
    ),
    created_at: Time,
  }),
)
export type Device = v.InferOutput<typeof Device>

export const devices = {
  list: {
    method: 'GET',
    path: '/api/v1/devices',
    summary: 'List devices',
    by: 'account',
    query: Page,
    reply: listOf(Device),
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/devices/{id}',
    summary: 'Revoke a device, or turn away one that waits for approval',
    by: 'both',
    status: 204,
  },
} as const satisfies Routes

export const sessions = {
  list: { method: 'GET', path: '/api/v1/sessions', summary: 'List sessions', by: 'pending' },
  delete: {
    method: 'DELETE',
    path: '/api/v1/sessions/{id}',
    summary: 'Delete a session',
    by: 'pending',
  },
} as const satisfies Routes

export const emails = {
  list: { method: 'GET', path: '/api/v1/emails', summary: 'List email addresses', by: 'pending' },
  create: {
    method: 'POST',
    path: '/api/v1/emails',
    summary: 'Add an email address',
    by: 'pending',
  },
} as const satisfies Routes

export const exports = {
  list: { method: 'GET', path: '/api/v1/exports', summary: 'List exports', by: 'pending' },
  create: { method: 'POST', path: '/api/v1/exports', summary: 'Request an export', by: 'pending' },
  clear: { method: 'DELETE', path: '/api/v1/exports', summary: 'Delete exports', by: 'pending' },
  download: {
    method: 'GET',
    path: '/api/v1/exports/{id}/download',
    summary: 'Get the link to a finished export',
    by: 'pending',
  },
} as const satisfies Routes

export const account = {
  delete: {
    method: 'DELETE',
    path: '/api/v1/account',
    summary: 'Delete the account and everything in it',
    by: 'pending',
  },
} as const satisfies Routes
