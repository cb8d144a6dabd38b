import * as v from 'valibot'
import {
  PurposeText,
  ShownPurpose,
  Time,
  email,
  id,
  inState,
  listOf,
  name,
  named,
  pageOfThose,
} from '../fields.ts'
import { MOST_MEMBERS } from '../../crypto/logs/limits.ts'
import { BACKEND_ERRORS, type Routes } from '../route.ts'
import { ContactWords } from './first-contacts.ts'
import { Invitation } from './invitations.ts'
import { NameMarks, NameSource, namedEntries } from './names.ts'

export const ConnectionName = name(200)

/** An invitee: either a mailbox, which need not have an account, or an account. */
export const Invitee = v.union(
  [
    v.strictObject({
      email: v.pipe(
        email,
        v.description(
          'An email address; it does not need an account yet. Give this or else user_id.',
        ),
      ),
    }),
    v.strictObject({ user_id: id('acc_') }),
  ],
  'Give either "email" or "user_id", and nothing else.',
)
export type Invitee = v.InferOutput<typeof Invitee>

export const Invitees = v.optional(
  v.pipe(
    v.array(Invitee),
    v.maxLength(MOST_MEMBERS - 1, `A connection has at most ${MOST_MEMBERS} members.`),
    v.description('The people to invite, each by "email" or by "user_id".'),
  ),
  [],
)

export const Member = named(
  'Member',
  v.object({
    id: v.pipe(
      v.string(),
      v.description(
        'The `mid` for `DELETE …/members/{mid}`: the account id or, for an invited email address, the id of the invitation (`inv_…`).',
      ),
    ),
    user_id: v.pipe(
      v.nullable(id('acc_')),
      v.description('null for an invited email address, until its owner approves.'),
    ),
    ...namedEntries,
    role: v.picklist(['owner', 'member']),
    state: v.picklist(['invited', 'active']),
  }),
)
export type Member = v.InferOutput<typeof Member>

/** Why no words of a connection verify on a device. */
export const Suspension = v.picklist(['rotation_pending', 'roster_forked', 'ended'])

const STATES = ['pending', 'active', 'ended'] as const

export const Connection = named(
  'Connection',
  v.object({
    id: id('con_'),
    name: v.string(),
    kind: v.picklist(['direct', 'group']),
    state: v.pipe(
      v.picklist(STATES),
      v.description(
        'pending: no second member is active yet. ended: its owner ended the connection for all members; its words prove nothing, so delete it.',
      ),
    ),
    favorite: v.boolean(),
    tag_ids: v.array(v.string()),
    members: v.array(Member),
    preset_id: v.nullable(v.string()),
    replaces: v.pipe(
      v.nullable(id('con_')),
      v.description(
        'The connection that this one replaces because the history of that connection forked.',
      ),
    ),
    replaced_by: v.pipe(
      v.nullable(id('con_')),
      v.description(
        'If the history of this connection forked: the connection that replaces it, as far as this device knows.',
      ),
    ),
    epoch: v.pipe(v.number(), v.integer()),
    secret_here: v.pipe(v.boolean(), v.description('Whether this device has the secret.')),
    suspended: v.pipe(
      v.nullable(Suspension),
      v.description(
        'Why no words of the connection verify on this device, although it has the secret; null if they do. rotation_pending: until the connection has a new secret. roster_forked: the account server showed two histories. ended: an owner ended the connection.',
      ),
    ),
    created_at: Time,
    updated_at: Time,
  }),
)
export type Connection = v.InferOutput<typeof Connection>

export const CreatedConnection = named(
  'CreatedConnection',
  v.object({
    ...Connection.entries,
    words: v.optional(
      v.pipe(
        v.array(ContactWords),
        v.description(
          'If `words` was requested: four words for each invitation, shown only this once.',
        ),
      ),
    ),
  }),
)
export type CreatedConnection = v.InferOutput<typeof CreatedConnection>

export const Code = named(
  'Code',
  v.object({
    connection_id: id('con_'),
    words: v.pipe(v.string(), v.description('Your own words, for you to say.')),
    period_s: v.literal(60),
    valid_from: Time,
    valid_until: Time,
    listener: v.optional(
      v.pipe(id('acc_'), v.description('With a challenge: the member who can check the words.')),
    ),
    listener_name: v.optional(
      v.pipe(
        v.string(),
        v.description('The name of the listener. Show it as `name_source` requires.'),
      ),
    ),
    name_source: v.optional(NameSource),
    name_marks: v.optional(NameMarks),
    purpose: v.optional(ShownPurpose),
  }),
)
export type Code = v.InferOutput<typeof Code>

