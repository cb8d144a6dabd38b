import type { Routes } from '../route.ts'

export const preferences = {
  read: { method: 'GET', path: '/api/v1/preferences', summary: 'Read preferences', by: 'pending' },
  update: {
    method: 'PATCH',
    path: '/api/v1/preferences',
    summary: 'Update preferences',
    by: 'pending',
  },
} as const satisfies Routes
