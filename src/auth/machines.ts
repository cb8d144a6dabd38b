/**
 * Authenticates the tokens of machine accounts (`csm_`).
 *
 * The account server issued them and checks them at every request, so a token that is revoked
 * there is rejected here at its next use. This device stores nothing about them.
 */
import { checkToken } from '../crypto/token.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { Scope } from './scopes.ts'
import { type Caller, type MachineAccount, invalidToken } from './tokens.ts'

/**
 * Returns the account and the scope of a token, from the account server.
 * @throws AppError as the account server does
 */
export type AskServer = (
  token: string,
) => Promise<{ readonly id: string; readonly scope: Scope; readonly account: MachineAccount }>

/** Codes with which an account server, embedded or remote, rejects an invalid token. */
const NOTHING: readonly ErrorCode[] = ['invalid_token', 'unauthorized', 'not_signed_in']

const noMachine = () => invalidToken('machine token')

/** Checks by its prefix whether a token is one of a machine account. No look-up. */
export const isMachineToken = (token: string): boolean => token.startsWith('csm_')

/** Requires a well-formed token, so that a mistyped one causes no request to the server. */
function requireForm(token: string): void {
  try {
    checkToken(token)
  } catch {
    throw noMachine()
  }
}

/**
 * Returns the caller of a machine account's token.
 * @throws AppError invalid_token with the same message for every reason; backend_* while the
 *   account server cannot be asked
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
