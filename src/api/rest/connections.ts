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
import { MOST_MEMBERS } from '../../crypto/logs/roster-form.ts'
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
        v.description('A mailbox, which needs no account yet; or else user_id.'),
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
        'What `DELETE …/members/{mid}` takes: the id of the account or, of a mailbox that was invited, that of its invitation (`inv_…`).',
      ),
    ),
    user_id: v.pipe(
      v.nullable(id('acc_')),
      v.description('null for a mailbox that was invited and has not approved yet.'),
    ),
    ...namedEntries,
    role: v.picklist(['owner', 'member']),
    state: v.picklist(['invited', 'active']),
  }),
)
export type Member = v.InferOutput<typeof Member>

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
        'pending until a second member is active. ended: its owner ended it for all; its words prove nothing, delete it.',
      ),
    ),
    favorite: v.boolean(),
    tag_ids: v.array(v.string()),
    members: v.array(Member),
    preset_id: v.nullable(v.string()),
    replaces: v.pipe(
      v.nullable(id('con_')),
      v.description('The connection that this one was opened to replace, as its history forked.'),
    ),
    replaced_by: v.pipe(
      v.nullable(id('con_')),
      v.description(
        'Where the history of this one forked: the connection in its place, known on this device.',
      ),
    ),
    epoch: v.pipe(v.number(), v.integer()),
    secret_here: v.pipe(v.boolean(), v.description('Whether this device holds the secret.')),
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
        v.description('Where `words` was asked for: four for each invitation, shown this once.'),
      ),
    ),
  }),
)
export type CreatedConnection = v.InferOutput<typeof CreatedConnection>

export const Code = named(
  'Code',
  v.object({
    connection_id: id('con_'),
    words: v.pipe(v.string(), v.description('Your own words, to say.')),
    period_s: v.literal(60),
    valid_from: Time,
    valid_until: Time,
    listener: v.optional(
      v.pipe(id('acc_'), v.description('With a challenge: the listener of the words.')),
    ),
    listener_name: v.optional(
      v.pipe(v.string(), v.description('Their name. Show it as `name_source` requires.')),
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
      v.description('The word of the listener: the answer has words for them alone.'),
    ),
  ),
  purpose: v.optional(PurposeText),
  listener: v.optional(
    v.pipe(
      id('acc_'),
      v.description(
        'The one who gave the challenge; needed where a connection has more than two members.',
      ),
    ),
  ),
})

const OwnName = v.pipe(
  ConnectionName,
  v.description('What you call it; other members give it names of their own.'),
)
const Favorite = v.pipe(
  v.boolean(),
  v.description('Whether it is one of your favourites; others do not see it.'),
)

export const connections = {
  list: {
    method: 'GET',
    path: '/api/v1/connections',
    by: 'both',
    query: pageOfThose({
      state: inState(STATES),
      tag_id: v.optional(v.pipe(id('tag_'), v.description('Only those with this tag.'))),
      favorite: v.optional(
        v.pipe(
          v.boolean(),
          v.description('true: only favourites. false: only those that are none.'),
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
          v.description('By default the default preset; null for none.'),
        ),
      ),
      words: v.optional(
        v.pipe(
          v.literal(true),
          v.description('Make four words for each invitation, for a first contact.'),
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
} as const satisfies Routes
