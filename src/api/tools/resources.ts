/**
 * The resources of the Model Context Protocol. Each is the answer of a tool, under an address to
 * which a client can subscribe.
 */
import { timeAt } from '../fields.ts'
import { isChosen } from '../live/event-types.ts'
import { EVENT_TYPES, STREAM_EVENT } from '../live/catalogue.ts'
import type { Completed } from './completions.ts'
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
  /** Returns the part of the answer that the resource has (default: all of it). */
  readonly partOf?: (answer: Readonly<Record<string, unknown>>) => object
  /** The types of events after which the answer can differ. */
  readonly types: readonly string[]
}

/**
 * Returns a list of guest codes without the words of this minute: programs attach resources to
 * conversations and store them, without a request of the user for the words.
 */
const withoutWords: Resource['partOf'] = (answer) => {
  const items = answer['items'] as readonly { readonly code?: unknown }[]
  const parts = items.map((guest) => {
    const { code: _, ...part } = guest
    return part
  })
  return { ...answer, items: parts }
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
      'The first page of your guest codes, as guest_codes_list returns it, but without your words of this minute.',
    tool: 'guest_codes_list',
    partOf: withoutWords,
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
  'countersign://status': {
    name: 'status',
    title: 'Status',
    description:
      'Whether this device is signed in and in touch with its account server, and what needs a person, as status_read returns it.',
    tool: 'status_read',
    types: ['session.*', 'device.*', 'sync.*', 'trust.*', 'connection.*'],
  },
} as const satisfies Readonly<Record<string, Resource>>

const ALL: readonly (readonly [uri: string, Resource])[] = Object.entries(RESOURCES)

/** Returns the resource with an address, for a subscription; undefined if there is none. */
export const resourceAt = (uri: string): Resource | undefined =>
  ALL.find(([own]) => own === uri)?.[1]

/** The resources that are read by the name of an item. */
const BY_NAME = {
  uriTemplate: 'countersign://connections/{connection}',
  name: 'connection',
  title: 'Connection',
  description:
    'One connection by its name or id, with its members, as connections_read returns it. It has no words, and no notices: subscribe to countersign://connections.',
  mimeType: 'application/json',
} as const

/** The list of resource templates, as clients get it. */
export const listedTemplates = [BY_NAME]

/** Returns what a variable of a resource template accepts; undefined if there is none. */
export const variableOf = (uriTemplate: string, name: string): Completed | undefined =>
  uriTemplate === BY_NAME.uriTemplate && name === 'connection' ? { takes: 'connection' } : undefined

/** A resource, as it is read: the call of a tool, and the part of its answer. */
type Readable = Pick<Resource, 'tool' | 'args' | 'partOf'>

/** Returns what an address stands for; undefined if it stands for nothing. */
export function readableAt(uri: string): Readable | undefined {
  const [, encoded] = /^countersign:\/\/connections\/([^/?#]+)$/.exec(uri) ?? []
  if (encoded === undefined) return resourceAt(uri)
  try {
    const id = decodeURIComponent(encoded)
    return { tool: 'connections_read', args: () => ({ id }) }
  } catch {
    // A percent sign without two digits.
    return undefined
  }
}

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
