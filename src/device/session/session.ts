/**
 * The session: which account is signed in on this device.
 *
 * The session changes while the daemon runs, when a user signs in, is approved, or signs out. Each
 * call uses the current session. Signing out deletes all data of the account, even if the process
 * is killed during the sign-out.
 */
import { clientOf } from '../../api/client.ts'
import { signedIn } from '../../api/device/index.ts'
import type { Account } from '../../api/port.ts'
import { rest } from '../../api/rest/index.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import { wipe } from '../../state/database.ts'
import type { State } from '../../state/state.ts'
import { tokenEntry } from '../../state/tokens.ts'
import type { Act } from '../../storage/idempotency.ts'
import type { Copies } from '../copies/copies.ts'
import type { ReadInput } from '../copies/whole-lists.ts'
import type { LocalDevice } from '../device.ts'
import type { Reachability } from '../sync/reachability.ts'
import {
  forgetIdentity,
  type Identity,
  knownServer,
  openIdentity,
  rememberServer,
} from '../identity/identity.ts'
import { deleteCacheKey } from '../identity/vault.ts'

type AccountCall = (input: unknown) => Promise<unknown>
type Calls = Readonly<Record<string, Readonly<Record<string, AccountCall>>>>

type Around = (call: AccountCall, group: string, name: string) => AccountCall

/** Returns the same account with `around` applied to each of its calls. */
function eachCall(account: SessionAccount, around: Around): SessionAccount {
  /**
   * Returns an account with `around` applied to each of its calls.
   *
   * The groups and calls are the same, so the type cast is safe.
   */
  function wrapped(calls: Account): Account {
    const groups = {}
    const all = calls as unknown as Calls
    for (const group of Object.keys(all)) {
      const make = () =>
        Object.fromEntries(
          Object.entries(all[group] ?? {}).map(([name, call]) => [name, around(call, group, name)]),
        )
      let made: ReturnType<typeof make> | null = null
      // A group is created at its first use, because a daemon needs few groups when it starts.
      Object.defineProperty(groups, group, { enumerable: true, get: () => (made ??= make()) })
    }
    return groups as Account
  }

  const { acting, ...calls } = account
  const all = wrapped(calls)
  return acting === undefined
    ? all
    : Object.assign(all, { acting: (act: Act) => wrapped(acting(act)) })
}

/** An account, optionally with a function that lets several requests belong to one operation. */
export type SessionAccount = Account & { readonly acting?: (act: Act) => Account }

/**
 * The maximum number of attempts of a call.
 *
 * The second attempt may fail together with a call that was in flight with the old session. The
 * third attempt does not.
 */
const TRIES = 3

/**
 * Returns the same account, which repeats a call if the server rejects it because the session
 * ended.
 * @param again creates the new session; called once for all calls that wait for it
 */
export function renewing(account: SessionAccount, again: () => Promise<unknown>): SessionAccount {
  let renewal: Promise<unknown> | null = null
  const renewed = () =>
    (renewal ??= again().finally(() => {
      renewal = null
    }))

  const around =
    (call: AccountCall): AccountCall =>
    async (input) => {
      for (let tried = 1; ; tried++)
        try {
          return await call(input)
        } catch (error) {
          const ended = error instanceof AppError && error.code === 'not_signed_in'
          if (!ended || tried === TRIES) throw error
          if (tried === 1) await renewed()
        }
    }

  return eachCall(account, around)
}

/** The meta key that is set from the beginning of a sign-out until all data is deleted. */
const LEAVING = 'leaving'

export interface DeviceSession {
  /** Returns the signed-in identity; null if there is none. */
  identity(): Identity | null
  /** Returns this device; null if it is signed out or not yet approved. */
  device(): LocalDevice | null
  /**
   * Returns the account for this device's requests. If signed out, its calls throw not_signed_in.
   */
  account(): SessionAccount
  /** Returns the error for an operation that needs a session if there is none. */
  absent(): AppError
  /** Returns the server's message if its last response rejected the session; otherwise null. */
  refused(): string | null
  /**
   * Uses an identity that has signed in, was approved, or has a new session.
   *
   * Throws if an interrupted sign-out is not completed.
   */
  take(identity: Identity): void
  /**
   * Waits for the running sync, then deletes all data of the account.
   * @param why after `signed_out`, the API tokens stay; after `deleted`, nothing stays
   */
  leave(why?: 'signed_out' | 'deleted'): Promise<void>
  /**
   * Deletes what an interrupted sign-out left. Signing in is not possible before that.
   * @throws what the keychain throws
   */
  finishLeaving(): void
}

const notSignedIn = () =>
  new AppError('not_signed_in', 'No account is signed in on this device. Run "countersignd login".')

const nobodysAccount = (absent: () => AppError): Account =>
  clientOf({ ...rest, ...signedIn }, () => Promise.reject(absent()), ['account', 'both'])

