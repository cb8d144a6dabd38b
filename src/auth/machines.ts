/**
 * Tokens of machine accounts (`csm_`): the account server gave them out and judges them, at every request, so that one revoked
 * there is refused here at the next. Nothing of them is kept.
 */
import { checkToken } from '../crypto/token.ts'
import { AppError, type Code } from '../errors.ts'
import type { Scope } from './scopes.ts'
import { type Caller, type MachineAccount, invalidToken } from './tokens.ts'

/** Ask the account server whose a token is and what it may do. Throws AppError as the server says. */
export type AskServer = (
  token: string,
) => Promise<{ readonly id: string; readonly scope: Scope; readonly account: MachineAccount }>

/** What an account server, in this process or behind the client of one, says of a token that is nothing. */
const NOTHING: readonly Code[] = ['invalid_token', 'unauthorized', 'not_signed_in']

const noMachine = () => invalidToken('machine token')

/** Whether a token is of a machine account, by its looks: no look-up. */
export const isMachineToken = (token: string): boolean => token.startsWith('csm_')

/** A typing error is not worth a question to the server. */
function demandForm(token: string): void {
  try {
    checkToken(token)
  } catch {
    throw noMachine()
  }
}

/**
 * The caller behind a machine account's token.
 * @throws AppError invalid_token in the same words for every reason; backend_* while nobody can say
 */
export async function machineCaller(token: string, ask: AskServer): Promise<Caller> {
  demandForm(token)
  try {
    const { id, scope, account } = await ask(token)
    return { token: id, scope, machine: account }
  } catch (error) {
    if (error instanceof AppError && NOTHING.includes(error.code)) throw noMachine()
    throw error
  }
}
