/**
 * Invitations, and the two other ways to connect.
 *
 * These are first contacts by four words, which are shown only once, and requests at open links.
 */
import { rememberReceived } from '../device/connections/listed-invitations.ts'
import { contactOf } from '../device/first-contacts/outcomes.ts'
import { AppError } from '../errors.ts'
import { type HandlerContext, type Handlers, keeperOf, noDevice } from './context.ts'
import { namedInvitation, namedInvitations, namingOf } from './named.ts'

type Both = Awaited<ReturnType<Handlers['invitations']['list']>>

/**
 * Returns received and sent invitations with the names stored on this device. Also records which
 * received invitations the user can see, because an approval refers to them.
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
    const approved = await approveByWords(keeper, context.home.deviceSession.account(), {
      id,
      words,
    })
    return namedInvitation(approved, keeper, context.account)
  },

  decline: async ({ id }, context) => {
    const keeper = keeperOf(context)
    // Withdraws the consent first, so that it also takes effect if the account server fails.
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

export const firstContacts: Handlers['firstContacts'] = {
  list: async (_, { local }) => ({
    items: local.state.firstContacts.all().map((row) => contactOf(namingOf(local), row)),
  }),
}

export const contactWords: Handlers['contactWords'] = {
  create: async ({ id }, { local, home }) => {
    const account = home.deviceSession.account()
    const { sent } = await account.invitations.list({})
    const invitation = sent.find((one) => one.id === id)
    if (invitation === undefined) throw new AppError('not_found', 'There is no such invitation.')
    const { makeWords } = await import('../device/first-contacts/four-words.ts')
    return makeWords(local, account, invitation)
  },
}

export const openLinkRequests: Handlers['openLinkRequests'] = {
  approve: async ({ id }, { home, local, act }) => {
    const { approveRequest } = await import('../device/connections/connections.ts')
    // The signed entry is not part of the idempotent operation, as when a connection is created.
    const approved = await approveRequest(local, home.deviceSession.account(), id, act)
    local.syncSoon()
    return approved
  },
}
