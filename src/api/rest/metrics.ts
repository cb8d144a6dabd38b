import * as v from 'valibot'
import { METRICS_TYPES } from '../../metrics/catalogue.ts'
import type { Routes } from '../route.ts'

export const metrics = {
  read: {
    method: 'GET',
    path: '/metrics',
    by: 'daemon',
    errors: ['no_device'],
    // Without this, a page accepts any query.
    query: v.strictObject({}),
    media: METRICS_TYPES,
  },
} as const satisfies Routes
