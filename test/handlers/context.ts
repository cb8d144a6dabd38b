/** What a handler gets, over a device on the workbench. */
import type { Account } from '../../src/api/port.ts'
import { type Caller, openTokens } from '../../src/auth/tokens.ts'
import { type Context, contextOf as newContext } from '../../src/handlers/context.ts'
import type { Enrolled } from '../device/enrolled.ts'

const OWNER: Caller = { token: 'tok_1', scope: 'full', machine: null }

/** The context of the owner's request, or of another caller's; its account replaced in parts. */
export function contextOf(
  device: Enrolled,
  parts: Partial<Account> = {},
  { accept = '', caller = OWNER }: { accept?: string; caller?: Caller } = {},
): Context {
  const { seat, store, state, now, startedAt, environment, backend, keychain } = device
  const tokens = openTokens({
    keychain: store,
    rows: state.tokens,
    now,
    commandLineToken: () => '',
  })
  const home = { now, startedAt, environment, backend, keychain, tokens, seat }
  const given = caller.machine === null ? 'csd_' : 'csm_'
  const context = newContext(home, { caller, given, accept, act: null })
  return Object.assign(context, { account: { ...context.account, ...parts } })
}
