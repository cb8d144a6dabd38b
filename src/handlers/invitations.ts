import { recall } from '../device/dismissed.ts'
import { type Handlers, keeperOf } from './context.ts'

export const invitations: Handlers['invitations'] = {
  /** The inviter stays who they were when the person said yes. */
  approve: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.invitations.approve({ id })
    const { giveConsent } = await import('../device/consents.ts')
    const approved = await giveConsent(keeper, context.account, id)
    const { user_id, display_name } = approved.from
    keeper.demandSeat()
    recall(keeper.state, approved.connection_id)
    if (user_id !== null && display_name !== null) keeper.state.names.pin(user_id, display_name)
    keeper.syncSoon()
    return approved
  },

  decline: async ({ id }, context) => {
    // First: what the account server does with the answer changes nothing about it.
    keeperOf(context)?.state.consents.withdraw(id)
    return context.account.invitations.decline({ id })
  },

  withdraw: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.invitations.withdraw({ id })
    const { withdraw } = await import('../device/invites.ts')
    return withdraw(keeper, context.account, id)
  },
}
