/**
 * Exchanges a code or a machine account's key for a session of this device.
 *
 * The draft is stored before it is presented, so that it is presented in the same way after a
 * crash. The server's response is accepted only if it is for the requested account and device.
 */
import type { SessionTokens } from '../../api/device/enrolment.ts'
import type { UnauthenticatedClient } from '../../api/port.ts'
import { nameWithoutChoice } from '../../api/rest/names.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { publicKeys } from '../../crypto/device-keys.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { verifyingKeyLog } from '../../crypto/logs/key-log.ts'
import { AppError, type ErrorCode } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import { inSlices } from '../../slices.ts'
import type { State } from '../../state/state.ts'
import { rememberName } from '../identity/signed-name.ts'
import type { SystemNames } from '../system-names.ts'
import {
  type Identity,
  changeFacts,
  openIdentity,
  storeFacts,
  storeSession,
} from '../identity/identity.ts'
import { judgeKeyLog, withLogRefusals, judging, keepKeyLog, seqOf } from '../logs/key-log.ts'
import { MOST_OWN_CHARACTERS, readPages } from '../logs/log-pages.ts'
import type { DeviceSession } from './session.ts'
import { dropCode, type SignInCredential } from './credentials.ts'
import { type Draft, type Way, draftFor, dropDraft, keepWay, newDraft } from './sign-in-draft.ts'
import type { Resetting } from './sign-in-flow.ts'
import { leftMeanwhile, wasRevoked } from '../identity/refusals.ts'
import { type Opens, ownEntry, wayIn } from './sign-in-way.ts'

export interface SignInContext {
  readonly state: State
  readonly keychain: Keychain
  readonly door: UnauthenticatedClient
  /** The origin of the account server. */
  readonly server: string
  readonly deviceSession: Pick<DeviceSession, 'identity'>
  readonly names: SystemNames
  /** Unix milliseconds. */
  readonly now: () => number
}

/** Codes with which an account server, or a proxy in front of it, rejects a credential. */
const REFUSALS: readonly ErrorCode[] = ['invalid_token', 'invalid_client', 'not_signed_in']

/** Codes of a lost response. The server may have processed the request. */
const LOST: readonly ErrorCode[] = ['backend_unavailable', 'backend_timeout']
/** How many more times a credential is presented after a lost response. */
const MORE_TIMES = 2

/**
 * Sends a request with a credential. Each attempt calls `present` again, because an assertion is
 * valid only once.
 */
async function shown<T>(
  credential: SignInCredential,
  ask: (presented: Awaited<ReturnType<SignInCredential['present']>>) => Promise<T>,
): Promise<T> {
  for (let tried = 0; ; tried++)
    try {
      return await ask(await credential.present())
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (REFUSALS.includes(error.code)) throw credential.refused(error)
      if (!LOST.includes(error.code) || tried === MORE_TIMES) throw error
    }
}

/**
 * Returns what a credential gives access to, without using up the credential.
 *
 * This includes the account's key log, which is read in pages.
 * @throws AppError not_signed_in if the credential is rejected, backend_error if the log is too
 *   large, and any error from the server
 */
export async function opensOf(
  { signIns }: UnauthenticatedClient,
  credential: SignInCredential,
): Promise<Opens> {
  async function read(from: number) {
    const opened = await shown(credential, (body) => signIns.read({ body: { ...body, from } }))
    const { key_log: entries, key_log_seq: seq, account_id, email } = opened
    return { entries, seq: seq ?? -1, account_id, email }
  }
  const most = MOST_OWN_CHARACTERS
  return judging(async () => {
    const { entries, last } = await readPages({ read, known: [], most, seqOf })
    const { account_id, email } = last
    const hasLog = account_id !== null && entries.length > 0
    const log = hasLog ? await inSlices(verifyingKeyLog(account_id, entries)) : null
    return { account_id, email, log }
  })
}

type Made = Awaited<ReturnType<UnauthenticatedClient['enrolment']['create']>>

/**
 * What a device presents: its id, its public keys as in a key log, and the bytes of the sealing
 * key.
 */
interface Presented {
  readonly device: string
  readonly keys: LoggedKeys
  readonly sealKey: Uint8Array
}

const presentedAs = ({ device, keys }: Pick<Draft, 'device' | 'keys'>): Presented => ({
  device,
  keys: publicKeys(keys),
  sealKey: keys.seal.publicKey,
})

/**
 * Presents a device to the server.
 * @param email the address of the account, which is its name until the user chooses one
 * @throws AppError backend_error if the response is for another account or device
 */
async function present(
  { door, names }: SignInContext,
  credential: SignInCredential,
  { device, keys, sealKey }: Presented,
  { account, entry }: Way,
  email: string | null,
): Promise<Made> {
  const { device_name, platform } = names
  const display_name = names.display_name ?? nameWithoutChoice(email)
  const made = await shown(credential, (presented) => {
    const body = { ...presented, device_name, platform, seal_key: encodeBase64url(sealKey) }
    return entry === null
      ? door.enrolment.further({ body: { ...body, device, keys } })
      : door.enrolment.create({ body: { ...body, display_name, entry } })
  })
  if (made.account_id === account && made.device_id === device) return made
  throw new AppError(
    'backend_error',
    'The account server did not enrol the requested account and device. It may be dishonest. Nothing was changed here.',
  )
}

