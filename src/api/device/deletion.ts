import * as v from 'valibot'
import { id } from '../fields.ts'
import type { Routes } from '../route.ts'

/** A device checks this before it signs an irreversible deletion. */
export const deletion = {
  read: {
    method: 'GET',
    path: '/device/v1/deletion',
    by: 'account',
    errors: ['conflict', 'invalid_state'],
    reply: v.object({ account: id('acc_') }),
  },
} as const satisfies Routes
