import type { Handlers } from './context.ts'

export const openLinkRequests: Handlers['openLinkRequests'] = {
  approve: async ({ id }, { home, local, act }) => {
    const { approveRequest } = await import('../device/connections/open-link-requests.ts')
    // Not as a part of the act, as where a connection is created.
    const approved = await approveRequest(local, home.seat.account(), id, act)
    local.syncSoon()
    return approved
  },
}
