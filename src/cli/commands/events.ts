/** The command that shows what changes, as it happens. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import * as v from 'valibot'
import { EventPage } from '../../api/live/page.ts'
import { EVENT_TYPES, STREAM_EVENT } from '../../api/live/catalogue.ts'
import { timeAt } from '../../api/fields.ts'
import { StartError } from '../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../command.ts'
import { plainFileFault } from '../errors/file-errors.ts'
import { parseSeconds } from '../option-fields.ts'
import { shown } from '../table.ts'

/** How long one request waits for events, in seconds. */
const WAIT_S = 30
/** Without `--since`, the events of this time are listed, in seconds. */
const RECENT_S = 24 * 3600

type Item = v.InferOutput<typeof EventPage>['items'][number]

/** Returns the value of `since` for the option: a duration becomes a time. */
function sinceOf(given: string | undefined, now: number): string | undefined {
  if (given === undefined || !/^\d+[smhdw]?$/.test(given)) return given
  return timeAt(now - 1000 * parseSeconds('since', given))
}

/** Returns an event as one line for people. */
function lineOf({ type, timestamp, data }: Item): string {
  if (type === STREAM_EVENT.gap) return `${timestamp}  gap  earlier events are missing`
  const values = Object.entries(data as Readonly<Record<string, unknown>>).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  return shown([timestamp, type, ...values].join('  '))
}

/**
 * Runs a program with an event as JSON on its standard input, and waits until it ends.
 * @throws StartError if it cannot be started
 */
async function run(
  program: string,
  args: readonly string[],
  { event, say }: { readonly event: Item; readonly say: Invocation['say'] },
): Promise<void> {
  const child = spawn(program, args, { stdio: ['pipe', 'inherit', 'inherit'] })
  // A program may end without having read its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(`${JSON.stringify(event)}\n`)
  try {
    const [status, signal] = (await once(child, 'close')) as [number | null, string | null]
    if (status !== 0)
      say(`${program} ended with ${signal ?? `status ${status}`} for ${event.type}.`)
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    const fault = plainFileFault(program, code) ?? `${message}.`
    throw new StartError('failed', `Cannot run ${program}: ${fault}`, cause)
  }
}

const noDaemon = () =>
  new StartError(
    'daemonSilent',
    'No daemon is running, so nothing changes. Start it with "countersignd serve".',
  )

/** Reads a page of events. */
export async function readEvents(api: Api, query: Parameters<Api['events']['follow']>[0]) {
  const { body } = await api.events.follow(query)
  return v.parse(EventPage, JSON.parse(Buffer.from(body as Uint8Array).toString()))
}

/** All types of events, one line for each kind. */
const TYPES = [...Map.groupBy(EVENT_TYPES, (type) => type.split('.')[0]).values()]
  .map((types) => `  ${types.join(', ')}`)
  .join('\n')

export const eventsCommand: Command = {
  usage:
    '[--follow] [--types TYPES] [--since EVENT|TIME|AGE] [--exec PROGRAM [-- ARGUMENT…]] [--json]',
  help: `
Lists what changed on this daemon, oldest first: connections, members, checks of words, devices, tokens and more. The
types of events are:

${TYPES}

  --follow         go on: show each event as it happens
  --types TYPES    only these types, separated by commas. "connection.*" means all that begin with "connection."
  --since SINCE    begin after this event (evt_…), at this time (RFC 3339), or this long ago, such as 2h or 7d.
                   Otherwise the events of the last 24 hours are listed, and --follow begins with the next event
  --exec PROGRAM   like --follow, but run a program for each event, one at a time, without a shell. The event is one
                   line of JSON on its standard input. Write the program's own arguments after "--"

With --json and --follow, each event is one line of JSON.`,
  examples: {
    'events --follow': 'show each event as it happens',
    'events --follow --exec ./notify.sh': 'run a program for each event',
  },
  options: {
    follow: { type: 'boolean' },
    types: { type: 'string' },
    since: { type: 'string' },
    exec: { type: 'string' },
  },
  args: [0, 100],
  async run({ options, args, io, json, print, withApi, say }) {
    const text = (name: string) => options[name] as string | undefined
    const program = text('exec')
    if (program === undefined && args.length > 0)
      throw new UsageError('Arguments are only for the program of --exec.')
    const isFollowing = options['follow'] === true || program !== undefined
    const given = text('since')
    const types = text('types')
    const query = types === undefined ? {} : { types }

    async function list(api: Api): Promise<void> {
      const items: Item[] = []
      let since = sinceOf(given ?? `${RECENT_S}`, Date.now())
      for (;;) {
        const page = await readEvents(api, { ...query, since, wait: 0 })
        items.push(...page.items)
        since = page.since
        if (page.items.length === 0) break
      }
      // The default time may be before the oldest event.
      if (given === undefined && items[0]?.type === STREAM_EVENT.gap) items.shift()
      print({ items, since }, items.map(lineOf))
    }

    async function follow(api: Api): Promise<void> {
      let since = sinceOf(given, Date.now())
      for (;;) {
        const begin = since === undefined ? {} : { since }
        const page = await readEvents(api, { ...query, ...begin, wait: WAIT_S })
        for (const event of page.items)
          if (program !== undefined) await run(program, args, { event, say })
          else io.stdout.write(`${json ? JSON.stringify(event) : lineOf(event)}\n`)
        since = page.since
      }
    }

    await withApi(async (api, hasDaemon) => {
      if (!isFollowing) return list(api)
      if (!hasDaemon) throw noDaemon()
      return follow(api)
    })
  },
}
