import { type Handlers, keeperOf, noDevice } from './context.ts'

export const invitations: Handlers['invitations'] = {
  approve: async ({ id, body: { words } }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) {
      if (words !== undefined) throw noDevice()
      return context.account.invitations.approve({ id })
    }
    if (words === undefined) {
      const { approveInvitation } = await import('../device/approving.ts')
      return approveInvitation(keeper, context.account, id)
    }
    const { approveByWords } = await import('../device/four-words.ts')
    return approveByWords(keeper, context.home.seat.account(), { id, words })
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
