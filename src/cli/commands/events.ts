/** The command that shows what changes, as it happens. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { EVENT_TYPES } from '../../api/live/catalogue.ts'
import { timeAt } from '../../api/fields.ts'
import { StartError } from '../../errors.ts'
import { type Api, type Command, type Invocation, UsageError } from '../command.ts'
import { type EventItem, followEvents, isGap, readEvents } from '../event-pages.ts'
import { plainFileFault } from '../errors/file-errors.ts'
import { parseSeconds } from '../option-fields.ts'
import { shown } from '../table.ts'

/** Without `--since`, the events of this time are listed, in seconds. */
const RECENT_S = 24 * 3600

/** Returns the value of `since` for the option: a duration becomes a time. */
function sinceOf(given: string | undefined, now: number): string | undefined {
  if (given === undefined || !/^\d+[smhdw]?$/.test(given)) return given
  return timeAt(now - 1000 * parseSeconds('since', given))
}

/** Returns an event as one line for people. */
function lineOf(item: EventItem): string {
  const { type, timestamp, data } = item
  if (isGap(item)) return `${timestamp}  gap  earlier events are missing`
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
  { event, say }: { readonly event: EventItem; readonly say: Invocation['say'] },
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
      const from = sinceOf(given ?? `${RECENT_S}`, Date.now())
      const { items, since } = await readEvents(api, { ...query, since: from })
      // The default time may be before the oldest event.
      if (given === undefined && items[0] !== undefined && isGap(items[0])) items.shift()
      print({ items, since }, items.map(lineOf))
    }

    async function show(event: EventItem): Promise<void> {
      if (program !== undefined) await run(program, args, { event, say })
      else io.stdout.write(`${json ? JSON.stringify(event) : lineOf(event)}\n`)
    }

    await withApi(async (api, hasDaemon) => {
      if (!isFollowing) return list(api)
      const since = sinceOf(given, Date.now())
      const from = since === undefined ? query : { ...query, since }
      return followEvents({ api, hasDaemon }, from, show)
    })
  },
}
