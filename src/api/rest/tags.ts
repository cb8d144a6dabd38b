import type { Routes } from '../route.ts'

export const tags = {
  list: { method: 'GET', path: '/api/v1/tags', summary: 'List tags', by: 'pending' },
  create: { method: 'POST', path: '/api/v1/tags', summary: 'Create a tag', by: 'pending' },
  update: { method: 'PATCH', path: '/api/v1/tags/{id}', summary: 'Update a tag', by: 'pending' },
  delete: { method: 'DELETE', path: '/api/v1/tags/{id}', summary: 'Delete a tag', by: 'pending' },
  assign: {
    method: 'POST',
    path: '/api/v1/tags/{id}/assign/{cid}',
    summary: 'Assign a tag to a connection',
    by: 'pending',
  },
  unassign: {
    method: 'DELETE',
    path: '/api/v1/tags/{id}/assign/{cid}',
    summary: 'Remove a tag from a connection',
    by: 'pending',
  },
} as const satisfies Routes
