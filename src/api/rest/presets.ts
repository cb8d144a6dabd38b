import * as v from 'valibot'
import { Page, Time, id, listOf, name, named, text } from '../fields.ts'
import type { Routes } from '../route.ts'
import { TagIds } from './tags.ts'

const PresetName = v.pipe(name(100), v.description('Your name for the preset.'))
const InviteMessage = v.pipe(
  text(1000),
  v.description('Your message to invited people, shown in the mail and in the invitation.'),
)

/** The maximum validity of an invitation in seconds: 30 days. */
export const LONGEST_INVITATION_S = 2_592_000

/** The validity of invitations in seconds: 1 hour to 30 days. The default is two weeks. */
const InvitationExpiresIn = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(3600),
  v.maxValue(LONGEST_INVITATION_S),
  v.description('How long an invitation is valid, in seconds; null sets two weeks.'),
)

export const Preset = named(
  'Preset',
  v.object({
    id: id('pre_'),
    name: v.string(),
    tag_ids: v.array(v.string()),
    favorite: v.boolean(),
    invite_message: v.nullable(v.string()),
    invitation_expires_in: v.nullable(v.pipe(v.number(), v.integer())),
    is_default: v.pipe(
      v.boolean(),
      v.description('Whether a connection that is created without naming a preset uses this one.'),
    ),
    created_at: Time,
  }),
)
export type Preset = v.InferOutput<typeof Preset>

const optionals = {
  tag_ids: v.optional(
    v.pipe(TagIds, v.description('The tags of connections that are created with the preset.')),
  ),
  favorite: v.optional(
    v.pipe(
      v.boolean(),
      v.description('Whether connections that are created with the preset become your favourites.'),
    ),
  ),
  invite_message: v.optional(v.nullable(InviteMessage)),
  invitation_expires_in: v.optional(v.nullable(InvitationExpiresIn)),
}

export const presets = {
  list: {
    method: 'GET',
    path: '/api/v1/presets',
    by: 'account',
    copied: true,
    query: Page,
    reply: listOf(Preset),
  },
  create: {
    method: 'POST',
    path: '/api/v1/presets',
    by: 'account',
    body: v.strictObject({ name: PresetName, ...optionals }),
    reply: Preset,
    status: 201,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/presets/{id}',
    by: 'account',
    body: v.strictObject({ name: v.optional(PresetName), ...optionals }),
    reply: Preset,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/presets/{id}',
    by: 'account',
    status: 204,
  },
  setDefault: {
    method: 'POST',
    path: '/api/v1/presets/{id}/default',
    by: 'account',
    reply: Preset,
  },
  clearDefault: {
    method: 'DELETE',
    path: '/api/v1/presets/default',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes
