/**
 * A code or a machine account's key becomes a session of this device. What is presented is written down first, so that it is
 * presented alike after a crash; what the server answers is taken only for the account and device that were asked for.
 */
import type { Session } from '../../api/device/enrolment.ts'
import type { Door } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { publicKeys } from '../../crypto/device-keys.ts'
import type { LoggedKeys } from '../../crypto/device-public-keys.ts'
import { thumbprint } from '../../crypto/jose/jwk.ts'
import { verifyingKeyLog } from '../../crypto/logs/key-log.ts'
import { AppError, type Code } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import { inSlices } from '../../slices.ts'
import type { State } from '../../state/state.ts'
import { rememberName } from '../identity/signed-name.ts'
import type { Names } from '../system-names.ts'
import {
  type Identity,
  changeFacts,
  openIdentity,
  storeFacts,
  storeSession,
} from '../identity/identity.ts'
import { judgeKeyLog, judged, judging, keepKeyLog, seqOf } from '../logs/key-log.ts'
import { MOST_OWN_CHARACTERS, readPages } from '../logs/log-pages.ts'
import type { Seat } from './session.ts'
import { dropCode, type Credential } from './sign-in-code.ts'
import { type Draft, type Way, draftFor, dropDraft, keepWay, newDraft } from './sign-in-draft.ts'
import type { Resetting } from './sign-in-flow.ts'
import { leftMeanwhile, wasRevoked } from '../identity/refusals.ts'
import { type Opens, ownEntry, wayIn } from './sign-in-way.ts'

export interface Ground {
  readonly state: State
  readonly keychain: Keychain
  readonly door: Door
  /** The origin of the account server. */
  readonly server: string
  readonly seat: Pick<Seat, 'identity'>
  readonly names: Names
  /** Unix milliseconds. */
  readonly now: () => number
}

/** What an account server, or the way there, says to a credential that it does not take. */
const REFUSALS: readonly Code[] = ['invalid_token', 'invalid_client', 'not_signed_in']

/** The answer may have been lost after the server did what was asked. */
const LOST: readonly Code[] = ['backend_unavailable', 'backend_timeout']
/** So many times more a credential is presented then. */
const MORE_TIMES = 2

/** Ask with a credential, presented anew each time: what was presented once may be spent. */
async function shown<T>(
  credential: Credential,
  ask: (presented: Awaited<ReturnType<Credential['present']>>) => Promise<T>,
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
 * What a credential opens at the account server, without using it up, with the key log of the account,
 * which is read in pages.
 * @throws AppError not_signed_in for one that is not taken, backend_error for a log that is too large,
 *   and what the door throws
 */
export async function opensOf({ signIns }: Door, credential: Credential): Promise<Opens> {
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

type Made = Awaited<ReturnType<Door['enrolment']['create']>>

/** A device as it shows itself: its keys as a key log names them, and the sealing key's bytes. */
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

/** Present a device to the server. Throws AppError backend_error when it answers for another one. */
async function present(
  { door, names }: Ground,
  credential: Credential,
  { device, keys, sealKey }: Presented,
  { account, entry }: Way,
): Promise<Made> {
  const { device_name, platform, display_name } = names
  const made = await shown(credential, (presented) => {
    const body = { ...presented, device_name, platform, seal_key: encodeBase64url(sealKey) }
    return entry === null
      ? door.enrolment.further({ body: { ...body, device, keys } })
      : door.enrolment.create({ body: { ...body, display_name, entry } })
  })
  if (made.account_id === account && made.device_id === device) return made
  throw new AppError(
    'backend_error',
    'The account server enrolled another account or device than was asked. It may be dishonest; nothing was changed here.',
  )
}

/** The draft, and how it joins. The draft is written down. */
export async function planned(
  { state, keychain, server, now }: Pick<Ground, 'state' | 'keychain' | 'server' | 'now'>,
  { holder }: Credential,
  opens: Opens,
  resetting: Resetting,
): Promise<{ draft: Draft; way: Way }> {
  const maker = { server, holder: holder ?? opens.email }
  const kept = await draftFor(state, keychain, maker, now())
  const fits = wayIn(opens, kept, resetting, now())
  const draft = fits === null ? await newDraft(state, keychain, maker, now()) : kept
  return { draft, way: fits ?? (wayIn(opens, draft, resetting, now()) as Way) }
}

/** Whether this device has an account by itself from here on; a further one sees its log when it is approved. */
function keepLog(state: State, { log }: Opens, { account, entry }: Way): void {
  if (entry === null) return
  const before = log?.entries ?? []
  const entries = before.includes(entry) ? before : [...before, entry]
  // Where this device remembers nothing, what it read of the log was verified a moment ago.
  const known = state.logs.head('keylog', account) === null ? (log ?? undefined) : undefined
  keepKeyLog(state, judgeKeyLog(state, account, entries, known))
}

/** Whether the account begins with this device. */
const isFirst = ({ log }: Opens, { entry }: Way): boolean =>
  entry !== null && (log === null || log.entries.every((one) => one === entry))

/**
 * The name that this device signs; null where it goes by what the others signed, and after a reset of
 * a person's account, where the person decides. A machine's is in its key file, also after a reset.
 */
function nameFor(
  { names }: Ground,
  { machine, name }: Credential,
  opens: Opens,
  way: Way,
): string | null {
  if (machine !== null) return way.entry === null ? null : name
  return isFirst(opens, way) ? names.display_name : null
}

/**
 * Sign in with a credential: as the first device of an account, as a further one that awaits approval, or after a reset.
 * @throws AppError not_signed_in for a credential that is not taken, invalid_state where only the person can decide,
 *   backend_error for answers that cannot be right, and what the door throws; nothing but the draft is kept then
 */
export async function enrolWith(
  ground: Ground,
  credential: Credential,
  resetting: Resetting,
): Promise<Identity> {
  const { state, keychain, door, server } = ground
  const opens = await opensOf(door, credential)
  const { draft, way } = await planned(ground, credential, opens, resetting)
  keepWay(state, draft, way)
  const made = await present(ground, credential, presentedAs(draft), way)
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
  })
  return openIdentity(state, keychain) as Identity
}

const isRevoked = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'invalid_state' && error.details.state === 'revoked'

/**
 * A new session of a device that is enrolled: it presents itself as it came in.
 * @throws AppError not_signed_in for a device that was revoked, or signed out while the server was asked; else as `enrolWith`
 */
export async function enrolAgain(
  ground: Ground,
  credential: Credential,
  identity: Identity,
): Promise<Session> {
  const { state, keychain, seat } = ground
  const { account, device } = identity
  const log = state.logs.head('keylog', account) === null ? null : await identity.keyLog()
  const entry = log && judged(() => ownEntry(log, device))
  const own = presentedAs({ device, keys: await identity.keys() })
  // A sealing key may have been renewed since the log named the device.
  const presented = { ...own, keys: log?.devices.get(device)?.keys ?? own.keys }
  const { session } = await present(ground, credential, presented, { account, entry }).catch(
    (error: unknown) => {
      throw isRevoked(error) ? wasRevoked(error) : error
    },
  )
  // A sign-out waits for nobody, and has forgotten what must not come back.
  if (seat.identity()?.device !== device) throw leftMeanwhile()
  storeSession(keychain, session.refresh_token)
  credential.keep()
  state.transaction(() => {
    changeFacts(state, { session: session.session_id })
    dropCode(state)
  })
  return session
}
