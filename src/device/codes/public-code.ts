/**
 * The own public code (protocol, section 6). A device makes its secret and shares it with the account server, which every other device
 * of the account learns it from. It is here as long as the code is active.
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
  readonly demandSeat: () => void
}

/** 32 bytes as the account server says them; null for none. Throws AppError backend_error. */
function secretOf(k: string | null): Uint8Array | null {
  if (k === null) return null
  try {
    const bytes = decodeBase64url(k)
    if (bytes.length === 32) return bytes
  } catch {
    // No base64url: told below.
  }
  throw new AppError(
    'backend_error',
    'The account server sent a secret of the public code that is none.',
  )
}

/** Whether the account server has acknowledged the code, as far as this device knows, and nobody has switched it off. */
export const isActive = ({ vault, identity }: Pick<Needs, 'vault' | 'identity'>): boolean =>
  vault.has(identity.account)

const isSame = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.from(a).equals(b)

/** Keep the secret of the code, or none where it is not active. Throws AppError not_signed_in. */
export function keepCode({ vault, identity, demandSeat }: Needs, secret: Uint8Array | null): void {
  const { account } = identity
  demandSeat()
  if (secret === null) vault.delete(account)
  else vault.put(account, secret)
}

/**
 * Know what the account knows of the code: a device that switches it on or off is not the only one.
 * @returns whether it is active
 * @throws AppError backend_error, and what the account throws
 */
export async function followCode(device: Needs, account: Account): Promise<boolean> {
  // A record that is damaged comes again.
  const here = () => device.vault.find(device.identity.account)
  const before = here()
  const secret = secretOf((await account.publicCode.read({})).k)
  const isCurrent = secret === null ? !isActive(device) : isSame(before, secret)
  // What the person did meanwhile stands.
  if (!isCurrent && isSame(before, here())) keepCode(device, secret)
  return isActive(device)
}

/**
 * Have the account server know a secret of the code: the one that is active, or a new one. It is not active before the preference says so.
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
 * The words to say now; null while the code is not active or its secret is not here.
 * @param at Unix milliseconds
 */
export async function publicWords(device: Needs, at: number): Promise<Profile['public_code']> {
  const secret = device.vault.find(device.identity.account)
  if (secret === null) return null
  const { LABEL, PERIOD_S, ZERO_HEAD, codeKey, codeReader, windowOf } =
    await import('../../crypto/code.ts')
  const { PREFIX, parseId } = await import('../../crypto/encoding/id.ts')
  const { wordsAt } = await import('../../crypto/words.ts')
  const speaker = parseId(PREFIX.account, device.identity.account)
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
