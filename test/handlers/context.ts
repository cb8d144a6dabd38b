/** The context of handlers, for a device of the test fixture. */
import type { Account } from '../../src/api/port.ts'
import { newTokenLinks } from '../../src/auth/token-links.ts'
import { type Caller, openTokens } from '../../src/auth/tokens.ts'
import { type HandlerContext, contextOf as newContext } from '../../src/handlers/context.ts'
import type { Reached } from '../../src/device/sync/reachability.ts'
import type { SignInFlow } from '../../src/device/session/sign-in-flow.ts'
import type { Act } from '../../src/storage/idempotency.ts'
import type { Enrolled } from '../device/enrolled.ts'

const OWNER: Caller = { token: 'tok_1', scope: 'full', machine: null }

const ANSWERS: Reached = { reachable: true, since: null }

const nobodySignsIn = () => Promise.reject(new Error('no sign-in on the workbench'))

/** A sign-in flow that no test of a handler uses. */
const signIn: SignInFlow = {
  read: nobodySignsIn,
  begin: nobodySignsIn,
  planReset: nobodySignsIn,
  code: nobodySignsIn,
  machine: nobodySignsIn,
  beginApproval: nobodySignsIn,
  advanceApproval: nobodySignsIn,
  approve: nobodySignsIn,
  end: nobodySignsIn,
  deleteAccount: nobodySignsIn,
  again: nobodySignsIn,
}

/**
 * Returns the context of a request from the owner or another caller.
 * Parts of its account can be replaced.
 */
export function contextOf(
  device: Enrolled,
  parts: Partial<Account> = {},
  {
    accept = '',
    caller = OWNER,
    act = null,
    reached = ANSWERS,
  }: { accept?: string; caller?: Caller; act?: Act | null; reached?: Reached } = {},
): HandlerContext {
  const { seat, store, state, now, startedAt, environment, backend, keychain } = device
  const tokens = openTokens({
    keychain: store,
    rows: state.tokens,
    now,
    commandLineToken: () => '',
    account: () => seat.identity()?.account ?? null,
  })
  const log = () => undefined
  const reachability = { read: async () => reached }
  const ask = () => Promise.reject(new Error('No other row is asked.'))
  const tokenLinks = newTokenLinks({ meta: state.meta, now, log })
  const run = { now, startedAt, environment, backend, keychain }
  const home = { ...run, tokens, tokenLinks, seat, signIn, reachability, log, ask }
  const token = caller.machine === null ? 'csd_' : 'csm_'
  const context = newContext(home, caller, { token, accept }, act)
  return Object.assign(context, { account: { ...context.account, ...parts } })
}
