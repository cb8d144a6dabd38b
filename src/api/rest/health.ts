import * as v from 'valibot'
import { named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const Health = named(
  'Health',
  v.object({
    status: v.literal('ok'),
    version: v.string(),
    uptime_s: v.pipe(v.number(), v.integer()),
  }),
)

export const health = {
  read: {
    method: 'GET',
    path: '/api/v1/health',
    also: '/health',
    by: 'daemon',
    reply: Health,
  },
} as const satisfies Routes
