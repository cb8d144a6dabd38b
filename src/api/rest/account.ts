import type { Routes } from '../route.ts'

export const devices = {
  list: { method: 'GET', path: '/api/v1/devices', summary: 'List devices', by: 'pending' },
  delete: {
    method: 'DELETE',
    path: '/api/v1/devices/{id}',
    summary: 'Delete a device',
    by: 'pending',
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
