/** Who the account is. */
import type { Service } from '../api/port.ts'
import type { Ground } from './ground.ts'

export const context = ({ db }: Ground): Service['context'] => ({
  read: async (_, { account }) => {
    const user = await db
      .selectFrom('accounts')
      .select(['id', 'display_name', 'kind'])
      .where('id', '=', account)
      .executeTakeFirstOrThrow()
    return { user: { ...user, email: null }, organisations: [] }
  },
})
