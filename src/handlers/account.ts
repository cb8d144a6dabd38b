import { type Handlers, keeperOf } from './context.ts'

export const account: Handlers['account'] = {
  /** A machine account's caller deletes that account at the server; this device is somebody else's. */
  delete: async (_, context) => {
    if (keeperOf(context) === null) return context.account.account.delete({})
    const { signIn, tokens } = context.home
    await signIn.deleteAccount()
    tokens.forget()
  },
}
