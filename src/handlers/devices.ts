import { type Handlers, keeperOf } from './context.ts'

export const devices: Handlers['devices'] = {
  /**
   * Without a device nothing can be signed. The account server then does what it can do alone.
   */
  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.devices.delete({ id })
    const { revoke } = await import('../device/session/revocation.ts')
    await revoke(keeper, context.account, id)
  },
}
