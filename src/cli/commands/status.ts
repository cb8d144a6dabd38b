import type { Api, Command } from '../command.ts'
import { showNotices } from '../notices.ts'
import { shown } from '../table.ts'

type Status = Awaited<ReturnType<Api['status']['read']>>

function reachable({ backend_reachable: is, backend_unreachable_since: since }: Status): string {
  if (is === null) return 'not known: it has not answered within half a second'
  return is ? 'yes' : `no, since ${since ?? 'the start'}`
}

export const statusCommand: Command = {
  usage: '[--json]',
  help: 'Shows the state of the daemon: its account server, its keychain, its last sync.',
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
      `keychain     ${status.keychain === 'os' ? "the operating system's" : 'sealed file'}`,
      `last sync    ${status.last_sync_at ?? 'none yet'}`,
      ...status.notices.map((notice) => `notice       ${shown(notice)}`),
    ])
  },
}

export const syncCommand: Command = {
  usage: '[--clock-is-right] [--json]',
  help: `
Fetches from the account server what is new and hands over what was made here. A daemon does so by itself, at its start and every
few minutes; without one, "verify" is inconclusive until this was run.

  --clock-is-right   the clock of this machine shows the right time now, and was ahead before. Only for an account on this machine alone:
                     where there is an account server, a sync measures the clock`,
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
