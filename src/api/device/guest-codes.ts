import * as v from 'valibot'
import { Time, id } from '../fields.ts'
import { GuestCode, GuestLabel } from '../rest/guest-codes.ts'
import type { Routes } from '../route.ts'

export const deviceGuestCodes = {
  create: {
    method: 'POST',
    path: '/device/v1/guest-codes',
    summary: 'Register a guest code whose secret a device made',
    by: 'account',
    body: v.strictObject({ id: id('gst_'), label: GuestLabel, expires_at: Time }),
    reply: GuestCode,
    status: 201,
  },
} as const satisfies Routes
