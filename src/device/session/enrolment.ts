/**
 * Enrols this device at the embedded account server, without user interaction.
 *
 * The device creates its keys and is the first device of a new account. `sign-in.ts` has the
 * sign-in to another account server, for users and machine accounts.
 */
import type { UnauthenticatedClient } from '../../api/port.ts'
import { nameWithoutChoice } from '../../api/rest/names.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { newDeviceKeys } from '../../crypto/device-keys.ts'
import { ID_PREFIX, newId } from '../../crypto/encoding/id.ts'
import { verifyKeyLog } from '../../crypto/logs/key-log.ts'
import { addFirst, newSalt } from '../../crypto/logs/key-log-entries.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import {
  type Identity,
  openIdentity,
  rememberServer,
  storeFacts,
  storeSession,
} from '../identity/identity.ts'
import { rememberName } from '../identity/signed-name.ts'
import { storeKeys } from '../identity/own-keys.ts'
import type { SystemNames } from '../system-names.ts'
import { requireNone } from './sign-in-draft.ts'

const DRAFT = 'enrolment'

interface Draft {
  readonly account: string
  /** The entry with seq 0 of the key log. */
  readonly entry: string
  /** The sealing key that the entry names, base64url. */
  readonly sealKey: string
}

/**
 * Creates new keys and the key log entry that names them.
 *
 * The keys are stored in the keychain before anything refers to them.
 */
async function newDraft(state: State, keychain: Keychain, now: number): Promise<Draft> {
  const keys = await newDeviceKeys()
  const device = newId(ID_PREFIX.device, now)
  const at = Math.floor(now / 1000)
  const { account, entry } = addFirst({ salt: newSalt(), device, keys, at })
  await storeKeys(state, keychain, keys)
  const draft = { account, entry, sealKey: encodeBase64url(keys.seal.publicKey) }
  state.meta.set(DRAFT, draft)
  return draft
}

/**
 * Enrols this device as the first device of a new account.
 *
 * After a crash, the device sends the same entry again at its next start. The server recognises the
 * entry and does not create a second account.
 * @param codeFor gets a one-time enrolment code for this account from the server
 * @param now Unix milliseconds
 * @throws StartError configuration if another sign-in was not completed, and what the server throws
 */
export async function enrol(
  state: State,
  keychain: Keychain,
  door: UnauthenticatedClient,
  codeFor: (account: string) => Promise<string>,
  names: SystemNames,
  now: number,
): Promise<Identity> {
  requireNone(state)
  const { account, entry, sealKey } =
    (state.meta.get(DRAFT) as Draft | null) ?? (await newDraft(state, keychain, now))
  const code = await codeFor(account)
  const display_name = names.display_name ?? nameWithoutChoice(null)
  const { device_name, platform } = names
  const body = { code, display_name, device_name, platform, entry, seal_key: sealKey }
  const made = await door.enrolment.create({ body })
  const [device] = verifyKeyLog(account, [entry]).active
  if (device === undefined || made.account_id !== account || made.device_id !== device.id)
    throw new Error('the account server did not enrol the requested account and device')
  storeSession(keychain, made.session.refresh_token)
  state.transaction(() => {
    state.logs.append({ kind: 'keylog', subject: account, seq: 0, entry })
    storeFacts(state, {
      account,
      device: device.id,
      session: made.session.session_id,
      kid: device.kid,
      receiptKey: made.receipt_key,
      approved: true,
      revoked: false,
      machine: null,
      server: null,
      email: null,
    })
    if (names.display_name !== null) rememberName(state, names.display_name)
    rememberServer(state, null)
    state.meta.delete(DRAFT)
    const approved = true
    state.events.append('session.started', { account_id: account, device_id: device.id, approved })
  })
  // A copy of the folder without the write-ahead log must not look unused, because it would enrol
  // again.
  state.checkpoint()
  return openIdentity(state, keychain) as Identity
}
