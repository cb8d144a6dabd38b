import { type Handlers, keeperOf } from './context.ts'

export const account: Handlers['account'] = {
  /**
   * Deletes the account. The caller of a machine account deletes that account at the server; this
   * device belongs to another account.
   */
  delete: async (_, context) => {
    if (keeperOf(context) === null) return context.account.account.delete({})
    const { signIn, tokens } = context.home
    await signIn.deleteAccount()
    tokens.forget()
  },
}
