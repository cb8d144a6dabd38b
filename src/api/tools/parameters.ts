/**
 * The ids in tool arguments: what each can name in place of an id, and its description, which names
 * the tool that lists the ids.
 */
import { ID_PREFIX } from '../../crypto/encoding/id.ts'
import type { Reference } from '../naming/kinds.ts'
import type { Rest } from '../rest/index.ts'
import { type Route, pathNames } from '../route.ts'
import type { ToolGroup } from './tool.ts'

/** An argument that is an id, or a list of ids. */
export interface IdArgument {
  /** What the argument can name in place of an id; null if it must be a whole id. */
  readonly takes: Reference | null
  readonly description: string
  /** Whether it is the expected speaker, so that a name that only others claim does not count. */
  readonly isOwnOnly?: true
  /** Returns the value of the argument for an id, if it is not the id itself. */
  readonly toValue?: (id: string) => unknown
}

const named = (takes: Reference, description: string): IdArgument => ({ takes, description })

/** Returns an argument for the expected speaker of words. */
const ofSpeaker = (takes: Reference, description: string): IdArgument => ({
  takes,
  description,
  isOwnOnly: true,
})

const idOnly = (description: string): IdArgument => ({ takes: null, description })

type Paths = {
  [G in ToolGroup]: {
    [R in keyof Rest[G]]: Rest[G][R] extends { path: infer P } ? P : never
  }[keyof Rest[G]]
}[ToolGroup]

/** For each parameter in a path, the part of the path before it. */
type Before<P, Done extends string = ''> = P extends `${infer Start}/{${infer Name}}${infer Rest}`
  ? `${Done}${Start}` | Before<Rest, `${Done}${Start}/{${Name}}`>
  : never

/** The accounts that an argument for any account can name. */
const ACCOUNT: Reference = ['person', 'contact', 'handle']

/** The ids in paths, by the part of the path before them. */
const IN_PATH: Readonly<Record<Before<Paths>, IdArgument>> = {
  '/api/v1/trust-cards': named(
    'person',
    'Name or user_id of a person you follow (acc_…), from trust_cards_list.',
  ),
  '/api/v1/connections': named(
    'connection',
    'Name or id of a connection (con_…), from connections_list.',
  ),
  '/api/v1/connections/{id}/members': named(
    'member',
    'Name or id of a member (acc_…, or inv_… for an invited email address), from connections_read. To leave, give your own id from context_read.',
  ),
  '/api/v1/invitations': named(
    'invitation',
    'Id of an invitation (inv_…), from invitations_pending, or the name or email address of the inviter.',
  ),
  '/api/v1/guest-codes': named(
    'guest code',
    'Name or id of a guest code (gst_…), from guest_codes_list.',
  ),
  '/api/v1/external-members': named(
    'external member',
    'Name or id of a person without an account (ext_…), from external_members_list.',
  ),
  '/api/v1/tags': named('tag', 'Name or id of a tag (tag_…), from tags_list.'),
  '/api/v1/tags/{id}/assign': named(
    'connection',
    'Name or id of a connection (con_…), from connections_list.',
  ),
  '/api/v1/presets': named('preset', 'Name or id of a preset (pre_…), from presets_list.'),
  '/api/v1/open-links': named(
    'open link',
    'Name or id of an open link (lnk_…), from open_links_list.',
  ),
  '/api/v1/open-links/requests': named(
    'request',
    'Id of a request (req_…), from open_link_requests_list, or the name or email address of the requester.',
  ),
  '/api/v1/profiles': named(
    ACCOUNT,
    'Name or @handle of a person, or id of an account (acc_…): a user_id from connections_list or trust_cards_list, or a member_id from verify_words.',
  ),
  '/api/v1/devices': named('device', 'Name or id of a device (dev_…), from devices_list.'),
  '/api/v1/sessions': named(
    'session',
    'Id of a session (ses_…), from sessions_list, or the name of its device.',
  ),
  '/api/v1/exports': named('export', 'Id of an export (exp_…), from exports_list.'),
  '/api/v1/org/members': named(
    'organisation member',
    'Email address or id of a member of the organisation (acc_…, or mem_… for a person who has not joined), from org_members_list.',
  ),
  '/api/v1/org/groups': named('group', 'Name or id of a group (grp_…), from org_groups_list.'),
  '/api/v1/org/alerts': named('alert', 'Name or id of an alert (alr_…), from org_alerts_list.'),
  '/api/v1/api-tokens': named('token', 'Name or id of a token (tok_…), from api_tokens_list.'),
}

/** The ids in paths that mean something else in one row, by the whole path. */
const IN_ROW: Readonly<{ [P in Paths]?: IdArgument }> = {
  '/api/v1/invitations/{id}/withdraw': named(
    'sent invitation',
    'Id of an invitation that you sent (inv_…), from invitations_list, or the name or email address of the invited person.',
  ),
}

/** The members of `expect` of verify_words, by the prefix of an id. */
const EXPECTED: Readonly<Record<string, string>> = {
  [ID_PREFIX.connection]: 'connection_id',
  [ID_PREFIX.account]: 'user_id',
  [ID_PREFIX.guest]: 'guest_code_id',
}

