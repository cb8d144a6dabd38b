/** Reads the events of the daemon, page by page. */
import * as v from 'valibot'
import { EventPage } from '../api/live/page.ts'
import { STREAM_EVENT } from '../api/live/catalogue.ts'
import { StartError } from '../errors.ts'
import type { Api } from './command.ts'

/** How long one request waits for events, in seconds. */
const WAIT_S = 30

/** An event, or the mark that earlier ones are missing. */
export type EventItem = v.InferOutput<typeof EventPage>['items'][number]

/** An event of the catalogue. */
export type LoggedEvent = Exclude<EventItem, { type: typeof STREAM_EVENT.gap }>

/** Returns whether an item marks that earlier events are missing. */
export const isGap = (item: EventItem): item is Exclude<EventItem, LoggedEvent> =>
  item.type === STREAM_EVENT.gap

/** Where to begin, and which types to read. */
type EventQuery = Pick<Parameters<Api['events']['follow']>[0], 'since' | 'types'>

/** Reads a page of events. */
async function read(api: Api, query: EventQuery & { wait: number }) {
  const { body } = await api.events.follow(query)
  return v.parse(EventPage, JSON.parse(Buffer.from(body as Uint8Array).toString()))
}

/** Reads all events since a place, oldest first, and the place after them. */
export async function readEvents(
  api: Api,
  query: EventQuery,
): Promise<{ items: EventItem[]; since: string }> {
  const items: EventItem[] = []
  for (let { since } = query; ;) {
    const page = await read(api, { ...query, ...(since === undefined ? {} : { since }), wait: 0 })
    items.push(...page.items)
    if (page.items.length === 0) return { items, since: page.since }
    since = page.since
  }
}

/**
 * Passes each event to a function as it happens, until the user ends the command.
 * @throws StartError `daemonSilent` if no daemon runs
 */
export async function followEvents(
  { api, hasDaemon }: { readonly api: Api; readonly hasDaemon: boolean },
  query: EventQuery,
  onItem: (item: EventItem) => void | Promise<void>,
): Promise<never> {
  if (!hasDaemon)
    throw new StartError(
      'daemonSilent',
      'No daemon is running, so nothing changes. Start it with "countersignd serve".',
    )
  for (let { since } = query; ;) {
    const from = since === undefined ? {} : { since }
    const page = await read(api, { ...query, ...from, wait: WAIT_S })
    for (const item of page.items) await onItem(item)
    since = page.since
  }
}
