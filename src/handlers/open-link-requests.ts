import type { Handlers } from './context.ts'

export const openLinkRequests: Handlers['openLinkRequests'] = {
  approve: async ({ id }, { home, local, act }) => {
    const { approveRequest } = await import('../device/connections/connections.ts')
    // Not part of the operation, as in the creation of a connection.
    const approved = await approveRequest(local, home.seat.account(), id, act)
    local.syncSoon()
    return approved
  },
}
