import type { Api, Command, Invocation } from '../command.ts'
import { shown } from '../table.ts'

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
  return is ? 'yes' : `no, since ${since ?? 'the start'}`
}

/** Returns how changes of the account reach the daemon. */
function changes({ stream }: Status): string {
  if (stream === null) return 'fetched by a sync, because no daemon receives them'
  if (stream.state === 'open') return `arrive at once, since ${stream.since}`
  const why = stream.reason === null ? '' : `: ${shown(stream.reason)}`
  return `fetched every 15 minutes, since ${stream.since}${why}`
}

export const statusCommand: Command = {
  usage: '[--json]',
  help: 'Shows the state of the daemon: its account server, its keychain and its last sync.',
  args: [0, 0],
  async run({ withApi, print }) {
    const status = await withApi((api) => api.status.read({}))
    print(status, [
      shown(status.summary),
      `version      ${status.version}`,
      `environment  ${status.environment}`,
      `backend      ${status.backend}`,
      `reachable    ${reachable(status)}`,
      ...status.not_working.map((what) => `  not working: ${what}`),
      `keychain     ${status.keychain === 'os' ? "the operating system's" : 'encrypted files'}`,
      `last sync    ${status.last_sync_at ?? 'never'}`,
      `changes      ${changes(status)}`,
      ...status.notices.map((notice) => `notice       ${shown(notice)}`),
    ])
  },
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
  async run({ io, options, withApi, print }) {
    const { last_sync: report } = await withApi(async (api) => {
      if (options['clock-is-right'] === true) await api.clock.accept({})
      return api.sync.run({})
    })
    if (report.error !== null) io.stderr.write(`${shown(report.error)}\n`)
    await showNotices({ io, withApi })
    const { connections, secrets, guest_codes } = report.pulled
    const { verifications, envelopes } = report.pushed
    print(
      report,
      `Fetched ${connections} connections, ${secrets} secrets and ${guest_codes} guest codes; handed over ${verifications} verifications, and secrets to ${envelopes} devices.`,
    )
  },
}
