import { VERSION } from '../version.ts'
import type { Handlers } from './context.ts'

export const health: Handlers['health'] = {
  read: async (_input, { local }) => ({
    status: 'ok',
    version: VERSION,
    uptime_s: Math.floor((local.now() - local.startedAt) / 1000),
  }),
}
