/**
 * Requests to the daemon of an account with a device: from its owner, or from a machine account.
 */
import type { Account } from '../../src/api/port.ts'
import type { TrustCard } from '../../src/api/rest/trust-cards.ts'
import { newTokenLinks } from '../../src/auth/token-links.ts'
import { openTokens } from '../../src/auth/tokens.ts'
import { type HandlerContext, contextOf } from '../../src/handlers/context.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import type { Desk } from './world.ts'

/** Returns the context of a request at a device. */
export function at(desk: Desk, machine: Account | null = null): HandlerContext {
  const { seat, state, flow } = desk
  const { now, startedAt, environment, backend, keychain } = desk.device()
  const tokens = openTokens({
    keychain: desk.keychain,
    rows: state.tokens,
    now,
    commandLineToken: () => '',
    account: () => seat.identity()?.account ?? null,
  })
  const home = {
    now,
    startedAt,
    environment,
    backend,
    keychain,
    tokens,
    tokenLinks: newTokenLinks({ meta: state.meta, now, log: () => undefined }),
    seat,
    signIn: flow,
    reachability: { read: async () => ({ reachable: true, since: null }) },
    log: () => undefined,
    ask: () => Promise.reject(new Error('No other row is asked.')),
  }
  const token = machine === null ? 'csd_' : 'csm_'
  const caller = { token: 'tok_1', scope: 'full', machine } as const
  return contextOf(home, caller, { token, accept: '' }, null)
}

/** A safety number in valid form that belongs to no account. */
const NO_NUMBER = Array.from({ length: 12 }, () => '00000').join(' ')

/** Confirms the keys of a followed account by the current safety number of its card. */
export async function confirmAt(desk: Desk, id: string): Promise<TrustCard> {
  const { safety_number } = await trustCards.update({ id, body: {} }, at(desk))
  const body = { confirmed: true, safety_number: safety_number ?? NO_NUMBER } as const
  return trustCards.update({ id, body }, at(desk))
}