/** Called before and after each call of the account: after it with the error, null for none. */
type CallWatch = Pick<Reachability, 'begin' | 'end'>

const UNWATCHED: CallWatch = { begin: () => undefined, end: () => undefined }

/**
 * Wraps an account, and stores the message of the last response if it rejected the session. Copies
 * the answers to reads.
 * @param isHere whether this is still the session; otherwise no answer is copied
 */
function watched(
  of: SessionAccount,
  { begin, end: outcome }: CallWatch,
  copies: Copies | null,
  isHere: () => boolean,
) {
  let refused: string | null = null
  const account = eachCall(of, (call, group, name) => async (input) => {
    const keep = copies?.begin(group, name) ?? null
    begin()
    try {
      const answer = await call(input)
      refused = null
      outcome(null)
      if (keep !== null && isHere()) keep(input as ReadInput, answer)
      return answer
    } catch (error) {
      outcome(error)
      if (error instanceof AppError && error.code === 'not_signed_in') {
        refused = error.message
        if (isHere()) copies?.clear()
      }
      throw error
    }
  })
  const renewed = () => {
    refused = null
  }
  return { account, refused: () => refused, renewed }
}

/**
 * Deletes the cache key, then the other data of the account.
 *
 * If a crash interrupts this, the data that remains cannot be decrypted, because the cache key is
 * gone. The next start deletes that data.
 */
function forget(state: State, keychain: Keychain): void {
  const reason = state.meta.get(LEAVING) === 'deleted' ? 'deleted' : 'signed_out'
  const isDeleted = reason === 'deleted'
  deleteCacheKey(keychain)
  forgetIdentity(state, keychain)
  // The rows list the keychain entries, so they must stay until all entries are deleted.
  if (isDeleted) for (const { id } of state.tokens.all()) keychain.delete(tokenEntry(id))
  const server = isDeleted ? null : knownServer(state)
  wipe(state.db, isDeleted, () => {
    rememberServer(state, server)
    state.events.append('session.ended', { reason })
  })
}

/** The signed-in identity and what was made for it. */
interface Started {
  readonly identity: Identity
  readonly account: SessionAccount
  readonly session: Pick<ReturnType<typeof watched>, 'refused' | 'renewed'>
  readonly device: LocalDevice | null
}

/**
 * Opens the session. An identity that was signed in when the daemon ended is signed in again.
 * @param of `accountOf` returns an identity's account; `deviceOf` creates the device of an approved
 *   identity; `taken` is called after each later sign-in, approval and renewal; `absent` returns
 *   the error for the signed-out state, by default the advice to sign in; `watch` is called
 *   before and after each call of the account; `copies` stores the answers of an approved device
 * @throws AppError keychain_locked if an interrupted sign-out cannot be completed
 */
export function openDeviceSession(of: {
  state: State
  keychain: Keychain
  accountOf: (identity: Identity) => SessionAccount
  deviceOf: (identity: Identity, account: Account) => LocalDevice
  taken: () => void
  absent?: () => AppError
  watch?: CallWatch
  copies?: Copies | null
}): DeviceSession {
  const { state, keychain, accountOf, deviceOf, absent = notSignedIn } = of
  const { watch = UNWATCHED, copies = null } = of
  /** Created at first use, because most daemons have a signed-in account. */
  let nobodys: Account | null = null

  const isLeaving = () => state.meta.get(LEAVING) !== null
  function finishLeaving(): void {
    if (isLeaving()) forget(state, keychain)
  }
  finishLeaving()

  const startFor = (identity: Identity): Started => {
    const isHere = () => here?.session === session
    const { account, ...session } = watched(
      accountOf(identity),
      watch,
      identity.approved ? copies : null,
      isHere,
    )
    const device = identity.approved ? deviceOf(identity, account) : null
    return { identity, account, session, device }
  }
  let here: Started | null = null
  const known = openIdentity(state, keychain)
  if (known !== null) here = startFor(known)

  return {
    identity: () => here?.identity ?? null,
    device: () => here?.device ?? null,
    account: () => here?.account ?? (nobodys ??= nobodysAccount(absent)),
    absent,
    refused: () => here?.session.refused() ?? null,

    take(identity) {
      // Completing the sign-out later would delete the new account's keys.
      if (isLeaving()) throw new Error('a sign-out is not finished')
      // A device in use is kept, and uses the new session from now on.
      const isSame = here?.identity.device === identity.device
      if (here !== null && here.device !== null && isSame) here.session.renewed()
      else here = startFor(identity)
      of.taken()
    },

    async leave(why = 'signed_out') {
      const going = here
      here = null
      await going?.device?.leave()
      rememberServer(state, knownServer(state))
      state.meta.set(LEAVING, why)
      forget(state, keychain)
    },

    finishLeaving,
  }
}
