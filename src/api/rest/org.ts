import type { Routes } from '../route.ts'

export const orgMembers = {
  list: { method: 'GET', path: '/api/v1/org/members', summary: 'List members', by: 'pending' },
  read: {
    method: 'GET',
    path: '/api/v1/org/members/{id}',
    summary: 'Read a member',
    by: 'pending',
  },
  activate: {
    method: 'POST',
    path: '/api/v1/org/members/{id}/activate',
    summary: 'Activate a member',
    by: 'pending',
  },
  suspend: {
    method: 'POST',
    path: '/api/v1/org/members/{id}/suspend',
    summary: 'Suspend a member',
    by: 'pending',
  },
  bulkInvite: {
    method: 'POST',
    path: '/api/v1/org/members/bulk-invite',
    summary: 'Invite many members',
    by: 'pending',
  },
} as const satisfies Routes

export const orgGroups = {
  list: { method: 'GET', path: '/api/v1/org/groups', summary: 'List groups', by: 'pending' },
  create: { method: 'POST', path: '/api/v1/org/groups', summary: 'Create a group', by: 'pending' },
  update: {
    method: 'PATCH',
    path: '/api/v1/org/groups/{id}',
    summary: 'Update a group',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/org/groups/{id}',
    summary: 'Delete a group',
    by: 'pending',
  },
  addMembers: {
    method: 'POST',
    path: '/api/v1/org/groups/{id}/members',
    summary: 'Add members to a group',
    by: 'pending',
  },
  removeMembers: {
    method: 'DELETE',
    path: '/api/v1/org/groups/{id}/members',
    summary: 'Remove members from a group',
    by: 'pending',
  },
} as const satisfies Routes

export const orgAlerts = {
  list: { method: 'GET', path: '/api/v1/org/alerts', summary: 'List alerts', by: 'pending' },
  create: { method: 'POST', path: '/api/v1/org/alerts', summary: 'Create an alert', by: 'pending' },
  update: {
    method: 'PATCH',
    path: '/api/v1/org/alerts/{id}',
    summary: 'Update an alert',
    by: 'pending',
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/org/alerts/{id}',
    summary: 'Delete an alert',
    by: 'pending',
  },
} as const satisfies Routes

export const orgActivity = {
  list: { method: 'GET', path: '/api/v1/org/activity', summary: 'List activity', by: 'pending' },
  summary: {
    method: 'GET',
    path: '/api/v1/org/activity/summary',
    summary: 'Read the activity summary',
    by: 'pending',
  },
} as const satisfies Routes

export const orgAnalytics = {
  dashboard: {
    method: 'GET',
    path: '/api/v1/org/analytics/dashboard',
    summary: 'Read dashboard analytics',
    by: 'pending',
  },
  trends: {
    method: 'GET',
    path: '/api/v1/org/analytics/trends',
    summary: 'Read trend analytics',
    by: 'pending',
  },
} as const satisfies Routes
