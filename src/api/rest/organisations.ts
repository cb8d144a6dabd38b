import * as v from 'valibot'
import { id, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const Organisation = named(
  'Organisation',
  v.object({
    id: id('org_'),
    name: v.string(),
    role: v.pipe(
      v.picklist(['owner', 'admin', 'member']),
      v.description('The role of the caller in this organisation.'),
    ),
  }),
)

export const organisations = {
  create: {
    method: 'POST',
    path: '/api/v1/org',
    by: 'account',
    errors: ['forbidden'],
    body: v.strictObject({
      name: v.pipe(
        name(100),
        v.description('The name of the organisation, which its members see.'),
      ),
    }),
    reply: Organisation,
    status: 201,
  },
} as const satisfies Routes