/** The words that a listener asked for. */
const Asked = v.strictObject({
  challenge: v.optional(
    v.pipe(
      v.string(),
      v.maxLength(64),
      v.description(
        'The challenge word that the listener said. The returned words are valid only for that listener.',
      ),
    ),
  ),
  purpose: v.optional(PurposeText),
  listener: v.optional(
    v.pipe(
      id('acc_'),
      v.description(
        'The member who gave the challenge. Needed if the connection has more than two members.',
      ),
    ),
  ),
})

const OwnName = v.pipe(
  ConnectionName,
  v.description('Your name for the connection. Other members have their own names for it.'),
)
const Favorite = v.pipe(
  v.boolean(),
  v.description('Whether the connection is one of your favourites. Others do not see this.'),
)

export const connections = {
  list: {
    method: 'GET',
    path: '/api/v1/connections',
    by: 'both',
    copied: true,
    query: pageOfThose({
      state: inState(STATES),
      tag_id: v.optional(
        v.pipe(id('tag_'), v.description('Return only connections with this tag.')),
      ),
      favorite: v.optional(
        v.pipe(
          v.boolean(),
          v.description(
            'true: return only favourites. false: return only connections that are not favourites.',
          ),
        ),
      ),
    }),
    reply: listOf(Connection),
  },
  create: {
    method: 'POST',
    path: '/api/v1/connections',
    by: 'daemon',
    errors: ['not_found', 'no_device', ...BACKEND_ERRORS],
    body: v.strictObject({
      name: OwnName,
      invite: Invitees,
      preset_id: v.optional(
        v.pipe(
          v.nullable(id('pre_')),
          v.description('If left out, the default preset is used; null uses no preset.'),
        ),
      ),
      words: v.optional(
        v.pipe(
          v.literal(true),
          v.description('Create four words for each invitation, for a first contact.'),
        ),
      ),
    }),
    reply: CreatedConnection,
    status: 201,
    secret: 'words',
  },
  read: {
    method: 'GET',
    path: '/api/v1/connections/{id}',
    by: 'both',
    copied: true,
    reply: Connection,
  },
  update: {
    method: 'PATCH',
    path: '/api/v1/connections/{id}',
    by: 'both',
    body: v.strictObject({ name: v.optional(OwnName), favorite: v.optional(Favorite) }),
    reply: Connection,
  },
  delete: {
    method: 'DELETE',
    path: '/api/v1/connections/{id}',
    by: 'both',
    errors: ['no_device'],
    handlerErrors: ['invalid_state'],
    status: 204,
  },
  code: {
    method: 'GET',
    path: '/api/v1/connections/{id}/code',
    by: 'daemon',
    errors: [
      'invalid_state',
      'no_device',
      'not_signed_in',
      'secret_unavailable',
      'too_long',
      'unknown_word',
      'word_count',
    ],
    query: Asked,
    reply: Code,
  },
  favorite: {
    method: 'POST',
    path: '/api/v1/connections/{id}/favorite',
    by: 'both',
    body: v.optional(v.strictObject({ favorite: v.optional(Favorite, true) }), {}),
    reply: Connection,
  },
  rotate: {
    method: 'POST',
    path: '/api/v1/connections/{id}/rotation',
    by: 'daemon',
    errors: ['conflict', 'invalid_state', 'no_device', 'secret_unavailable', ...BACKEND_ERRORS],
    reply: Connection,
  },
} as const satisfies Routes

export const members = {
  add: {
    method: 'POST',
    path: '/api/v1/connections/{id}/members',
    by: 'both',
    errors: ['forbidden', 'invalid_state'],
    body: Invitee,
    reply: Invitation,
    status: 201,
  },
  remove: {
    method: 'DELETE',
    path: '/api/v1/connections/{id}/members/{mid}',
    by: 'both',
    errors: ['forbidden', 'no_device'],
    handlerErrors: ['invalid_state'],
    status: 204,
  },
  role: {
    method: 'POST',
    path: '/api/v1/connections/{id}/members/{mid}/role',
    by: 'daemon',
    errors: ['conflict', 'invalid_state', 'no_device', 'secret_unavailable', ...BACKEND_ERRORS],
    body: v.strictObject({
      role: v.pipe(
        v.picklist(['owner', 'member']),
        v.description('owner: invites and removes members, changes roles, ends the connection.'),
      ),
    }),
    reply: Connection,
  },
} as const satisfies Routes
