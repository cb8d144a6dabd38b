import { VERSION } from '../version.ts'
import type { Handlers } from './context.ts'

export const status: Handlers['status'] = {
  read: async (_input, { local }) => {
    const { connections } = local.codes.count(local.now())
    const backend = local.backend()
    const plural = connections === 1 ? 'connection' : 'connections'
    return {
      authenticated: true,
      device_registered: true,
      global_key_active: false,
      environment: local.environment,
      backend,
      version: VERSION,
      cached_connections: connections,
      last_sync_at: local.sync.lastGoodAt(),
      summary: `Signed in to ${backend} with ${connections} ${plural} on this device.`,
      keychain: local.keychain,
    }
  },
}
