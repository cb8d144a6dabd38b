import * as v from 'valibot'
import { Slug, Time, id, inState, listOf, name, named, pageOfThose } from '../fields.ts'
import { Reachable } from '../reachable.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'

const Title = name(100)
const Count = v.pipe(v.number(), v.integer())

const LINK_STATES = ['active', 'paused'] as const
const REQUEST_STATES = ['pending', 'approved', 'declined'] as const

export const OpenLink = named(
  'OpenLink',
  v.object({
    id: id('lnk_'),
    slug: v.string(),
    title: v.string(),
    state: v.picklist(LINK_STATES),
    url: v.pipe(
      v.string(),
      v.description('The address of the page on which people ask to connect.'),
    ),
    reachable: Reachable,
    pending_requests: Count,
    preset_id: v.nullable(v.string()),
    created_at: Time,
  }),
)
export type OpenLink = v.InferOutput<typeof OpenLink>

export const OpenLinkRequest = named(
  'OpenLinkRequest',
  v.object({
    id: id('req_'),
    open_link_id: id('lnk_'),
    requester: v.object({
      display_name: v.pipe(
        v.string(),
        v.description('The name as the requester typed it. Only the email address is verified.'),
      ),
      email: v.string(),
    }),
    message: v.nullable(v.string()),
    state: v.picklist(REQUEST_STATES),
    connection_id: v.pipe(
      v.nullable(v.string()),
      v.description('The connection that the approval created; null before the approval.'),
    ),
    created_at: Time,
  }),
)
export type OpenLinkRequest = v.InferOutput<typeof OpenLinkRequest>

export const openLinks = {
  list: {
    method: 'GET',
    path: '/api/v1/open-links',
    by: 'account',
    copied: true,
    query: pageOfThose({ state: inState(LINK_STATES) }),
    reply: listOf(OpenLink),
  },
  create: {
    method: 'POST',
    path: '/api/v1/open-links',
    by: 'account',
    errors: ['not_found', 'invalid_state'],
    body: v.strictObject({
      title: v.optional(
        v.pipe(Title, v.description('The purpose, shown on the page (default: your name).')),
      ),
      slug: v.optional(
        v.pipe(
          Slug,
          v.description(
            'The last part of the address: 3 to 40 characters of a-z, 0-9 and - (default: random).',
          ),
        ),
      ),
      preset_id: v.optional(
        v.pipe(
          v.nullable(id('pre_')),
          v.description(
            'The preset for connections that are created through the link. If left out, the default preset is used.',
          ),
        ),
      ),
    }),
    reply: OpenLink,
    status: 201,
  },
  suggest: {
    method: 'GET',
    path: '/api/v1/open-links/suggest',
    by: 'account',
    errors: ['conflict'],
    reply: v.object({ slug: v.string() }),
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/open-links/{id}',
    by: 'account',
    status: 204,
  },
  pause: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/pause',
    by: 'account',
    reply: OpenLink,
  },
  resume: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/resume',
    by: 'account',
    reply: OpenLink,
  },
  slug: {
    method: 'PATCH',
    path: '/api/v1/open-links/{id}/slug',
    by: 'account',
    body: v.strictObject({
      slug: v.pipe(
        Slug,
        v.description('The new last part of the address: 3 to 40 characters of a-z, 0-9 and -.'),
      ),
    }),
    reply: OpenLink,
  },
} as const satisfies Routes

export const openLinkRequests = {
  list: {
    method: 'GET',
    path: '/api/v1/open-links/requests',
    by: 'account',
    copied: true,
    query: pageOfThose({ state: inState(REQUEST_STATES) }),
    reply: listOf(OpenLinkRequest),
  },
  approve: {
    method: 'POST',
    path: '/api/v1/open-links/requests/{id}/approve',
    by: 'daemon',
    errors: ['invalid_state', 'no_device', ...BACKEND_ERRORS],
    reply: OpenLinkRequest,
  },
  decline: {
    method: 'POST',
    path: '/api/v1/open-links/requests/{id}/decline',
    by: 'account',
    errors: ['invalid_state'],
    reply: OpenLinkRequest,
  },
} as const satisfies Routes
