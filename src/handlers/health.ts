import { VERSION } from '../runtime/version.ts'
import type { Handlers } from './context.ts'

export const health: Handlers['health'] = {
  read: async (_input, { home }) => ({
    status: 'ok',
    version: VERSION,
    uptime_s: Math.max(0, Math.floor((home.now() - home.startedAt) / 1000)),
  }),
}
