/**
 * What users and models can name in place of an id.
 *
 * For each kind: its ids, what lists them, and the names by which an item is found.
 */
import { comparableName } from '../../crypto/encoding/display-names.ts'
import { every } from '../cursor.ts'
import type { Rest } from '../rest/index.ts'
import type { Connection, Member } from '../rest/connections.ts'
import type { Invitation, Party } from '../rest/invitations.ts'
import type { PersonName } from '../rest/names.ts'
import type { Calls } from '../route.ts'
import type { ToolName } from '../tools/tool.ts'

/** The calls from which the lists of named items are read. */
export type NamingApi = Calls<Rest, 'daemon' | 'account' | 'both'>

/** A kind of item that can be named. */
export type NamedKind =
  | 'device'
  | 'session'
  | 'connection'
  | 'contact'
  | 'group member'
  | 'member'
  | 'invitation'
  | 'sent invitation'
  | 'guest code'
  | 'external member'
  | 'person'
  | 'export'
  | 'notification'
  | 'open link'
  | 'request'
  | 'token'
  | 'tag'
  | 'preset'
  | 'organisation'
  | 'group'
  | 'organisation member'
  | 'alert'
  | 'webhook'

/**
 * What an argument can name: one kind or several. With `handle`, also any account by its @handle;
 * with `address`, by its handle or e-mail address.
 */
export type Reference = NamedKind | readonly (NamedKind | 'address' | 'handle')[]

/** A command, and the tool that does the same; without a tool if there is none. */
export interface Operation {
  readonly command: string
  readonly tool?: ToolName
}

/** An item of a kind, with the names by which it can be named. */
export interface NamedItem {
  readonly id: string
  /** The names that the user chose or confirmed, and addresses. The first one is shown. */
  readonly names: readonly string[]
  /** Names that only another person claims. They count only if no item has the name otherwise. */
  readonly claims?: readonly string[]
  /** Whether the item has ended. Its names count only if no other item has the name. */
  readonly isPast?: boolean
}

interface Kind {
  readonly prefixes: readonly string[]
  /** What stands for an item in a usage line. */
  readonly placeholder: string
  /** The heading of its items in an error. */
  readonly many: string
  /** Whether its names are names of people. */
  readonly isPerson: boolean
  /** Returns what to do if the item does not exist; undefined if there is nothing more to do. */
  readonly remedy?: (nameOf: (operation: Operation) => string) => string
  /** What lists the ids. */
  readonly list: Operation
  /**
   * Reads the items.
   * @param within the id of the connection, for kinds of items in one connection
   */
  readonly read: (api: NamingApi, within: string) => Promise<readonly NamedItem[]>
}

const given = (names: readonly (string | null | undefined)[]): string[] =>
  names.filter((name) => name != null && name !== '') as string[]

/** Returns a person's name as a name or as a claim, depending on its source. */
function nameOrClaim({
  display_name: name,
  name_source: source,
}: Pick<PersonName, 'display_name' | 'name_source'>) {
  const isClaim = source === 'self' || source === 'server'
  return { names: isClaim ? [] : [name], claims: isClaim ? [name] : [] }
}

/** Returns a kind of items with a name and without a state. */
const simple = (
  prefix: string,
  placeholder: string,
  many: string,
  list: Operation,
  items: (api: NamingApi) => Promise<readonly { readonly id: string; readonly name: string }[]>,
): Kind => ({
  prefixes: [prefix],
  placeholder,
  many,
  isPerson: false,
  list,
  read: async (api) => (await items(api)).map(({ id, name }) => ({ id, names: [name] })),
})

const partyNames = ({ email, display_name, name_source }: Party) => {
  if (display_name === null || name_source === null) return { names: given([email]) }
  const { names, claims } = nameOrClaim({ display_name, name_source })
  return { names: given([...names, email]), claims }
}

/** Returns the kind of the invitations of one direction. */
const invitations = (
  direction: Invitation['direction'],
  party: 'from' | 'to',
  open: readonly Invitation['state'][],
): Kind => ({
  prefixes: ['inv_'],
  placeholder: 'INVITATION',
  many: direction === 'received' ? 'Invitations to you' : 'Invitations of yours',
  isPerson: false,
  list: { command: 'invite list', tool: 'invitations_list' },
  read: async (api) =>
    (await api.invitations.list({}))[direction].map((one) => {
      const { names, claims = [] } = partyNames(one[party])
      const isPast = !open.includes(one.state)
      const { id, connection_name: connection } = one
      // The inviter chose the name of the connection.
      return direction === 'received'
        ? { id, names, claims: [...claims, connection], isPast }
        : { id, names: [...names, connection], claims, isPast }
    }),
})

