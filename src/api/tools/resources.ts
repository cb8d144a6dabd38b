/**
 * The resources of the Model Context Protocol. Each is the answer of a tool, under an address to
 * which a client can subscribe.
 */
import { timeAt } from '../fields.ts'
import { isChosen } from '../live/event-types.ts'
import { EVENT_TYPES, STREAM_EVENT } from '../live/catalogue.ts'
import type { ToolName } from './tool.ts'

/** How old the events of the resource `countersign://events` may be, in milliseconds. */
const NEWEST_MS = 3_600_000

interface Resource {
  readonly name: string
  readonly title: string
  readonly description: string
  /** The tool that returns the resource. */
  readonly tool: ToolName
  /** Returns the arguments of the tool. */
  readonly args?: () => Readonly<Record<string, unknown>>
  /** The types of events after which the answer can differ. */
  readonly types: readonly string[]
}

const RESOURCES = {
  'countersign://events': {
    name: 'events',
    title: 'Newest events',
    description:
      'What happened on this device in the last hour: at most 200 events, oldest first. To read on, call events_follow with the "since" of this answer.',
    tool: 'events_follow',
    args: () => ({ since: timeAt(Date.now() - NEWEST_MS) }),
    types: EVENT_TYPES,
  },
  'countersign://connections': {
    name: 'connections',
    title: 'Connections',
    description: 'The first page of your connections, as connections_list returns it.',
    tool: 'connections_list',
    types: ['connection.*', 'member.*'],
  },
  'countersign://guest-codes': {
    name: 'guest-codes',
    title: 'Guest codes',
    description:
      'The first page of your guest codes, as guest_codes_list returns it, with your words of this minute. There is no notice when the words change.',
    tool: 'guest_codes_list',
    types: ['guest_code.*'],
  },
  'countersign://invitations': {
    name: 'invitations',
    title: 'Invitations',
    description: 'The invitations that you received or sent, as invitations_list returns them.',
    tool: 'invitations_list',
    types: ['invitation.*'],
  },
  'countersign://notifications': {
    name: 'notifications',
    title: 'Notifications',
    description: 'The first page of your notifications, as notifications_list returns it.',
    tool: 'notifications_list',
    types: ['notification.*'],
  },
} as const satisfies Readonly<Record<string, Resource>>

const ALL: readonly (readonly [uri: string, Resource])[] = Object.entries(RESOURCES)

/** Returns the resource with an address; undefined if there is none. */
export const resourceAt = (uri: string): Resource | undefined =>
  ALL.find(([own]) => own === uri)?.[1]

/** The list of resources, as clients get it. */
export const listedResources = ALL.map(([uri, { name, title, description }]) => ({
  uri,
  name,
  title,
  description,
  mimeType: 'application/json',
}))

/** The method of a request to subscribe. Its answer is a stream of notices. */
export const LISTENING = 'subscriptions/listen'

/** A message in the parts that matter for a subscription, which need not be valid. */
interface Asked {
  readonly method?: unknown
  readonly params?: { readonly notifications?: { readonly resourceSubscriptions?: unknown } }
}

/**
 * Returns a request to subscribe without the addresses of no resource, so that its acknowledgement
 * names only what the client gets. Returns any other message as it is.
 * @returns `uris`: the resources to which the message subscribes
 */
export function narrowed<Message>(message: Message): {
  message: Message
  uris: ReadonlySet<string>
} {
  const { method, params } = (message ?? {}) as Asked
  const asked = params?.notifications?.resourceSubscriptions
  if (method !== LISTENING || !Array.isArray(asked)) return { message, uris: new Set() }
  const known = asked.filter((uri): uri is string => resourceAt(uri as string) !== undefined)
  // The library rejects values that are no addresses.
  const odd = asked.filter((uri) => typeof uri !== 'string')
  const notifications = { ...params?.notifications, resourceSubscriptions: [...known, ...odd] }
  return { message: { ...message, params: { ...params, notifications } }, uris: new Set(known) }
}

/**
 * Returns the addresses of the resources that an event of a type concerns. If events are missing,
 * these are all.
 */
export const changedBy = (type: string): string[] =>
  ALL.filter(
    ([, { types }]) => type in STREAM_EVENT || types.some((wanted) => isChosen(wanted, type)),
  ).map(([uri]) => uri)
