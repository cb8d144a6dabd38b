import type { Routes } from '../route.ts'

export const notifications = {
  list: {
    method: 'GET',
    path: '/api/v1/notifications',
    summary: 'List notifications',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/notifications',
    summary: 'Delete notifications',
    by: 'pending',
  },
  read: {
    method: 'POST',
    path: '/api/v1/notifications/read',
    summary: 'Mark notifications as read',
    by: 'pending',
  },
} as const satisfies Routes