const connections = (api: NamingApi) => every((query) => api.connections.list(query))

/** Returns the names of a member. For an invited mailbox, the name is the address. */
const memberNames = (member: Member) =>
  member.user_id === null ? { names: [member.display_name], claims: [] } : nameOrClaim(member)

type PeopleNames = Required<Pick<NamedItem, 'names' | 'claims'>>

/**
 * Returns the names of a direct connection: its own, and those of its other member.
 *
 * The account server names the connection of an invited person after the inviter. So a name that
 * the other member claims is a claim as the name of the connection too.
 */
function directNames({ name, members }: Connection): PeopleNames {
  const people = members.filter((one) => one.name_source !== 'own').map(memberNames)
  const claims = people.flatMap((one) => one.claims)
  const forms = new Set(claims.map(comparableName))
  const own = forms.has(comparableName(name)) ? [] : [name]
  return { names: [...own, ...people.flatMap(({ names }) => names)], claims }
}

/**
 * Returns the other members of connections. If a connection has only one other member, its name is
 * also a name of that member.
 */
function peopleIn(all: readonly Connection[]): NamedItem[] {
  const people = new Map<string, PeopleNames & { readonly id: string }>()
  for (const connection of all)
    for (const one of connection.members) {
      if (one.name_source === 'own' || one.user_id === null) continue
      const isDirect = connection.kind === 'direct'
      const { names, claims } = isDirect ? directNames(connection) : nameOrClaim(one)
      const before = people.get(one.id)
      people.set(one.id, {
        id: one.id,
        names: [...(before?.names ?? []), ...names],
        claims: [...(before?.claims ?? []), ...claims],
      })
    }
  return [...people.values()]
}

/** The members of one connection. */
const member: Kind = {
  prefixes: ['acc_', 'inv_'],
  placeholder: 'MEMBER',
  many: 'Members',
  isPerson: true,
  list: { command: 'connection members', tool: 'connections_read' },
  read: async (api, id) =>
    (await api.connections.read({ id })).members.map((one) => ({
      id: one.id,
      ...memberNames(one),
    })),
}

