import type { Routes } from '../route.ts'

export const openLinks = {
  list: { method: 'GET', path: '/api/v1/open-links', summary: 'List open links', by: 'pending' },
  create: {
    method: 'POST',
    path: '/api/v1/open-links',
    summary: 'Create an open link',
    by: 'pending',
  },
  suggest: {
    method: 'GET',
    path: '/api/v1/open-links/suggest',
    summary: 'Propose a slug',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/open-links/{id}',
    summary: 'Delete an open link',
    by: 'pending',
  },
  pause: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/pause',
    summary: 'Pause an open link',
    by: 'pending',
  },
  resume: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/resume',
    summary: 'Resume an open link',
    by: 'pending',
  },
  slug: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/slug',
    summary: 'Give an open link a new slug',
    by: 'pending',
  },
} as const satisfies Routes

export const openLinkRequests = {
  list: {
    method: 'GET',
    path: '/api/v1/open-links/requests',
    summary: 'List approval requests',
    by: 'pending',
  },
  approve: {
    method: 'POST',
    path: '/api/v1/open-links/requests/{id}/approve',
    summary: 'Approve a request',
    by: 'pending',
  },
  decline: {
    method: 'POST',
    path: '/api/v1/open-links/requests/{id}/decline',
    summary: 'Decline a request',
    by: 'pending',
  },
} as const satisfies Routes
