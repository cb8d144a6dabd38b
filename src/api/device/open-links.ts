import { OpenLinkRequest } from '../rest/open-links.ts'
import type { Routes } from '../route.ts'

export const openLinkApprovals = {
  read: {
    method: 'GET',
    path: '/device/v1/open-link-requests/{id}',
    by: 'account',
    errors: ['invalid_state'],
    reply: OpenLinkRequest,
  },
} as const satisfies Routes
