import { rememberReceived } from '../device/connections/listed-invitations.ts'
import type { HandlerContext } from './context.ts'
import { type Handlers, keeperOf, noDevice } from './context.ts'
import { namedInvitation, namedInvitations } from './named.ts'

type Both = Awaited<ReturnType<Handlers['invitations']['list']>>

/**
 * Returns both directions with the names stored on this device. Records what the user can read of
 * received invitations, because an approval refers to that.
 */
async function named({ received, sent }: Both, { account, device }: HandlerContext): Promise<Both> {
  if (device !== null) rememberReceived(device, received)
  return {
    received: await namedInvitations(received, device, account),
    sent: await namedInvitations(sent, device, account),
  }
}

export const invitations: Handlers['invitations'] = {
  list: async (input, context) => named(await context.account.invitations.list(input), context),

  pending: async (input, context) =>
    named(await context.account.invitations.pending(input), context),

  approve: async ({ id, body: { words } }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) {
      if (words !== undefined) throw noDevice()
      return context.account.invitations.approve({ id })
    }
    if (words === undefined) {
      const { approveInvitation } = await import('../device/connections/consents.ts')
      const approved = await approveInvitation(keeper, context.account, id, {
        reader: context.caller?.token ?? null,
      })
      return namedInvitation(approved, keeper, context.account)
    }
    const { approveByWords } = await import('../device/first-contacts/four-words.ts')
    const approved = await approveByWords(keeper, context.home.seat.account(), { id, words })
    return namedInvitation(approved, keeper, context.account)
  },

  decline: async ({ id }, context) => {
    const keeper = keeperOf(context)
    // First, because the answer of the account server must not affect it.
    keeper?.state.consents.withdraw(id)
    return namedInvitation(
      await context.account.invitations.decline({ id }),
      keeper,
      context.account,
    )
  },

  withdraw: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.invitations.withdraw({ id })
    const { withdrawInvite } = await import('../device/connections/invites.ts')
    const withdrawn = await withdrawInvite(keeper, context.account, id)
    return namedInvitation(withdrawn, keeper, context.account)
  },
}
