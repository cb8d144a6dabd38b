import * as v from 'valibot'
import { Page, Time, id, listOf, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'

export const ConnectionName = name(200)

export const Member = named(
  'Member',
  v.object({
    user_id: id('acc_'),
    display_name: v.string(),
    role: v.picklist(['owner', 'member']),
    state: v.picklist(['invited', 'active']),
  }),
)
export type Member = v.InferOutput<typeof Member>

export const Connection = named(
  'Connection',
  v.object({
    id: id('con_'),
    name: v.string(),
    kind: v.picklist(['direct', 'group']),
    state: v.pipe(
      v.picklist(['pending', 'active']),
      v.description('pending until a second member is active.'),
    ),
    favorite: v.boolean(),
    tag_ids: v.array(v.string()),
    members: v.array(Member),
    preset_id: v.nullable(v.string()),
    epoch: v.pipe(v.number(), v.integer()),
    secret_here: v.pipe(v.boolean(), v.description('Whether this device holds the secret.')),
    created_at: Time,
    updated_at: Time,
  }),
)
export type Connection = v.InferOutput<typeof Connection>

export const Code = named(
  'Code',
  v.object({
    connection_id: id('con_'),
    words: v.pipe(v.string(), v.description('Your own words, to say.')),
    period_s: v.literal(60),
    valid_from: Time,
    valid_until: Time,
  }),
)

export const connections = {
  list: {
    method: 'GET',
    path: '/api/v1/connections',
    summary: 'List connections',
    by: 'both',
    query: Page,
    reply: listOf(Connection),
  },
  create: {
    method: 'POST',
    path: '/api/v1/connections',
    summary: 'Create a connection',
    by: 'daemon',
    body: v.strictObject({ name: ConnectionName }),
    reply: Connection,
    status: 201,
  },
  read: {
    method: 'GET',
    path: '/api/v1/connections/{id}',
    summary: 'Read a connection',
    by: 'both',
    reply: Connection,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/connections/{id}',
    summary: 'Rename a connection or mark it as a favourite',
    by: 'both',
    body: v.strictObject({ name: v.optional(ConnectionName), favorite: v.optional(v.boolean()) }),
    reply: Connection,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/connections/{id}',
    summary: 'Delete a connection',
    by: 'both',
    status: 204,
  },
  code: {
    method: 'GET',
    path: '/api/v1/connections/{id}/code',
    summary: 'Read the words to say now',
    by: 'daemon',
    reply: Code,
  },
  favorite: {
    method: 'POST',
    path: '/api/v1/connections/{id}/favorite',
    summary: 'Mark a connection as a favourite, or not',
    by: 'both',
    body: v.optional(v.strictObject({ favorite: v.optional(v.boolean(), true) }), {}),
    reply: Connection,
  },
} as const satisfies Routes

export const members = {
  add: {
    method: 'POST',
    path: '/api/v1/connections/{id}/members',
    summary: 'Invite a member to a connection',
    by: 'pending',
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/connections/{id}/members/{mid}',
    summary: 'Remove a member from a connection',
    by: 'pending',
  },
} as const satisfies Routes
