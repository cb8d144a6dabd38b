import { shown } from './table.ts'
import type { Command } from './command.ts'

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
      `keychain     ${status.keychain === 'os' ? "the operating system's" : 'sealed file'}`,
      `last sync    ${status.last_sync_at ?? 'none yet'}`,
    ])
  },
}
