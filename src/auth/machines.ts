/**
 * Authenticates the tokens of machine accounts (`csm_`).
 *
 * The account server issues these tokens and checks them at every request. A token that was revoked
 * at the server is therefore rejected at its next use. This device does not store them.
 */
import { checkToken } from '../crypto/token.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { Scope } from './scopes.ts'
import { type Caller, type MachineAccount, invalidToken } from './tokens.ts'

/**
 * Asks the account server for the account and scope of a token.
 * @throws AppError for any error from the account server
 */
export type AskServer = (
  token: string,
) => Promise<{ readonly id: string; readonly scope: Scope; readonly account: MachineAccount }>

/** The codes with which an account server, embedded or remote, rejects an invalid token. */
const NOTHING: readonly ErrorCode[] = ['invalid_token', 'unauthorized', 'not_signed_in']

const noMachine = () => invalidToken('machine token')

/** Checks whether a token is a machine account's token, by its prefix alone. */
export const isMachineToken = (token: string): boolean => token.startsWith('csm_')

/** Requires a well-formed token, so that a mistyped token causes no request to the server. */
function requireForm(token: string): void {
  try {
    checkToken(token)
  } catch {
    throw noMachine()
  }
}

/**
 * Returns the caller that a machine account's token authenticates.
 * @throws AppError invalid_token, with the same message for every reason; backend_* if the account
 *   server cannot be reached
 */
export async function machineCaller(token: string, ask: AskServer): Promise<Caller> {
  requireForm(token)
  try {
    const { id, scope, account } = await ask(token)
    return { token: id, scope, machine: account }
  } catch (error) {
    if (error instanceof AppError && NOTHING.includes(error.code)) throw noMachine()
    throw error
  }
}
