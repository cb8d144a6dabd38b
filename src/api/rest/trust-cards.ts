import type { Routes } from '../route.ts'

export const trustCards = {
  list: {
    method: 'GET',
    path: '/api/v1/trust-cards',
    summary: 'List followed people',
    by: 'pending',
  },
  create: {
    method: 'POST',
    path: '/api/v1/trust-cards',
    summary: 'Follow a person',
    by: 'pending',
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/trust-cards/{id}',
    summary: 'Update a trust card',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/trust-cards/{id}',
    summary: 'Unfollow a person',
    by: 'pending',
  },
  history: {
    method: 'GET',
    path: '/api/v1/trust-cards/{id}/history',
    summary: 'Read the history of a trust card',
    by: 'pending',
  },
} as const satisfies Routes

export const trust = {
  metrics: {
    method: 'GET',
    path: '/api/v1/trust/metrics',
    summary: 'Read trust metrics',
    by: 'pending',
  },
} as const satisfies Routes
