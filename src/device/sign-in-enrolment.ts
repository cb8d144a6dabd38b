/**
 * A code or a machine account's key becomes a session of this device. What is presented is written down first, so that it is
 * presented alike after a crash; what the server answers is taken only for the account and device that were asked for.
 */
import type { Session } from '../api/device/enrolment.ts'
import type { Door } from '../api/port.ts'
import { publicKeys } from '../crypto/device-keys.ts'
import { thumbprint } from '../crypto/jwk.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/keychain.ts'
import type { State } from '../state/state.ts'
import type { Names } from './names.ts'
import { type Identity, changeFacts, openIdentity, storeFacts, storeSession } from './identity.ts'
import { judgeKeyLog, judged, keepKeyLog } from './key-log.ts'
import { type Draft, type Way, draftFor, dropDraft, keepWay, newDraft } from './sign-in-draft.ts'
import { type Opens, ownEntry, wayIn } from './sign-in-way.ts'

export interface Ground {
  readonly state: State
  readonly keychain: Keychain
  readonly door: Door
  readonly names: Names
  /** Unix milliseconds. */
  readonly now: () => number
}

/** What opens an account. */
export interface Credential {
  /** Whose it is: a mailbox, a machine account, or nobody's that is known here. */
  readonly holder: string | null
  readonly email: string | null
  readonly machine: boolean
  /** As a request shows it: once each time, for an assertion serves one request. */
  present(): Promise<{ code: string } | { assertion: string }>
  /** What to say when the server does not take it. */
  refused(cause: AppError): AppError
}

/** What an account server, or the way there, says to a credential that it does not take. */
const REFUSALS: readonly string[] = ['invalid_token', 'invalid_client', 'not_signed_in']

async function shown<T>(credential: Credential, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AppError && REFUSALS.includes(error.code)) throw credential.refused(error)
    throw error
  }
}

type Made = Awaited<ReturnType<Door['enrolment']['create']>>

/** Present a device to the server. Throws AppError backend_error when it answers for another one. */
async function present(
  { door, names }: Ground,
  credential: Credential,
  { device, keys }: Pick<Draft, 'device' | 'keys'>,
  { account, entry }: Way,
): Promise<Made> {
  const { device_name, platform, display_name } = names
  const made = await shown(credential, async () => {
    const body = { ...(await credential.present()), device_name, platform }
    return entry === null
      ? door.enrolment.further({ body: { ...body, device, keys: publicKeys(keys) } })
      : door.enrolment.create({ body: { ...body, display_name, entry } })
  })
  if (made.account_id === account && made.device_id === device) return made
  throw new AppError(
    'backend_error',
    'The account server enrolled another account or device than was asked. It may be dishonest; nothing was changed here.',
  )
}

/** The draft and how it joins; both are written down. */
async function planned(
  { state, keychain, now }: Ground,
  { holder }: Credential,
  opens: Opens,
  reset: boolean,
): Promise<{ draft: Draft; way: Way }> {
  const kept = await draftFor(state, keychain, holder, now())
  const fits = wayIn(opens, kept, reset, now())
  const draft = fits === null ? newDraft(state, keychain, holder, now()) : kept
  const way = fits ?? (wayIn(opens, draft, reset, now()) as Way)
  keepWay(state, draft, way)
  return { draft, way }
}

/** Whether this device has an account by itself from here on; a further one sees its log when it is approved. */
function keepLog(state: State, { key_log }: Opens, { account, entry }: Way): void {
  if (entry === null) return
  const entries = key_log.includes(entry) ? key_log : [...key_log, entry]
  keepKeyLog(state, judgeKeyLog(state, account, entries))
}

/**
 * Sign in with a credential: as the first device of an account, as a further one that awaits approval, or after a reset.
 * @param reset whether every earlier device is lost
 * @throws AppError not_signed_in for a credential that is not taken, invalid_state where only the person can decide,
 *   backend_error for answers that cannot be right, and what the door throws; nothing but the draft is kept then
 */
export async function enrolWith(
  ground: Ground,
  credential: Credential,
  reset: boolean,
  keepCredential: () => void,
): Promise<Identity> {
  const { state, keychain, door } = ground
  const opens = await shown(credential, async () =>
    door.signIns.read({ body: await credential.present() }),
  )
  const { draft, way } = await planned(ground, credential, opens, reset)
  const made = await present(ground, credential, draft, way)
  storeSession(keychain, made.session.refresh_token)
  keepCredential()
  state.transaction(() => {
    keepLog(state, opens, way)
    storeFacts(state, {
      account: way.account,
      device: draft.device,
      session: made.session.session_id,
      kid: thumbprint(draft.keys.sign.jwk),
      receiptKey: made.receipt_key,
      approved: way.entry !== null,
      machine: credential.machine,
      embedded: false,
      email: credential.email,
    })
    dropDraft(state)
  })
  return openIdentity(state, keychain) as Identity
}

/**
 * A new session of a device that is enrolled: it presents itself as it came in.
 * @throws as `enrolWith`
 */
export async function enrolAgain(
  ground: Ground,
  credential: Credential,
  identity: Identity,
): Promise<Session> {
  const { state, keychain } = ground
  const { account, device } = identity
  const log = state.logs.head('keylog', account) === null ? null : await identity.keyLog()
  const entry = log && judged(() => ownEntry(log, device))
  const draft = { device, keys: await identity.keys() }
  const { session } = await present(ground, credential, draft, { account, entry })
  storeSession(keychain, session.refresh_token)
  changeFacts(state, { session: session.session_id })
  return session
}
