import type { Handlers } from './context.ts'

export const sync: Handlers['sync'] = {
  read: async (_input, { local }) => ({ last_sync: local.sync.last() }),
  run: async (_input, { local }) => ({ last_sync: await local.sync.run('request') }),
}
