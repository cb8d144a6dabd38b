import * as v from 'valibot'
import { VerificationEntry } from '../rest/verify.ts'
import type { Routes } from '../route.ts'

export const verifications = {
  push: {
    method: 'POST',
    path: '/device/v1/verifications',
    by: 'account',
    body: v.strictObject({ items: v.pipe(v.array(VerificationEntry), v.maxLength(500)) }),
    reply: v.object({ accepted: v.number() }),
  },
} as const satisfies Routes
