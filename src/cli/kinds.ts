/**
 * What users can name in commands.
 *
 * For each kind: its ids, the command that lists them, and the names by which an item is found.
 */
import { every } from '../api/cursor.ts'
import type { Invitation, Party } from '../api/rest/invitations.ts'
import type { PersonName } from '../api/rest/names.ts'
import type { Api, NamedKind } from './command.ts'

/** An item of a kind, with the names by which a user can name it. */
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
  /** What to do if the item does not exist; undefined if there is nothing more to do. */
  readonly remedy?: string
  /** The command that lists the ids. */
  readonly list: string
  /**
   * Reads the items.
   * @param args the arguments of the command, with ids in place of names. The members of a
   *   connection depend on the first one
   */
  readonly read: (api: Api, args: readonly string[]) => Promise<readonly NamedItem[]>
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
  list: string,
  items: (api: Api) => Promise<readonly { readonly id: string; readonly name: string }[]>,
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
  list: 'invite list',
  read: async (api) =>
    (await api.invitations.list({}))[direction].map((one) => {
      const { names, claims } = partyNames(one[party])
      const isPast = !open.includes(one.state)
      return { id: one.id, names: [...names, one.connection_name], claims: claims ?? [], isPast }
    }),
})

const connections = (api: Api) => every((query) => api.connections.list(query))

/** The members of the connection that the first argument names. */
const member: Kind = {
  prefixes: ['acc_', 'inv_'],
  placeholder: 'MEMBER',
  many: 'Members',
  isPerson: true,
  list: 'connection members',
  read: async (api, [id = '']) =>
    (await api.connections.read({ id })).members.map((one) => ({
      id: one.id,
      // For an invited mailbox, the name is the address.
      ...(one.user_id === null ? { names: [one.display_name] } : nameOrClaim(one)),
    })),
}

const KINDS: Readonly<Record<NamedKind, Kind>> = {
  device: simple('dev_', 'DEVICE', 'Devices', 'device list', (api) =>
    every((q) => api.devices.list(q)),
  ),
  session: {
    prefixes: ['ses_'],
    placeholder: 'SESSION',
    many: 'Sessions',
    isPerson: false,
    list: 'session list',
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
    list: 'connection list',
    read: async (api) =>
      (await connections(api)).map(({ id, name, kind, members, state }) => ({
        id,
        names: [name],
        claims:
          kind === 'direct'
            ? members.filter((one) => one.name_source !== 'own').map((one) => one.display_name)
            : [],
        isPast: state === 'ended',
      })),
  },
  'group member': {
    prefixes: ['acc_'],
    placeholder: 'PERSON',
    many: 'Members of your groups',
    isPerson: true,
    list: 'connection members',
    async read(api) {
      const groups = (await connections(api)).filter(({ kind }) => kind === 'group')
      const members = groups.flatMap((group) => group.members)
      const others = members.filter((one) => one.name_source !== 'own' && one.user_id !== null)
      const all = others.map((one): [string, NamedItem] => [
        one.id,
        { id: one.id, ...nameOrClaim(one) },
      ])
      return [...new Map(all).values()]
    },
  },
  member,
  invitation: invitations('received', 'from', ['pending']),
  'sent invitation': invitations('sent', 'to', ['pending', 'approved']),
  'guest code': {
    prefixes: ['gst_'],
    placeholder: 'GUEST',
    many: 'Guests',
    isPerson: true,
    list: 'guest list',
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
    list: 'external list',
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
    list: 'trust list',
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
    list: 'export list',
    read: async (api) =>
      (await every((query) => api.exports.list(query))).map(({ id }) => ({ id, names: [] })),
  },
  notification: {
    prefixes: ['ntf_'],
    placeholder: 'NOTIFICATION',
    many: 'Notifications',
    isPerson: false,
    list: 'notification list',
    read: async (api) =>
      (await every((query) => api.notifications.list(query))).map(({ id }) => ({ id, names: [] })),
  },
  'open link': {
    prefixes: ['lnk_'],
    placeholder: 'LINK',
    many: 'Open links',
    isPerson: false,
    list: 'link list',
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
    list: 'link requests',
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
    list: 'token list',
    read: async (api) =>
      (await every((query) => api.apiTokens.list(query))).map(({ id, name, state }) => ({
        id,
        names: [name],
        isPast: state !== 'active',
      })),
  },
  tag: simple('tag_', 'TAG', 'Tags', 'tag list', (api) => every((q) => api.tags.list(q))),
  preset: simple('pre_', 'PRESET', 'Presets', 'preset list', (api) =>
    every((q) => api.presets.list(q)),
  ),
  organisation: {
    ...simple('org_', 'ORGANISATION', 'Organisations', 'org list', async (api) => [
      ...(await api.context.read({})).organisations,
    ]),
    remedy:
      'To create one, use "countersignd org create". If you are suspended in it, ask one of its owners or admins to activate you.',
  },
  group: simple('grp_', 'GROUP', 'Groups', 'org group list', (api) =>
    every((q) => api.orgGroups.list(q)),
  ),
  'organisation member': {
    prefixes: ['acc_', 'mem_', 'mch_'],
    placeholder: 'MEMBER',
    many: 'Members',
    isPerson: true,
    list: 'org members',
    read: async (api) =>
      (await every((query) => api.orgMembers.list(query))).map(({ id, display_name, email }) => ({
        id,
        names: given([email]),
        claims: given([display_name]),
      })),
  },
  alert: simple('alr_', 'ALERT', 'Alerts', 'org alert list', (api) =>
    every((q) => api.orgAlerts.list(q)),
  ),
  webhook: {
    prefixes: ['whk_'],
    placeholder: 'WEBHOOK',
    many: 'Webhooks',
    isPerson: false,
    list: 'webhook list',
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
