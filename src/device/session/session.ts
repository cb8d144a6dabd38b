/**
 * Who is signed in here. It changes at run time: somebody signs in, is approved, signs out; whoever is asked meanwhile is told
 * as it is then. Signing out leaves nothing of the account behind, whenever the process dies on the way.
 */
import type { Account } from '../../api/port.ts'
import { signedIn } from '../../api/device/index.ts'
import { rest } from '../../api/rest/index.ts'
import { clientOf } from '../../api/client.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { tokenEntry } from '../../state/tokens.ts'
import { wipe } from '../../state/wipe.ts'
import type { Device } from '../device.ts'
import { eachCall, type SeatAccount } from './each-call.ts'
import { type Identity, forgetIdentity, openIdentity } from '../identity/identity.ts'
import { deleteCacheKey } from '../identity/vault.ts'

/** Set from the moment of leaving until nothing is left. */
const LEAVING = 'leaving'

export interface Seat {
  /** Who is signed in, or null. */
  identity(): Identity | null
  /** This device as a member of its account; null when nobody is signed in and while it waits for approval. */
  device(): Device | null
  /** The account as this device may ask it; every call rejects AppError not_signed_in when nobody is signed in. */
  account(): SeatAccount
  /** What whoever needs somebody here is told when nobody is. */
  absent(): AppError
  /** What to tell the person when the account server takes the session no more, as its last answer said; else null. */
  refused(): string | null
  /** Somebody signed in, was approved, or has a new session. Not before a sign-out that failed half way is finished. */
  take(identity: Identity): void
  /**
   * Wait for the sync under way, then forget all that belongs to the account.
   * @param why signing out leaves the API tokens; of an account that was deleted nothing stays
   */
  leave(why?: 'signed_out' | 'deleted'): Promise<void>
  /** Forget what a sign-out that failed half way left behind. Throws as the keychain does; nobody can sit down until then. */
  finishLeaving(): void
}

const notSignedIn = () =>
  new AppError('not_signed_in', 'Nobody is signed in on this device: run "countersignd login".')

const nobodysAccount = (absent: () => AppError): Account =>
  clientOf({ ...rest, ...signedIn }, () => Promise.reject(absent()), ['account', 'both'])

/** An account, and what it said last where that was that the session has ended. */
function watched(of: SeatAccount, outcome: (error: unknown) => void) {
  let refused: string | null = null
  const account = eachCall(of, (call) => async (input) => {
    try {
      const answer = await call(input)
      refused = null
      outcome(null)
      return answer
    } catch (error) {
      outcome(error)
      if (error instanceof AppError && error.code === 'not_signed_in') refused = error.message
      throw error
    }
  })
  const renewed = () => {
    refused = null
  }
  return { account, refused: () => refused, renewed }
}

/** The key of the secrets first: what a crash leaves after that is sealed for ever, and deleted at the next start. */
function forget(state: State, keychain: Keychain): void {
  const isDeleted = state.meta.get(LEAVING) === 'deleted'
  deleteCacheKey(keychain)
  forgetIdentity(state, keychain)
  // Their rows say which there are, until all are gone.
  if (isDeleted) for (const { id } of state.tokens.all()) keychain.delete(tokenEntry(id))
  wipe(state.db, isDeleted)
}

/**
 * Open the seat: whoever was signed in when the daemon ended still is.
 * @param of `accountOf` gives the account of an identity; `deviceOf` puts the device of an approved one together; `taken` hears
 *   of everybody who signs in, is approved or has a new session from now on; `absent` says what to do where nobody is here, which is to
 *   sign in unless it says otherwise; `outcome` hears what each call of the account threw, null for
 *   an answer
 * @throws AppError keychain_locked when a sign-out that was cut off cannot be finished
 */
export function openSeat(of: {
  state: State
  keychain: Keychain
  accountOf: (identity: Identity) => SeatAccount
  deviceOf: (identity: Identity, account: Account) => Device
  taken: () => void
  absent?: () => AppError
  outcome?: (error: unknown) => void
}): Seat {
  const { state, keychain, accountOf, deviceOf, absent = notSignedIn } = of
  const { outcome = () => undefined } = of
  /** Made when somebody asks: most daemons have somebody. */
  let nobodys: Account | null = null

  const isLeaving = () => state.meta.get(LEAVING) !== null
  function finishLeaving(): void {
    if (isLeaving()) forget(state, keychain)
  }
  finishLeaving()

  const seated = (identity: Identity) => {
    const { account, ...session } = watched(accountOf(identity), outcome)
    const device = identity.approved ? deviceOf(identity, account) : null
    return { identity, account, session, device }
  }
  const known = openIdentity(state, keychain)
  let here = known === null ? null : seated(known)

  return {
    identity: () => here?.identity ?? null,
    device: () => here?.device ?? null,
    account: () => here?.account ?? (nobodys ??= nobodysAccount(absent)),
    absent,
    refused: () => here?.session.refused() ?? null,

    take(identity) {
      // The rest of the forgetting would take the newcomer's keys.
      if (isLeaving()) throw new Error('a sign-out is not finished')
      // A device at work stays as it is: what it does from now on goes by the new session.
      const isSame = here?.identity.device === identity.device
      if (here !== null && here.device !== null && isSame) here.session.renewed()
      else here = seated(identity)
      of.taken()
    },

    async leave(why = 'signed_out') {
      const going = here
      here = null
      await going?.device?.leave()
      state.meta.set(LEAVING, why)
      forget(state, keychain)
    },

    finishLeaving,
  }
}
