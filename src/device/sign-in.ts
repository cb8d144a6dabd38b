/**
 * Signing in and out, step by step as a person or a headless start takes them. Each step is whole: what was done stands after a
 * crash, and the same step again goes on from there. A code is used and forgotten; it is in no state, log or error.
 */
import type { Session } from '../api/device/enrolment.ts'
import type { MachineKey, SignIn } from '../api/local/index.ts'
import type { Door } from '../api/port.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { Log } from '../log.ts'
import type { State } from '../state/state.ts'
import type { Names } from './names.ts'
import { type Identity, openIdentity } from './identity.ts'
import type { Seat } from './seat.ts'
import type { Credential } from './sign-in-enrolment.ts'

const CODE_SENT = 'sign_in_code'

interface CodeSent {
  readonly email: string
  readonly expires_at: string
}

export interface SignInFlow {
  /** Who is signed in here. */
  read(): Promise<SignIn>
  /** Have a code sent to a mailbox. Throws AppError invalid_state, and what the door throws. */
  begin(email: string): Promise<SignIn>
  /** Sign in with a code. Throws AppError as `enrolWith` does. */
  code(of: { code: string; reset: boolean }): Promise<SignIn>
  /** Sign in with a machine account's key; again with the same key, it renews the session. Throws as `code` does. */
  machine(of: { key: MachineKey; reset: boolean }): Promise<SignIn>
  /** The words that the approving device shows. Throws AppError as `confirm` does. */
  approve(words: string): Promise<SignIn>
  /** Sign out. Throws AppError as `takeLeave` does; not_signed_in when nobody is. */
  end(of: { last_device: boolean }): Promise<void>
  /**
   * A new session for a machine account that lost its own, without anybody. Not in turn with the steps above: one of them may wait
   * for the answer that needs it. Throws AppError not_signed_in for a person's device, and as `enrolWith` does.
   */
  again(): Promise<Session>
}

const signedOut: SignIn = { state: 'signed_out', email: null, account_id: null, device_words: null }

const nobody = () =>
  new AppError('not_signed_in', 'Nobody is signed in here: run "countersignd login".')

/**
 * Make the flow.
 * @param of `server` is the origin of the account server, null for the one in this process; `now` gives Unix milliseconds
 */
