/** The command that shows what happened, in sentences. */
import { every } from '../../api/cursor.ts'
import { inQuotes } from '../../api/name-text.ts'
import { AppError } from '../../errors.ts'
import type { Api, Command } from '../command.ts'
import {
  type EventItem,
  type LoggedEvent,
  followEvents,
  isGap,
  readEvents,
} from '../event-pages.ts'
import { parseLimit } from '../option-fields.ts'
import { shown } from '../table.ts'
import { when } from '../times.ts'
import { invitedOf, inviterOf } from './connections/first-contact.ts'
import { type LogNames, sentenceOf } from './log-sentences.ts'

const USUAL = 50

/** A time before the oldest event. */
const BEGINNING = '1970-01-01T00:00:00Z'

/** The width of the column of times. */
const WHEN_WIDTH = 'DD Mon hh:mm (NN minutes ago)'.length

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
type Entry = LoggedEvent & { readonly text: string }

/** Returns the last events of the history, oldest first. */
async function lastEntries(api: Api, items: readonly EventItem[], limit: number): Promise<Entry[]> {
  const none: LogNames = new Map()
  const events = items
    .filter((item): item is LoggedEvent => !isGap(item) && sentenceOf(item, none) !== null)
    .slice(-limit)
  const names = await namesFor(api, events)
  return events.map((event) => ({ ...event, text: sentenceOf(event, names) ?? '' }))
}

const lineOf = ({ timestamp, text }: Entry): string =>
  `${when(timestamp).padEnd(WHEN_WIDTH)}  ${shown(text)}`

export const logCommand: Command = {
  usage: '[--limit N] [--follow] [--json]',
  help: `
Shows what happened on this device in the last 7 days, newest last: whose words you checked and how it ended, who
joined or left, guests, devices, keys, invitations, stamps, tokens and webhooks that were given up. For all
events and for scripts, use "countersignd events".

  --limit N   show at most this number of the last entries (default: ${USUAL})
  --follow    go on: show each entry as it happens`,
  options: { limit: { type: 'string' }, follow: { type: 'boolean' } },
  args: [0, 0],
  run({ options, io, json, print, withApi }) {
    const limit = parseLimit(String(options['limit'] ?? USUAL))
    return withApi(async (api, hasDaemon) => {
      const { items, since } = await readEvents(api, { since: BEGINNING })
      const past = await lastEntries(api, items, limit)
      if (options['follow'] !== true) {
        print({ items: past }, past.map(lineOf))
        return
      }
      const show = (one: Entry) =>
        void io.stdout.write(`${json ? JSON.stringify(one) : lineOf(one)}\n`)
      past.forEach(show)
      await followEvents({ api, hasDaemon }, { since }, async (item) => {
        for (const one of await lastEntries(api, [item], 1)) show(one)
      })
    })
  },
}
