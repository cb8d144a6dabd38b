import * as v from 'valibot'
import { Time } from '../fields.ts'
import type { Routes } from '../route.ts'

export const clock = {
  read: {
    method: 'GET',
    path: '/device/v1/clock',
    by: 'account',
    reply: v.object({
      now: Time,
      public_url: v.pipe(v.string(), v.description('What links begin with, without a slash.')),
    }),
  },
} as const satisfies Routes
