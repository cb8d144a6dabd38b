import * as v from 'valibot'
import { Page, Time, id, listOf, name, named } from '../fields.ts'
import type { Routes } from '../route.ts'
import { Connection } from './connections.ts'

const Color = v.pipe(
  v.string(),
  v.regex(/^#[0-9a-f]{6}$/, 'Expected a colour: # and six lower-case hexadecimal digits.'),
  v.description('A colour, such as #2453b8; null for none.'),
)

const TagName = v.pipe(
  name(60),
  v.description('The name of the tag, which must be unique among your tags.'),
)

export const Tag = named(
  'Tag',
  v.object({
    id: id('tag_'),
    name: v.string(),
    color: v.nullable(v.string()),
    connection_count: v.pipe(v.number(), v.integer()),
    created_at: Time,
  }),
)
export type Tag = v.InferOutput<typeof Tag>

/** The ids of tags in a request, at most 50. */
export const TagIds = v.pipe(v.array(id('tag_')), v.maxLength(50, 'Give at most 50 tags.'))

export const tags = {
  list: {
    method: 'GET',
    path: '/api/v1/tags',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Tag),
  },
  create: {
    method: 'POST',
    path: '/api/v1/tags',
    by: 'account',
    body: v.strictObject({ name: TagName, color: v.optional(v.nullable(Color)) }),
    reply: Tag,
    status: 201,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/tags/{id}',
    by: 'account',
    body: v.strictObject({ name: v.optional(TagName), color: v.optional(v.nullable(Color)) }),
    reply: Tag,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/tags/{id}',
    by: 'account',
    status: 204,
  },
  assign: {
    method: 'POST',
    path: '/api/v1/tags/{id}/assign/{cid}',
    by: 'both',
    reply: Connection,
  },
  unassign: {
    method: 'DELETE',
    path: '/api/v1/tags/{id}/assign/{cid}',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes
