import { shown } from '../table.ts'
import type { Api, Command } from '../command.ts'

type Status = Awaited<ReturnType<Api['status']['read']>>

function reachable({ backend_reachable: is, backend_unreachable_since: since }: Status): string {
  if (is === null) return 'not known, because it has not answered within half a second'
  return is ? 'yes' : `no, since ${since ?? 'the start'}`
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
      ...status.notices.map((notice) => `notice       ${shown(notice)}`),
    ])
  },
}
