/** What happened on this device, as sentences, from its events. */
import { every } from '../../api/cursor.ts'
import { inQuotes } from '../../api/name-text.ts'
import { AppError } from '../../errors.ts'
import type { Api } from '../command.ts'
import { type EventItem, type LoggedEvent, isGap } from '../event-pages.ts'
import { invitedOf, inviterOf } from './connections/first-contact.ts'
import { type LogNames, sentenceOf } from './log-sentences.ts'

/** For each prefix of ids that events contain without a name: reads the names. */
const NAMES: Readonly<
  Record<string, (api: Api) => Promise<readonly (readonly [string, string])[]>>
> = {
  dev_: async (api) =>
    (await every((query) => api.devices.list(query))).map(({ id, name }) => [id, inQuotes(name)]),
  inv_: async (api) => {
    const { received, sent } = await api.invitations.list({})
    return [
      ...received.map((one) => [one.id, inviterOf(one)] as const),
      ...sent.map((one) => [one.id, invitedOf(one)] as const),
    ]
  },
  req_: async (api) =>
    (await every((query) => api.openLinkRequests.list(query))).map(({ id, requester }) => [
      id,
      requester.email,
    ]),
}

/** Reads the names for these events. If they cannot be read, the sentences have the ids. */
async function namesFor(api: Api, events: readonly LoggedEvent[]): Promise<LogNames> {
  const names = new Map<string, string>()
  const ids = events.flatMap(({ data }) => Object.values<unknown>(data))
  for (const [prefix, read] of Object.entries(NAMES)) {
    if (!ids.some((id) => typeof id === 'string' && id.startsWith(prefix))) continue
    try {
      for (const [id, name] of await read(api)) names.set(id, name)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
  }
  return names
}

/** An event, and what happened as a sentence. */
export type HistoryEntry = LoggedEvent & { readonly text: string }

/**
 * Returns the last events that are part of the history, oldest first.
 * @param limit the maximum number of events
 */
export async function logEntries(
  api: Api,
  items: readonly EventItem[],
  limit: number,
): Promise<HistoryEntry[]> {
  const none: LogNames = new Map()
  const events = items
    .filter((item): item is LoggedEvent => !isGap(item) && sentenceOf(item, none) !== null)
    .slice(-limit)
  const names = await namesFor(api, events)
  return events.map((event) => ({ ...event, text: sentenceOf(event, names) ?? '' }))
}