/** Returns the stored draft, and how the device joins. */
export async function planned(
  { state, keychain, server, now }: Pick<SignInContext, 'state' | 'keychain' | 'server' | 'now'>,
  { holder }: SignInCredential,
  opens: Opens,
  resetting: Resetting,
): Promise<{ draft: Draft; way: Way }> {
  const maker = { server, holder: holder ?? opens.email }
  const stored = await draftFor(state, keychain, maker, now())
  const fits = wayIn(opens, stored, resetting, now())
  const draft = fits === null ? await newDraft(state, keychain, maker, now()) : stored
  return { draft, way: fits ?? (wayIn(opens, draft, resetting, now()) as Way) }
}

/**
 * Stores the key log if this device joins by its own entry.
 *
 * Otherwise the device fetches the log when it is approved.
 */
function keepLog(state: State, { log }: Opens, { account, entry }: Way): void {
  if (entry === null) return
  const before = log?.entries ?? []
  const entries = before.includes(entry) ? before : [...before, entry]
  // If no log is stored yet, the entries that were read have just been verified.
  const known = state.logs.head('keylog', account) === null ? (log ?? undefined) : undefined
  keepKeyLog(state, judgeKeyLog(state, account, entries, known))
}

/** Checks whether this device is the account's first. */
const isFirst = ({ log }: Opens, { entry }: Way): boolean =>
  entry !== null && (log === null || log.entries.every((one) => one === entry))

/**
 * Returns the name that this device signs; null if it signs none.
 *
 * It signs none if other devices signed the name, and after a reset of a user's account, because
 * the user decides then. A machine account's name is in its key file, also after a reset.
 */
function nameFor(
  { names }: SignInContext,
  { machine, name }: SignInCredential,
  opens: Opens,
  way: Way,
): string | null {
  if (machine !== null) return way.entry === null ? null : name
  return isFirst(opens, way) ? names.display_name : null
}

/**
 * Signs in with a credential: as the first device, as a further device, or after a reset.
 *
 * A further device then waits for approval.
 * @throws AppError not_signed_in if the credential is rejected, invalid_state if the user must
 *   decide, backend_error for invalid responses, and any error from the server; only the draft is
 *   then kept
 */
export async function enrolWith(
  ground: SignInContext,
  credential: SignInCredential,
  resetting: Resetting,
): Promise<Identity> {
  const { state, keychain, door, server } = ground
  const opens = await opensOf(door, credential)
  const { draft, way } = await planned(ground, credential, opens, resetting)
  keepWay(state, draft, way)
  const made = await present(ground, credential, presentedAs(draft), way, opens.email)
  storeSession(keychain, made.session.refresh_token)
  credential.keep()
  state.transaction(() => {
    keepLog(state, opens, way)
    const name = nameFor(ground, credential, opens, way)
    if (name !== null) rememberName(state, name)
    storeFacts(state, {
      account: way.account,
      device: draft.device,
      session: made.session.session_id,
      kid: thumbprint(draft.keys.sign.jwk),
      receiptKey: made.receipt_key,
      approved: way.entry !== null,
      revoked: false,
      machine: credential.machine,
      server,
      email: opens.email,
    })
    dropDraft(state)
    dropCode(state)
    state.events.append('session.started', {
      account_id: way.account,
      device_id: draft.device,
      approved: way.entry !== null,
    })
  })
  return openIdentity(state, keychain) as Identity
}

const isRevoked = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'invalid_state' && error.details.state === 'revoked'

/**
 * Renews the session of an enrolled device. The device presents itself as it did when it joined.
 * @throws AppError not_signed_in if the device was revoked, or signed out during the request;
 *   otherwise as `enrolWith` does
 */
export async function enrolAgain(
  ground: SignInContext,
  credential: SignInCredential,
  identity: Identity,
): Promise<SessionTokens> {
  const { state, keychain, deviceSession } = ground
  const { account, device } = identity
  const log = state.logs.head('keylog', account) === null ? null : await identity.keyLog()
  const entry = log && withLogRefusals(() => ownEntry(log, device))
  const own = presentedAs({ device, keys: await identity.keys() })
  // The sealing key may have been renewed since the key log first named the device.
  const presented = { ...own, keys: log?.devices.get(device)?.keys ?? own.keys }
  const { session } = await present(
    ground,
    credential,
    presented,
    { account, entry },
    identity.email,
  ).catch((error: unknown) => {
    throw isRevoked(error) ? wasRevoked(error) : error
  })
  // A sign-out does not wait for this request, and what it deleted must not be stored again.
  if (deviceSession.identity()?.device !== device) throw leftMeanwhile()
  storeSession(keychain, session.refresh_token)
  credential.keep()
  state.transaction(() => {
    changeFacts(state, { session: session.session_id })
    dropCode(state)
  })
  return session
}
