/**
 * Requests to the daemon of a device: from its owner, from another caller, or from a machine
 * account.
 */
import type { Account } from '../../src/api/port.ts'
import type { TrustCard } from '../../src/api/rest/trust-cards.ts'
import { newTokenLinks } from '../../src/auth/token-links.ts'
import { type Caller, openTokens } from '../../src/auth/tokens.ts'
import type { LocalDevice } from '../../src/device/device.ts'
import type { DeviceSession } from '../../src/device/session/session.ts'
import type { SignInFlow } from '../../src/device/session/sign-in-flow.ts'
import type { Reached } from '../../src/device/sync/reachability.ts'
import { type HandlerContext, contextOf as newContext } from '../../src/handlers/context.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import type { Keychain } from '../../src/keychain/backend.ts'
import type { Act } from '../../src/storage/idempotency.ts'
import type { Enrolled } from '../device/enrolled.ts'
import type { DeviceUser } from './world.ts'

const OWNER: Caller = { token: 'tok_1', scope: 'full', machine: null }
const ANSWERS: Reached = { reachable: true, since: null }

const noSignIn = () => Promise.reject(new Error('no sign-in on the workbench'))

/** The sign-in flow of an embedded account, which no test of a handler uses. */
const NO_SIGN_IN: SignInFlow = {
  read: noSignIn,
  begin: noSignIn,
  planReset: noSignIn,
  code: noSignIn,
  machine: noSignIn,
  beginApproval: noSignIn,
  advanceApproval: noSignIn,
  approve: noSignIn,
  end: noSignIn,
  deleteAccount: noSignIn,
  again: noSignIn,
}

interface Asking {
  readonly accept?: string
  readonly caller?: Caller
  readonly act?: Act | null
  readonly reached?: Reached
}

function contextAt(
  of: { device: LocalDevice; deviceSession: DeviceSession; keychain: Keychain; signIn: SignInFlow },
  { accept = '', caller = OWNER, act = null, reached = ANSWERS }: Asking,
): HandlerContext {
  const { deviceSession, signIn } = of
  const { state, now, startedAt, environment, backend, keychain } = of.device
  const tokens = openTokens({
    keychain: of.keychain,
    rows: state.tokens,
    now,
    commandLineToken: () => '',
    account: () => deviceSession.identity()?.account ?? null,
  })
  const log = () => undefined
  const home = {
    now,
    stateDir: '/nonexistent',
    startedAt,
    environment,
    backend,
    keychain,
    tokens,
    tokenLinks: newTokenLinks({ meta: state.meta, now, log }),
    deviceSession,
    signIn,
    reachability: { read: async () => reached },
    serving: () => null,
    events: state.events,
    webhooks: () => Promise.reject(new Error('no webhooks on the workbench')),
    hasConsole: true,
    console: () => Promise.reject(new Error('no console on the workbench')),
    doctor: () => Promise.reject(new Error('no doctor on the workbench')),
    readiness: async () => [],
    stopping: new AbortController().signal,
    log,
    ask: () => Promise.reject(new Error('No other row is asked.')),
  }
  const token = caller.machine === null ? 'csd_' : 'csm_'
  return newContext(home, caller, { token, accept }, act)
}

/** Returns the context of a request at an enrolled device; parts of its account can be replaced. */
export function contextOf(
  device: Enrolled,
  parts: Partial<Account> = {},
  asking: Asking = {},
): HandlerContext {
  const { deviceSession, store: keychain } = device
  const context = contextAt({ device, deviceSession, keychain, signIn: NO_SIGN_IN }, asking)
  return Object.assign(context, { account: { ...context.account, ...parts } })
}

/** Returns the context of a request at a person’s device. */
export function at(user: DeviceUser, machine: Account | null = null): HandlerContext {
  const { deviceSession, keychain, flow: signIn } = user
  return contextAt(
    { device: user.device(), deviceSession, keychain, signIn },
    { caller: { ...OWNER, machine } },
  )
}

/** A safety number in valid form that belongs to no account. */
const NO_NUMBER = Array.from({ length: 12 }, () => '00000').join(' ')

/** Confirms the keys of a followed account by the current safety number of its card. */
export async function confirmAt(user: DeviceUser, id: string): Promise<TrustCard> {
  const { safety_number } = await trustCards.update({ id, body: {} }, at(user))
  const body = { confirmed: true, safety_number: safety_number ?? NO_NUMBER } as const
  return trustCards.update({ id, body }, at(user))
}
