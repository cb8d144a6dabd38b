import type { Routes } from '../route.ts'

export const chat = {
  turn: {
    method: 'POST',
    path: '/api/v1/chat',
    summary: 'Take one turn of the assistant conversation',
    by: 'pending',
  },
  rate: { method: 'POST', path: '/api/v1/chat/rate', summary: 'Rate an answer', by: 'pending' },
} as const satisfies Routes

export const feedback = {
  send: {
    method: 'POST',
    path: '/api/v1/feedback',
    summary: 'Send feedback to the team',
    by: 'pending',
  },
} as const satisfies Routes
