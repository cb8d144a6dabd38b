import * as v from 'valibot'
import { holderId, id, named } from '../fields.ts'
import type { Routes } from '../route.ts'

const Organisation = v.object({
  id: v.string(),
  name: v.string(),
  role: v.picklist(['owner', 'admin', 'member']),
})

export const Context = named(
  'Context',
  v.object({
    user: v.object({
      id: holderId,
      display_name: v.string(),
      email: v.nullable(v.string()),
      kind: v.picklist(['person', 'machine']),
    }),
    organisations: v.array(Organisation),
    active_organisation: v.optional(Organisation),
  }),
)
export type Context = v.InferOutput<typeof Context>

export const context = {
  read: {
    method: 'GET',
    path: '/api/v1/context',
    by: 'account',
    copied: true,
    reply: Context,
  },
  activeOrg: {
    method: 'POST',
    path: '/api/v1/context/active-org',
    by: 'both',
    errors: ['not_found', 'invalid_state'],
    body: v.strictObject({
      organisation_id: v.pipe(
        v.nullable(id('org_')),
        v.description('null returns to the personal context.'),
      ),
    }),
    reply: Context,
  },
} as const satisfies Routes
