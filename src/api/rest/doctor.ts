import * as v from 'valibot'
import { named } from '../fields.ts'
import type { Routes } from '../route.ts'

/** The findings of `countersignd doctor`. */
export const DoctorReport = named(
  'DoctorReport',
  v.object({
    ok: v.pipe(v.boolean(), v.description('Whether no check has failed.')),
    checks: v.array(
      v.object({
        state: v.picklist(['ok', 'warn', 'fail']),
        name: v.string(),
        found: v.string(),
        remedy: v.pipe(
          v.nullable(v.string()),
          v.description('What to do, as a command if there is one; null if the check passed.'),
        ),
      }),
    ),
  }),
)
export type DoctorReport = v.InferOutput<typeof DoctorReport>

export const doctor = {
  read: {
    method: 'GET',
    path: '/api/v1/doctor',
    by: 'daemon',
    errors: ['no_device'],
    reply: DoctorReport,
  },
} as const satisfies Routes
