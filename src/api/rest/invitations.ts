import type { Routes } from '../route.ts'

export const invitations = {
  list: {
    method: 'GET',
    path: '/api/v1/invitations',
    summary: 'List invitations in both directions',
    by: 'pending',
  },
  pending: {
    method: 'GET',
    path: '/api/v1/invitations/pending',
    summary: 'List pending invitations',
    by: 'pending',
  },
  approve: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/approve',
    summary: 'Approve an invitation',
    by: 'pending',
  },
  decline: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/decline',
    summary: 'Decline an invitation',
    by: 'pending',
  },
  withdraw: {
    method: 'POST',
    path: '/api/v1/invitations/{id}/withdraw',
    summary: 'Withdraw an invitation',
    by: 'pending',
  },
} as const satisfies Routes
