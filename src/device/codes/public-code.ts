/**
 * The own public code (protocol, section 6). One device makes the code's secret and shares it with
 * the account server, from which the account's other devices get it. This device stores the secret
 * as long as the code is active.
 */
import { randomBytes } from 'node:crypto'
import { timeAt } from '../../api/fields.ts'
import type { Account } from '../../api/port.ts'
import type { Profile } from '../../api/rest/profiles.ts'
import { decodeBase64url, encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { AppError } from '../../errors.ts'
import type { Identity } from '../identity/identity.ts'
import type { Vault } from '../identity/vault.ts'

interface Needs {
  readonly vault: Vault
  readonly identity: Identity
  readonly requireSession: () => void
}

/**
 * Decodes the secret from the account server, 32 bytes; null if the server has none.
 * @throws AppError backend_error
 */
function secretOf(k: string | null): Uint8Array | null {
  if (k === null) return null
  try {
    const bytes = decodeBase64url(k)
    if (bytes.length === 32) return bytes
  } catch {
    // Not base64url: rejected below.
  }
  throw new AppError(
    'backend_error',
    'The account server sent an invalid secret for the public code.',
  )
}

/**
 * Checks whether the public code is active, as stored on this device. It is active from the account
 * server's acknowledgement until a device switches it off.
 */
export const isPublicCodeActive = ({
  vault,
  identity,
}: Pick<Needs, 'vault' | 'identity'>): boolean => vault.has(identity.account)

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.from(a).equals(b)

/**
 * Stores the secret of the public code; deletes it if `secret` is null (the code is not active).
 * @throws AppError not_signed_in
 */
export function keepPublicCode(
  { vault, identity, requireSession }: Needs,
  secret: Uint8Array | null,
): void {
  const { account } = identity
  requireSession()
  if (secret === null) vault.delete(account)
  else vault.put(account, secret)
}

/**
 * Updates the stored secret from the account server.
 *
 * Another device may have switched the code on or off.
 * @returns whether the code is active
 * @throws AppError backend_error, and any error from the account server
 */
export async function followCode(device: Needs, account: Account): Promise<boolean> {
  // A damaged record is read as null, so it is stored again.
  const here = () => device.vault.find(device.identity.account)
  const before = here()
  const secret = secretOf((await account.publicCode.read({})).k)
  const isCurrent = secret === null ? !isPublicCodeActive(device) : isSame(before, secret)
  // If the user changed the secret while the request ran, that change stays.
  if (!isCurrent && isSame(before, here())) keepPublicCode(device, secret)
  return isPublicCodeActive(device)
}

/**
 * Returns the secret of the public code that the account server has; if it has none, shares a new
 * one. The code becomes active only when the preference is set.
 * @returns 32 bytes
 */
export async function shareCode(account: Account): Promise<Uint8Array> {
  const active = secretOf((await account.publicCode.read({})).k)
  if (active !== null) return active
  const made = new Uint8Array(randomBytes(32))
  await account.publicCode.create({ body: { k: encodeBase64url(made) } })
  return made
}

/**
 * Returns the words to say now; null if the code is not active or its secret is not on this device.
 * @param at Unix milliseconds
 */
export async function publicWords(device: Needs, at: number): Promise<Profile['public_code']> {
  const secret = device.vault.find(device.identity.account)
  if (secret === null) return null
  const { LABEL, PERIOD_S, ZERO_HEAD, codeKey, codeReader, windowOf } =
    await import('../../crypto/code.ts')
  const { ID_PREFIX, parseId } = await import('../../crypto/encoding/id.ts')
  const { wordsAt } = await import('../../crypto/words.ts')
  const speaker = parseId(ID_PREFIX.account, device.identity.account)
  const key = codeKey({
    label: LABEL.public,
    key: secret,
    subject: speaker,
    epoch: 1,
    head: ZERO_HEAD,
  })
  secret.fill(0)
  const window = windowOf(at)
  return {
    words: wordsAt(codeReader(key)(window, speaker)).join(' '),
    valid_until: timeAt((window + 1) * PERIOD_S * 1000),
  }
}
