/**
 * Signs in and out, in the steps of a user or of a headless start.
 *
 * The result of each step survives a crash, and repeating a step continues from there. A code is
 * used but not stored; it is never in the state, a log or an error.
 */
import type { SessionTokens } from '../../api/device/enrolment.ts'
import type { MachineKey, SignIn } from '../../api/local/index.ts'
import type { Account, UnauthenticatedClient } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { Log } from '../../log.ts'
import type { State } from '../../state/state.ts'
import { type Identity, openIdentity, rememberServer } from '../identity/identity.ts'
import {
  elsewhere,
  embedded,
  notSignedIn,
  occupied,
  secondDevice,
  turnedAway,
} from '../identity/refusals.ts'
import { newQueue } from '../in-order.ts'
import type { SystemNames } from '../system-names.ts'
import {
  codeCredential,
  keepSignInCode,
  machineCredential,
  mailboxOfCode,
  readMachineKey,
  type SignInCredential,
} from './credentials.ts'
import type { OwnApproval } from './own-approval.ts'
import type { DeviceSession } from './session.ts'
import type { Resetting, SignInFlow } from './sign-in-flow.ts'

/**
 * Requires that the configured address of the account server is the server's public address.
 *
 * Proofs and assertions are valid only for the public address, so the server would otherwise reject
 * every later request.
 * @param server the configured origin
 * @throws AppError invalid_state `other_address`, and as the clock route does
 */
async function requirePublicAddress(
  clock: UnauthenticatedClient['clock'],
  server: string,
): Promise<void> {
  const { public_url } = await clock.read({})
  const own = URL.parse(public_url)?.origin
  if (own === server) return
  throw new AppError(
    'invalid_state',
    `The account server at ${server} reports the public address ${own ?? 'none'}. Set SVC_BACKEND_URL to exactly this address. ` +
      'If that is not the server’s address, its operator must set SVC_PUBLIC_URL.',
    { details: { state: 'other_address' } },
  )
}

const signedOut: SignIn = {
  state: 'signed_out',
  email: null,
  account_id: null,
  device_id: null,
  device_words: null,
}

/** Checks whether this device signed in with that mailbox. */
const isOf = (identity: Identity | null, email: string | null): identity is Identity =>
  email !== null && identity?.email?.toLowerCase() === email

/** Checks whether the server sent no code because the mailbox already has a valid one. */
const isSentAlready = (error: unknown) =>
  error instanceof AppError && error.code === 'rate_limited' && error.details.state === 'code_sent'

/**
 * Creates the sign-in flow.
 * @param of `server` is the account server's origin, null for the embedded server; `now` returns
 *   Unix milliseconds
 */
