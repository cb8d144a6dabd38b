/** The command that shows what happened, in sentences. */
import type { Command } from '../command.ts'
import { followEvents, readEvents } from '../event-pages.ts'
import { parseLimit } from '../option-fields.ts'
import { shown } from '../table.ts'
import { when } from '../times.ts'
import { type HistoryEntry, logEntries } from './history.ts'

const USUAL = 50

/** A time before the oldest event. */
const BEGINNING = '1970-01-01T00:00:00Z'

/** The width of the column of times. */
const WHEN_WIDTH = 'DD Mon hh:mm (NN minutes ago)'.length

const lineOf = ({ timestamp, text }: HistoryEntry): string =>
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
      const past = await logEntries(api, items, limit)
      if (options['follow'] !== true) {
        print({ items: past }, past.map(lineOf))
        return
      }
      const show = (one: HistoryEntry) =>
        void io.stdout.write(`${json ? JSON.stringify(one) : lineOf(one)}\n`)
      past.forEach(show)
      await followEvents({ api, hasDaemon }, { since }, async (item) => {
        for (const one of await logEntries(api, [item], 1)) show(one)
      })
    })
  },
}
