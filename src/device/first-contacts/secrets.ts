/**
 * The stored data of a first contact, with which it continues after a restart, and its end.
 *
 * The vault stores the words, the scalar and the log positions that the run refers to. They are
 * deleted when the run ends.
 */
import type { ContactReason } from '../../api/rest/first-contacts.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import type { Contact } from '../../crypto/first-contact.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { FirstContactRow } from '../../state/invitations.ts'
import type { DeviceContext } from '../context.ts'

/** A log's newest entry: its seq, and its hash in base64url. */
interface LogPlace {
  readonly seq: number
  readonly head: string
}

interface Made {
  readonly words: string
  /** base64url. */
  readonly scalar: string
}

/** The inviter's secret data. `begun` is set when the inviter has accepted a message. */
export interface InviterSecret extends Made {
  readonly begun?: {
    readonly message: string
    readonly invitee: LogPlace & { readonly account: string; readonly generation: number }
    readonly own: LogPlace & { readonly rosterHead: string }
  }
}

/** The invitee's secret data. `verified` is set when the inviter's reply was verified. */
export interface InviteeSecret extends Made {
  readonly own: LogPlace
  readonly verified?: { readonly message: string; readonly generation: number }
}

const nameOf = (invitation: string) => `words ${invitation}`

type Keeping = Pick<DeviceContext, 'vault'>

export const keepSecret = (
  { vault }: Keeping,
  invitation: string,
  secret: InviterSecret | InviteeSecret,
): void => vault.put(nameOf(invitation), Buffer.from(JSON.stringify(secret)))

/**
 * Returns the secret data of a run; null if there is none or if it is damaged.
 * @throws AppError keychain_locked
 */
export function readContactSecret<T extends InviterSecret | InviteeSecret>(
  { vault }: Keeping,
  invitation: string,
): T | null {
  const sealed = vault.find(nameOf(invitation))
  return sealed === null ? null : (JSON.parse(Buffer.from(sealed).toString()) as T)
}

const dropSecret = ({ vault }: Keeping, invitation: string): void =>
  vault.delete(nameOf(invitation))

/** Returns a run in the form that CPace needs. */
export const runOf = (
  { sid, connection }: FirstContactRow,
  words: string,
  inviter: string,
): Contact => ({ words, sid: decodeBase64url(sid), connection, inviter })

/** Returns a log position in the form that the crypto functions need. */
export const rosterPlace = (account: string, { seq, head }: LogPlace) => ({
  account,
  seq,
  head: decodeBase64url(head),
})

/** Returns a log position in the form that is stored. */
export const storedPlace = ({ seq, head }: { seq: number; head: Uint8Array }): LogPlace => ({
  seq,
  head: encodeBase64url(head),
})

/**
 * Runs a function that reads logs from the account server, and converts any Refusal to ad_mismatch.
 *
 * A log that breaks a rule differs from the true log.
 * @throws Refusal ad_mismatch, and what `read` throws otherwise
 */
export async function readingLogs<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new Refusal('ad_mismatch', 'a log was refused', {}, { cause: error })
  }
}

/**
 * Returns a function that ends a first contact. The parameter `reason` of that function is null if
 * the words were right.
 */
export const ending =
  (device: DeviceContext, row: FirstContactRow) =>
  (reason: ContactReason | null): void => {
    const { state } = device
    device.requireSession()
    state.transaction(() => {
      dropSecret(device, row.invitation)
      state.firstContacts.put({ ...row, state: reason === null ? 'confirmed' : 'failed', reason })
    })
  }