const KINDS: Readonly<Record<NamedKind, Kind>> = {
  device: simple(
    'dev_',
    'DEVICE',
    'Devices',
    { command: 'device list', tool: 'devices_list' },
    (api) => every((q) => api.devices.list(q)),
  ),
  session: {
    prefixes: ['ses_'],
    placeholder: 'SESSION',
    many: 'Sessions',
    isPerson: false,
    list: { command: 'session list', tool: 'sessions_list' },
    async read(api) {
      const devices = await every((query) => api.devices.list(query))
      const names = new Map(devices.map(({ id, name }) => [id, name]))
      const sessions = await every((query) => api.sessions.list(query))
      return sessions.map(({ id, device_id }) => ({ id, names: given([names.get(device_id)]) }))
    },
  },
  connection: {
    prefixes: ['con_'],
    placeholder: 'CONNECTION',
    many: 'Connections',
    isPerson: true,
    list: { command: 'connection list', tool: 'connections_list' },
    read: async (api) =>
      (await connections(api)).map((one) => ({
        id: one.id,
        ...(one.kind === 'direct' ? directNames(one) : { names: [one.name] }),
        isPast: one.state === 'ended',
      })),
  },
  contact: {
    prefixes: ['acc_'],
    placeholder: 'PERSON',
    many: 'Members of your connections',
    isPerson: true,
    list: { command: 'connection members', tool: 'connections_list' },
    read: async (api) => peopleIn(await connections(api)),
  },
  'group member': {
    prefixes: ['acc_'],
    placeholder: 'PERSON',
    many: 'Members of your groups',
    isPerson: true,
    list: { command: 'connection members', tool: 'connections_read' },
    read: async (api) => peopleIn((await connections(api)).filter(({ kind }) => kind === 'group')),
  },
  member,
  invitation: invitations('received', 'from', ['pending']),
  'sent invitation': invitations('sent', 'to', ['pending', 'approved']),
  'guest code': {
    prefixes: ['gst_'],
    placeholder: 'GUEST',
    many: 'Guests',
    isPerson: true,
    list: { command: 'guest list', tool: 'guest_codes_list' },
    read: async (api) =>
      (await every((query) => api.guestCodes.list(query))).map((guest) => ({
        id: guest.id,
        names: given([guest.label, guest.external_member?.display_name]),
        isPast: guest.state !== 'active',
      })),
  },
  'external member': {
    prefixes: ['ext_'],
    placeholder: 'EXTERNAL',
    many: 'External members',
    isPerson: true,
    list: { command: 'external list', tool: 'external_members_list' },
    read: async (api) =>
      (await every((query) => api.externalMembers.list(query))).map((one) => ({
        id: one.id,
        names: given([one.display_name, one.email]),
      })),
  },
  person: {
    prefixes: ['acc_'],
    placeholder: 'PERSON',
    many: 'People you follow',
    isPerson: true,
    list: { command: 'trust list', tool: 'trust_cards_list' },
    read: async (api) =>
      (await every((query) => api.trustCards.list(query))).map((card) => {
        const { names, claims } = nameOrClaim(card)
        return { id: card.user_id, names, claims: given([...claims, card.own_name]) }
      }),
  },
  export: {
    prefixes: ['exp_'],
    placeholder: 'EXPORT',
    many: 'Exports',
    isPerson: false,
    list: { command: 'export list', tool: 'exports_list' },
    read: async (api) =>
      (await every((query) => api.exports.list(query))).map(({ id }) => ({ id, names: [] })),
  },
  notification: {
    prefixes: ['ntf_'],
    placeholder: 'NOTIFICATION',
    many: 'Notifications',
    isPerson: false,
    list: { command: 'notification list', tool: 'notifications_list' },
    read: async (api) =>
      (await every((query) => api.notifications.list(query))).map(({ id }) => ({ id, names: [] })),
  },
  'open link': {
    prefixes: ['lnk_'],
    placeholder: 'LINK',
    many: 'Open links',
    isPerson: false,
    list: { command: 'link list', tool: 'open_links_list' },
    read: async (api) =>
      (await every((query) => api.openLinks.list(query))).map(({ id, title, slug, url }) => ({
        id,
        names: [title, slug, url],
      })),
  },
  request: {
    prefixes: ['req_'],
    placeholder: 'REQUEST',
    many: 'Requests',
    isPerson: true,
    list: { command: 'link requests', tool: 'open_link_requests_list' },
    read: async (api) =>
      (await every((query) => api.openLinkRequests.list(query))).map((one) => ({
        id: one.id,
        names: [one.requester.email],
        claims: [one.requester.display_name],
        isPast: one.state !== 'pending',
      })),
  },
  token: {
    prefixes: ['tok_'],
    placeholder: 'TOKEN',
    many: 'Tokens',
    isPerson: false,
    list: { command: 'token list', tool: 'api_tokens_list' },
    read: async (api) =>
      (await every((query) => api.apiTokens.list(query))).map(({ id, name, state }) => ({
        id,
        names: [name],
        isPast: state !== 'active',
      })),
  },
  tag: simple('tag_', 'TAG', 'Tags', { command: 'tag list', tool: 'tags_list' }, (api) =>
    every((q) => api.tags.list(q)),
  ),
  preset: simple(
    'pre_',
    'PRESET',
    'Presets',
    { command: 'preset list', tool: 'presets_list' },
    (api) => every((q) => api.presets.list(q)),
  ),
  organisation: {
    ...simple(
      'org_',
      'ORGANISATION',
      'Organisations',
      { command: 'org list', tool: 'context_read' },
      async (api) => [...(await api.context.read({})).organisations],
    ),
    remedy: (nameOf) =>
      `To create one, use ${nameOf({ command: 'org create', tool: 'organisations_create' })}. If you are suspended in it, ask one of its owners or admins to activate you.`,
  },
  group: simple(
    'grp_',
    'GROUP',
    'Groups',
    { command: 'org group list', tool: 'org_groups_list' },
    (api) => every((q) => api.orgGroups.list(q)),
  ),
  'organisation member': {
    prefixes: ['acc_', 'mem_', 'mch_'],
    placeholder: 'MEMBER',
    many: 'Members',
    isPerson: true,
    list: { command: 'org members', tool: 'org_members_list' },
    read: async (api) =>
      (await every((query) => api.orgMembers.list(query))).map(({ id, display_name, email }) => ({
        id,
        names: given([email]),
        claims: given([display_name]),
      })),
  },
  alert: simple(
    'alr_',
    'ALERT',
    'Alerts',
    { command: 'org alert list', tool: 'org_alerts_list' },
    (api) => every((q) => api.orgAlerts.list(q)),
  ),
  webhook: {
    prefixes: ['whk_'],
    placeholder: 'WEBHOOK',
    many: 'Webhooks',
    isPerson: false,
    list: { command: 'webhook list' },
    read: async (api) =>
      (await every((query) => api.webhooks.list(query))).map(({ id, name, url }) => ({
        id,
        names: given([name, url]),
      })),
  },
}

/** Returns what is known about a kind. */
export const kindOf = (kind: NamedKind): Kind => KINDS[kind]

/** All kinds. */
export const NAMED_KINDS = Object.keys(KINDS) as readonly NamedKind[]
