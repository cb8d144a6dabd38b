import { ID_PREFIX, isId } from '../crypto/encoding/id.ts'
import { AppError } from '../errors.ts'
import { leaveConnection } from './connections.ts'
import { type Handlers, keeperOf } from './context.ts'
import { namedInvitation } from './named.ts'

export const members: Handlers['members'] = {
  add: async ({ id, body }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.members.add({ id, body })
    const { inviteMembers } = await import('../device/connections/invites.ts')
    const made = await inviteMembers(keeper, context.account, id, body)
    keeper.syncSoon()
    return namedInvitation(made, keeper, context.account)
  },

  /**
   * Removes a member. The device signs the removal of a member in the roster; the account server
   * alone removes an invited one.
   */
  remove: async ({ id, mid }, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    if (keeper === null) return account.members.remove({ id, mid })
    if (mid === keeper.identity.account) return leaveConnection(id, account, keeper)
    if (isId(ID_PREFIX.account, mid)) {
      const { remove } = await import('../device/connections/members.ts')
      try {
        return await remove(keeper, account, id, mid)
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'not_found')) throw error
      }
    }
    const { uninvite } = await import('../device/connections/invites.ts')
    await uninvite(keeper, account, { id, mid })
  },
}
