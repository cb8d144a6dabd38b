import * as v from 'valibot'
import { SERVICES } from '../../metrics/catalogue.ts'
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

/** What a program depends on, in the form that 1Password Connect uses. */
const Dependency = named(
  'Dependency',
  v.object({
    service: v.picklist(SERVICES),
    status: v.pipe(
      v.picklist(['active', 'degraded', 'down']),
      v.description(
        '`active`: usable. `degraded`: something that needs it fails. `down`: not usable.',
      ),
    ),
    message: v.string(),
  }),
)
export type Dependency = v.InferOutput<typeof Dependency>

export const Readiness = named(
  'Readiness',
  v.object({
    name: v.string(),
    ...Health.entries,
    dependencies: v.array(Dependency),
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
  ready: {
    method: 'GET',
    path: '/api/v1/health/ready',
    also: '/health/ready',
    by: 'daemon',
    errors: ['no_device', 'keychain_locked', 'storage_full'],
    reply: Readiness,
  },
} as const satisfies Routes