export function newSignIn(of: {
  state: State
  keychain: Keychain
  seat: Pick<Seat, 'identity' | 'account' | 'take' | 'leave'>
  door: Door
  server: string | null
  now: () => number
  log: Log
  names: Names
}): SignInFlow {
  const { state, keychain, seat, server, now, log } = of

  let tail: Promise<unknown> = Promise.resolve()
  /** One step at a time: two that make keys at once would overwrite each other's. */
  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = tail.then(step)
    tail = turn.catch(() => undefined)
    return turn
  }

  /** Who sits here; also one that was written down and, after a crash, never sat. */
  async function current(): Promise<Identity | null> {
    const seated = seat.identity()
    if (seated !== null) return seated
    const stored = openIdentity(state, keychain)
    if (stored === null || stored.embedded !== (server === null)) return null
    seat.take(stored)
    return stored
  }

  /** The account server to sign in to. Throws AppError where there is nothing to sign in to. */
  function ownServer(): string {
    if (server !== null) return server
    throw new AppError(
      'invalid_state',
      'This daemon uses its own embedded account, which needs no sign-in. To sign in to an account server, set SVC_BACKEND_URL to its address, best with another SVC_STATE_DIR.',
      { details: { state: 'embedded' } },
    )
  }

  async function demandNobody(): Promise<void> {
    const identity = await current()
    if (identity !== null)
      throw new AppError(
        'invalid_state',
        identity.approved
          ? `This device is signed in to ${identity.account}. Run "countersignd logout" first.`
          : `This device awaits its approval for ${identity.account}: go on with "countersignd login", or give up with "countersignd logout".`,
        { details: { state: identity.approved ? 'signed_in' : 'awaiting_approval' } },
      )
    if (openIdentity(state, keychain) !== null)
      throw new AppError(
        'invalid_state',
        'This state folder holds the account of the embedded account server. Set SVC_STATE_DIR to another folder, or unset SVC_BACKEND_URL.',
        { details: { state: 'embedded' } },
      )
  }

  const codeSent = () => state.meta.get(CODE_SENT) as CodeSent | null

  async function read(): Promise<SignIn> {
    const identity = await current()
    if (identity === null) {
      const sent = codeSent()
      return sent !== null && Date.parse(sent.expires_at) > now()
        ? { ...signedOut, state: 'code_sent', email: sent.email }
        : signedOut
    }
    const { account, device, email, approved } = identity
    const seen = { email, account_id: account }
    if (approved) return { ...seen, state: 'signed_in', device_words: null }
    const [{ deviceWords }, { publicKeys }] = await Promise.all([
      import('../crypto/approval.ts'),
      import('../crypto/device-keys.ts'),
    ])
    const words = deviceWords({ account, device, keys: publicKeys(await identity.keys()) })
    return { ...seen, state: 'awaiting_approval', device_words: words.join(' ') }
  }

  async function begin(email: string): Promise<SignIn> {
    ownServer()
    await demandNobody()
    const sent = await of.door.signIns.create({ body: { email } })
    const kept: CodeSent = { email: sent.email, expires_at: sent.expires_at }
    state.meta.set(CODE_SENT, kept)
    return read()
  }

  async function enter(
    credential: Credential,
    reset: boolean,
    keepCredential: () => void,
  ): Promise<SignIn> {
    const { enrolWith } = await import('./sign-in-enrolment.ts')
    const identity = await enrolWith(of, credential, reset, keepCredential)
    const { account, device, approved } = identity
    log('info', 'signed in', { account, device, approved, reset })
    seat.take(identity)
    state.meta.delete(CODE_SENT)
    return read()
  }

  async function code(given: { code: string; reset: boolean }): Promise<SignIn> {
    ownServer()
    await demandNobody()
    const email = codeSent()?.email ?? null
    const credential: Credential = {
      holder: email,
      email,
      machine: false,
      present: async () => ({ code: given.code }),
      // Without the cause: what a far server says of a code may quote it.
      refused: () =>
        new AppError(
          'not_signed_in',
          'This code is wrong, used or expired. Check it, or have a new one sent.',
        ),
    }
    return enter(credential, given.reset, () => undefined)
  }

  async function machine({ key, reset }: { key: MachineKey; reset: boolean }): Promise<SignIn> {
    const at = ownServer()
    const { machineCredential, storeMachineKey } = await import('./machine-key.ts')
    const credential = await machineCredential(key, at, now)
    const keep = () => storeMachineKey(keychain, key)
    const identity = await current()
    if (identity !== null && identity.machine && identity.account === key.account && !reset) {
      const { enrolAgain } = await import('./sign-in-enrolment.ts')
      await enrolAgain(of, credential, identity)
      keep()
      return read()
    }
    await demandNobody()
    return enter(credential, reset, keep)
  }

  async function approve(words: string): Promise<SignIn> {
    const identity = await current()
    if (identity === null) throw nobody()
    if (identity.approved) return read()
    const { confirm } = await import('./confirmation.ts')
    const { account, device } = identity
    await confirm({ identity, state, account: seat.account() }, words)
    log('info', 'approved', { account, device })
    seat.take(openIdentity(state, keychain) as Identity)
    return read()
  }

  async function end({ last_device }: { last_device: boolean }): Promise<void> {
    const identity = await current()
    if (identity === null) {
      if (codeSent() === null) throw nobody()
      // The draft stays: its device may be enrolled already, and then only its keys are of use.
      return state.meta.delete(CODE_SENT)
    }
    ownServer()
    const [{ takeLeave }, { forgetMachineKey }] = await Promise.all([
      import('./sign-out.ts'),
      import('./machine-key.ts'),
    ])
    const account = seat.account()
    await takeLeave({ identity, state, account, now: now(), lastDevice: last_device })
    forgetMachineKey(keychain)
    log('info', 'signed out', { account: identity.account, device: identity.device })
    await seat.leave()
  }

  async function again(): Promise<Session> {
    const identity = seat.identity()
    const { machineCredential, readMachineKey } = await import('./machine-key.ts')
    const key = identity?.machine ? readMachineKey(keychain) : null
    if (identity === null || key === null || server === null) throw nobody()
    const { enrolAgain } = await import('./sign-in-enrolment.ts')
    return enrolAgain(of, await machineCredential(key, server, now), identity)
  }

  return {
    read: () => inTurn(read),
    begin: (email) => inTurn(() => begin(email)),
    code: (given) => inTurn(() => code(given)),
    machine: (given) => inTurn(() => machine(given)),
    approve: (words) => inTurn(() => approve(words)),
    end: (given) => inTurn(() => end(given)),
    again,
  }
}
