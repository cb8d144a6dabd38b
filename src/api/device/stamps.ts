import * as v from 'valibot'
import { Jws } from '../fields.ts'
import type { Routes } from '../route.ts'

export const stamps = {
  create: {
    method: 'POST',
    path: '/device/v1/stamps',
    by: 'account',
    errors: ['conflict'],
    body: v.strictObject({ stamp: Jws }),
    reply: v.object({ receipt: Jws }),
    status: 201,
  },
} as const satisfies Routes
