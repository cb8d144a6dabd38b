/** Describes the caller's token. A daemon calls this for a token that it did not make. */
import { timeAt } from '../../api/fields.ts'
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import { invalidMachineToken } from './machine-tokens.ts'
import { activeMachines } from './machines.ts'

export const bearer = ({ db }: Pick<ServiceContext, 'db'>): Service['bearer'] => ({
  read: async (_, { account, token }) => {
    if (token === null)
      throw new AppError(
        'forbidden',
        'This describes the token of a machine account, and the request came with a session.',
      )
    const row = await activeMachines(db)
      .innerJoin('machine_tokens', 'machine_tokens.account_id', 'machines.account_id')
      .select(['scope', 'expires_at'])
      .where('machine_tokens.id', '=', token)
      .where('machines.account_id', '=', account)
      .executeTakeFirst()
    // The token was valid a moment ago; its machine was deleted or suspended since.
    if (row === undefined) throw invalidMachineToken()
    const { scope, expires_at } = row
    return {
      account_id: account,
      token_id: token,
      scope,
      expires_at: expires_at === null ? null : timeAt(expires_at),
    }
  },
})
