import type { Routes } from '../route.ts'

export const presets = {
  list: { method: 'GET', path: '/api/v1/presets', summary: 'List presets', by: 'pending' },
  create: { method: 'POST', path: '/api/v1/presets', summary: 'Create a preset', by: 'pending' },
  update: {
    method: 'PATCH',
    path: '/api/v1/presets/{id}',
    summary: 'Update a preset',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/presets/{id}',
    summary: 'Delete a preset',
    by: 'pending',
  },
  setDefault: {
    method: 'POST',
    path: '/api/v1/presets/{id}/default',
    summary: 'Make a preset the default',
    by: 'pending',
  },
  clearDefault: {
    method: 'DELETE',
    path: '/api/v1/presets/default',
    summary: 'Clear the default preset',
    by: 'pending',
  },
} as const satisfies Routes