/** The ids in queries and bodies, by name. A member of an object has the name of both. */
export const ELSEWHERE: Readonly<Record<string, IdArgument>> = {
  expect: {
    ...ofSpeaker(
      ['connection', 'group member', 'guest code'],
      'Name or id of the person, connection or guest code whose words to check. Words of other people count as wrong.',
    ),
    toValue: (id) => ({ [EXPECTED[id.slice(0, 4)] ?? 'connection_id']: id }),
  },
  'expect.connection_id': ofSpeaker(
    'connection',
    'Name or id of a connection (con_…), from connections_list.',
  ),
  'expect.user_id': ofSpeaker(
    ['person', 'contact'],
    'Name or id of a member of your connections (acc_…), from connections_list.',
  ),
  'expect.guest_code_id': ofSpeaker(
    'guest code',
    'Name or id of a guest code (gst_…), from guest_codes_list.',
  ),
  'invite.user_id': named(
    ACCOUNT,
    'Name, @handle or id of an account (acc_…), from connections_list, trust_cards_list or a profile.',
  ),
  user_id: named(
    ACCOUNT,
    'Name, @handle or id of an account (acc_…), from connections_list, trust_cards_list or a profile. Give this or else email.',
  ),
  connection_id: ofSpeaker(
    'connection',
    'Name or id of a connection (con_…), from connections_list. If left out, any of your connections.',
  ),
  challenge_id: idOnly(
    'Id of a challenge (chl_…), from verify_challenge. A challenge allows one try.',
  ),
  listener: named(
    'member',
    'Name or id of the member who gave the challenge (acc_…), from connections_read. Needed if the connection has more than two members.',
  ),
  preset_id: named(
    'preset',
    'Name or id of a preset (pre_…), from presets_list. If left out, the default preset is used; null uses no preset.',
  ),
  external_member_id: named(
    'external member',
    'Name or id of the person without an account who gets the guest code (ext_…), from external_members_list.',
  ),
  tag_id: named('tag', 'Name or id of a tag that the connections have (tag_…), from tags_list.'),
  tag_ids: named(
    'tag',
    'Names or ids of the tags that a new connection gets (tag_…), from tags_list.',
  ),
  organisation_id: named(
    'organisation',
    'Name or id of an organisation (org_…), from context_read; null returns to the personal context.',
  ),
  id: named(
    'notification',
    'Ids of notifications (ntf_…), from notifications_list. If left out, ALL notifications.',
  ),
  ids: named(
    'notification',
    'Ids of notifications (ntf_…), from notifications_list. If left out, all notifications.',
  ),
  member_ids: named(
    'organisation member',
    'Email addresses or ids of active or suspended members of the organisation (acc_…), from org_members_list.',
  ),
  notify: named(
    'organisation member',
    'Email addresses or ids of the members who are notified when the rule fires (acc_…), from org_members_list. Replaces the whole list.',
  ),
  conversation_id: idOnly(
    'To continue a conversation: its id (cnv_…), from an answer of chat_turn. If left out, a new conversation begins.',
  ),
  turn_id: idOnly('Id of the answer (trn_…), from that answer of chat_turn.'),
}

/** Returns the member names of an object schema, or of all alternatives of a union. */
export function membersOf(schema: unknown): string[] {
  const { entries, wrapped, options, pipe } = schema as {
    entries?: object
    wrapped?: unknown
    options?: readonly unknown[]
    pipe?: readonly unknown[]
  }
  if (entries !== undefined) return Object.keys(entries)
  return [wrapped, ...(options ?? []), pipe?.[0]]
    .filter((inner) => inner !== undefined && inner !== schema)
    .flatMap(membersOf)
}

/** Returns the id at a parameter of a path; undefined for a path of no tool. */
export const idInPath = ({ path }: Route, name: string): IdArgument | undefined =>
  (IN_ROW as Readonly<Record<string, IdArgument>>)[path] ??
  (IN_PATH as Readonly<Record<string, IdArgument>>)[path.slice(0, path.indexOf(`/{${name}}`))]

/** An argument of a tool that is an id: its name, and its member if the argument is an object. */
export interface IdPlace {
  readonly name: string
  readonly member?: string
  readonly argument: IdArgument
}

/** Returns the arguments of a row that are ids, those in the path first. */
export function idsOf(route: Route): IdPlace[] {
  const inPath = pathNames(route.path)
  const others = [route.query, route.body].flatMap((schema) =>
    schema === undefined ? [] : membersOf(schema),
  )
  const places = inPath.flatMap((name) => {
    const argument = idInPath(route, name)
    return argument === undefined ? [] : [{ name, argument }]
  })
  const elsewhere = Object.entries(ELSEWHERE).flatMap(([key, argument]) => {
    const [name = '', member] = key.split('.')
    if (!others.includes(name)) return []
    return [member === undefined ? { name, argument } : { name, member, argument }]
  })
  return [...places, ...elsewhere]
}
