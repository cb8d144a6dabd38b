import { EXIT } from '../../errors.ts'
import type { Api, Command, Invocation } from '../command.ts'
import { labelledLines } from '../labels.ts'
import { shown } from '../table.ts'
import { when, whenOr } from '../times.ts'

/**
 * Writes this device's notices to standard error, one per line.
 * @throws the errors of the daemon
 */
export async function showNotices({ io, withApi }: Pick<Invocation, 'io' | 'withApi'>) {
  const { notices } = await withApi((api) => api.status.read({}))
  for (const notice of notices) io.stderr.write(`${shown(notice)}\n`)
}

type Status = Awaited<ReturnType<Api['status']['read']>>

function reachable({ backend_reachable: is, backend_unreachable_since: since }: Status): string {
  if (is === null) return 'not known, because it has not answered within half a second'
  return is ? 'yes' : `no, since ${whenOr('the start', since)}`
}

/** Returns how changes of the account reach the daemon. */
function changes({ stream }: Status): string {
  if (stream === null) return 'fetched by a sync, because no daemon receives them'
  if (stream.state === 'open') return `arrive at once, since ${when(stream.since)}`
  const why = stream.reason === null ? '' : `: ${shown(stream.reason)}`
  return `fetched every 15 minutes, since ${when(stream.since)}${why}`
}

/** Returns what the next sync hands over; null if nothing waits. */
function waitingText({ waiting }: Status): string | null {
  const parts = Object.entries(waiting ?? {}).filter(([, count]) => count > 0)
  const listed = parts.map(([what, count]) => `${count} ${count === 1 ? what.slice(0, -1) : what}`)
  return listed.length === 0 ? null : `${listed.join(', ')}, for the next sync`
}

/** Returns the scheduled backups; null if there are none. */
function scheduledText({ scheduled_backup: scheduled }: Status): string | null {
  if (scheduled === null) return null
  const { at, keep, last_success_at: success } = scheduled
  return `daily at ${at}, ${keep} kept; last one tested: ${whenOr('never', success)}`
}

/** The sentence before the summary if no daemon runs. */
const NO_DAEMON =
  'The daemon is not running. To start it: countersignd serve (or countersignd service install).'

/**
 * Returns the lines for a person. Without a daemon, what only a daemon can say is absent, and so is
 * the embedded account server, which runs in the daemon.
 */
function statusLines(status: Status, hasDaemon: boolean): string[] {
  const { api, socket, next_sync_at, last_error } = status
  const isEmbedded = status.environment === 'embedded'
  const hasServer = hasDaemon || !isEmbedded
  return [
    ...(hasDaemon ? [] : [NO_DAEMON]),
    shown(status.summary),
    ...labelledLines([
      ...status.needs_you.map((what) => ['Needs you', what] as const),
      ['Version', status.version],
      ...(isEmbedded ? [] : [['Environment', status.environment] as const]),
      ['API', api],
      ['Socket', socket],
      ['Backend', hasServer ? status.backend : null],
      ['Reachable', hasServer ? reachable(status) : null],
      ...status.not_working.map((what) => ['Not working', what] as const),
      ['Waiting', waitingText(status)],
      ['Keychain', status.keychain === 'os' ? "the operating system's" : 'encrypted files'],
      ['Last sync', whenOr('never', status.last_sync_at)],
      [
        'Last backup',
        status.device_registered === true ? whenOr('never', status.last_backup_at) : null,
      ],
      ['Scheduled', scheduledText(status)],
      ['Last error', last_error && `${when(last_error.at)}  ${last_error.message}`],
      ['Next sync', next_sync_at && when(next_sync_at)],
      ['Changes', changes(status)],
    ]),
  ]
}

export const statusCommand: Command = {
  usage: '[--json]',
  help: `
Shows whether the daemon runs, what needs you, and the state of the account server, the keychain and the sync. It
creates no account.

The exit code is 13 if no daemon runs.`,
  args: [0, 0],
  run: ({ withApi, print }) =>
    withApi(async (api, hasDaemon) => {
      const status = await api.status.read({})
      print(status, statusLines(status, hasDaemon))
      return hasDaemon ? EXIT.ok : EXIT.noDaemon
    }),
}

export const syncCommand: Command = {
  usage: '[--clock-is-right] [--json]',
  help: `
Fetches new data from the account server and uploads the new data of this device. A daemon does this by itself
when it starts and when the account server reports a change. If no daemon is running, run this command before "countersignd verify".
Without a recent sync, the result of "countersignd verify" is inconclusive.

  --clock-is-right   confirm that the clock of this machine was ahead and now shows the right time. Use this option
                     only with an embedded account. With a separate account server, each sync checks the clock`,
  options: { 'clock-is-right': { type: 'boolean' } },
  args: [0, 0],
  async run({ io, options, withApi, print, json }) {
    const { report, news } = await withApi(async (api) => {
      if (options['clock-is-right'] === true) await api.clock.accept({})
      const { last_sync } = await api.sync.run({})
      // It parses events, which a script does not need.
      const news = json ? [] : await (await import('./sync-news.ts')).syncNews(api, last_sync)
      return { report: last_sync, news }
    })
    if (report.error !== null) io.stderr.write(`${shown(report.error)}\n`)
    await showNotices({ io, withApi })
    print(report, news)
  },
}