export function newSignIn(of: {
  state: State
  keychain: Keychain
  deviceSession: Pick<
    DeviceSession,
    'identity' | 'account' | 'device' | 'absent' | 'take' | 'leave' | 'finishLeaving'
  >
  door: UnauthenticatedClient
  server: string | null
  now: () => number
  log: Log
  names: SystemNames
}): SignInFlow {
  const { state, keychain, deviceSession, server, now, log } = of

  const turns = newQueue()
  /**
   * Runs one step at a time, because two concurrent steps would overwrite each other's keys.
   *
   * First completes an interrupted sign-out, because its remaining data belongs to no account.
   */
  const inTurn = <T>(step: () => Promise<T>): Promise<T> =>
    turns(async () => {
      deviceSession.finishLeaving()
      return step()
    })
  /** Loaded only if the device waits for approval. */
  let approval: OwnApproval | null = null

  /** Returns the identity, including one that was stored but not used yet because of a crash. */
  async function current(): Promise<Identity | null> {
    const signedIn = deviceSession.identity()
    const here = signedIn ?? openIdentity(state, keychain)
    if (here === null || here.server !== server) return null
    if (signedIn === null) deviceSession.take(here)
    return here
  }

  /**
   * Returns the account server to sign in to.
   * @throws AppError if there is none
   */
  function ownServer(): string {
    if (server !== null) return server
    throw embedded(deviceSession.identity() === null ? deviceSession.absent().message : null)
  }

  async function requireNobody(): Promise<void> {
    const identity = await current()
    if (identity !== null) throw occupied(identity)
    const stored = openIdentity(state, keychain)
    if (stored !== null) throw elsewhere(stored)
  }

  const mailbox = () => mailboxOfCode(state, server, now())

  async function read(): Promise<SignIn> {
    const [identity, mailed] = [await current(), mailbox()]
    if (identity === null)
      return mailed === null ? signedOut : { ...signedOut, state: 'code_sent', email: mailed }
    const { account, device, email, approved } = identity
    const seen = { email, account_id: account, device_id: device, device_words: null }
    if (mailed !== null) return { ...seen, state: 'code_sent' }
    if (approved) return { ...seen, state: 'signed_in' }
    const words = approval?.words(identity) ?? null
    return { ...seen, state: 'awaiting_approval', device_words: words }
  }

  async function begin(given: string): Promise<SignIn> {
    const at = ownServer()
    const email = given.toLowerCase()
    if (!isOf(await current(), email)) await requireNobody()
    const { requireMailbox } = await import('./sign-in-draft.ts')
    requireMailbox(state, at, email)
    await requirePublicAddress(of.door.clock, at)
    try {
      await of.door.signIns.create({ body: { email } })
    } catch (error) {
      // Any client can use up the rate limit of an address while the mailbox has valid codes. So a
      // code may still be entered.
      if (isSentAlready(error) && mailbox() !== email) keepSignInCode(state, at, email, now())
      throw error
    }
    keepSignInCode(state, at, email, now())
    rememberServer(state, at)
    return read()
  }

  async function enter(credential: SignInCredential, resetting: Resetting): Promise<SignIn> {
    const { enrolWith } = await import('./sign-in-enrolment.ts')
    const at = ownServer()
    await requirePublicAddress(of.door.clock, at)
    rememberServer(state, at)
    const identity = await enrolWith({ ...of, server: at }, credential, resetting)
    const { account, device, approved } = identity
    log('info', 'signed in', { account, device, approved, reset: resetting.reset })
    deviceSession.take(identity)
    return read()
  }

  /** Renews the session of the current device. */
  async function renew(credential: SignInCredential, identity: Identity): Promise<SessionTokens> {
    const { enrolAgain } = await import('./sign-in-enrolment.ts')
    return enrolAgain({ ...of, server: ownServer() }, credential, identity)
  }

  async function reenter(credential: SignInCredential, identity: Identity): Promise<SignIn> {
    await renew(credential, identity)
    const { account, device, approved } = identity
    log('info', 'signed in again', { account, device, approved })
    deviceSession.take(openIdentity(state, keychain) as Identity)
    return read()
  }

  const code: SignInFlow['code'] = async (given) => {
    ownServer()
    const email = mailbox()
    const credential = codeCredential(given.code)
    const identity = await current()
    if (!given.reset && isOf(identity, email)) return reenter(credential, identity)
    await requireNobody()
    return enter(credential, given)
  }

  const machineOf = ({ key }: { key: MachineKey }): Promise<SignInCredential> =>
    machineCredential(key, { ...of, server: ownServer() })

  /**
   * Signs out a device that still waits for approval, so that its account can be reset.
   *
   * Requires that the account server accepts the credential. Otherwise `opens` throws.
   */
  async function makeWay(identity: Identity, opens: () => Promise<unknown>): Promise<void> {
    await requirePublicAddress(of.door.clock, ownServer())
    await opens()
    const { leaveAccount } = await import('./sign-out.ts')
    await leaveAccount(of, identity, { last_device: true, forget: true })
  }

  const isWaiting = (
    identity: Identity | null,
    { machine }: SignInCredential,
  ): identity is Identity =>
    identity !== null && machine !== null && identity.machine === machine && !identity.approved

  const planReset: SignInFlow['planReset'] = async ({ by, recovery_key }) => {
    const ground = { ...of, server: ownServer() }
    const credential = 'code' in by ? codeCredential(by.code) : await machineOf(by)
    const { opensForReset, resetPlan } = await import('./reset-plan.ts')
    const opens = () => opensForReset(of.door, credential, recovery_key)
    const identity = await current()
    if (isWaiting(identity, credential)) await makeWay(identity, opens)
    else await requireNobody()
    await requirePublicAddress(of.door.clock, ground.server)
    return resetPlan(ground, credential, await opens())
  }

  const machine: SignInFlow['machine'] = async ({ key, ...resetting }) => {
    const credential = await machineOf({ key })
    const { reset } = resetting
    const identity = await current()
    const isSame = identity !== null && identity.machine === key.machine
    if (reset && isWaiting(identity, credential)) {
      const { opensOf } = await import('./sign-in-enrolment.ts')
      await makeWay(identity, () => opensOf(of.door, credential))
    } else if (!isSame || reset) await requireNobody()
    const seen = await (isSame && !reset
      ? reenter(credential, identity)
      : enter(credential, resetting))
    if (seen.state === 'awaiting_approval') log('warn', secondDevice, { machine: key.machine })
    return seen
  }

  /** Runs a step of this device's approval. Does nothing if the device is already approved. */
  async function approving(
    step: (approval: OwnApproval, of: { identity: Identity; account: Account }) => Promise<unknown>,
  ): Promise<SignIn> {
    const identity = await current()
    if (identity === null) throw notSignedIn()
    if (identity.approved) return read()
    if (approval === null) {
      const { newOwnApproval } = await import('./own-approval.ts')
      approval = newOwnApproval({ state, now })
    }
    await step(approval, { identity, account: deviceSession.account() })
    const after = openIdentity(state, keychain)
    if (after?.approved) {
      const { account, device } = after
      log('info', 'approved', { account, device })
      deviceSession.take(after)
    }
    return read()
  }

  async function end(how: { last_device: boolean; forget: boolean }): Promise<void> {
    const identity = await current()
    const { giveUp, leaveAccount } = await import('./sign-out.ts')
    if (identity === null) return giveUp(of, { waits: mailbox() !== null, forget: how.forget })
    ownServer()
    await leaveAccount(of, identity, how)
  }

  async function deleteAccount(): Promise<void> {
    const identity = await current()
    const device = deviceSession.device()
    if (device === null) throw identity === null ? deviceSession.absent() : occupied(identity)
    const deletion = await import('./account-deletion.ts')
    await deletion.requestAccountDeletion(of, device)
  }

  async function again(): Promise<SessionTokens> {
    const identity = deviceSession.identity()
    const key = identity?.machine ? readMachineKey(keychain) : null
    if (identity === null || key === null || server === null) throw notSignedIn()
    if (!identity.approved) throw turnedAway()
    return renew(await machineCredential(key, { ...of, server }), identity)
  }

  return {
    read: () => inTurn(read),
    begin: (email) => inTurn(() => begin(email)),
    planReset: (given) => inTurn(() => planReset(given)),
    code: (given) => inTurn(() => code(given)),
    machine: (given) => inTurn(() => machine(given)),
    beginApproval: () => inTurn(() => approving((own, of) => own.begin(of))),
    advanceApproval: () => inTurn(() => approving((own, of) => own.advance(of))),
    approve: (words) => inTurn(() => approving((own, of) => own.confirm(of, words))),
    end: (given) => inTurn(() => end(given)),
    deleteAccount: () => inTurn(deleteAccount),
    again,
  }
}
