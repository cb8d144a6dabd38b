/**
 * The key of a machine account on a headless device.
 *
 * It replaces the code that a user enters. It stays in the keychain, so that a lost session is
 * renewed without user interaction.
 */
import type { MachineKey } from '../../api/local/index.ts'
import type { UnauthenticatedClient } from '../../api/port.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { signAssertion } from '../../crypto/jose/client-assertion.ts'
import { type KeyPair, signingKeyFrom } from '../../crypto/device-keys.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import { measureOffset } from '../codes/clock.ts'
import type { SignInCredential } from './sign-in-code.ts'

const ENTRY = 'machine'

/** Returns the key that is stored for unattended sign-ins, or null. */
export function readMachineKey(keychain: Keychain): MachineKey | null {
  const stored = keychain.get(ENTRY)
  return stored === null ? null : (JSON.parse(stored) as MachineKey)
}

export const forgetMachineKey = (keychain: Keychain): void => keychain.delete(ENTRY)

const unfit = () =>
  new AppError(
    'validation_failed',
    'This is not the key of a machine account: x and d must be the two halves of one Ed25519 key (RFC 8037).',
  )

function keyPair({ x, d }: MachineKey): KeyPair {
  try {
    const pair = signingKeyFrom(decodeBase64url(d))
    if (pair.jwk.x === x) return pair
  } catch {
    // The error must not reveal why a secret is invalid.
  }
  throw unfit()
}

/**
 * Returns the credential of a machine account.
 * @param of `server` is the origin of the account server that this device is configured for;
 *   `now` gives Unix milliseconds
 * @throws AppError validation_failed if the halves do not belong together, invalid_state for a
 *   key of another server
 */
export async function machineCredential(
  key: MachineKey,
  of: {
    server: string
    now: () => number
    keychain: Keychain
    door: Pick<UnauthenticatedClient, 'clock'>
  },
): Promise<SignInCredential> {
  const { server, now, keychain, door } = of
  const origin = URL.parse(key.token_endpoint)?.origin
  // A key of another server would reveal a customer of that server to this one.
  if (origin !== server)
    throw new AppError(
      'invalid_state',
      `This key is for the account server ${origin ?? '(none named)'}, but this daemon uses ${server}. Set SVC_BACKEND_URL to the server of the key.`,
    )
  const pair = keyPair(key)
  const { machine } = key
  return {
    holder: machine,
    machine,
    name: key.name ?? null,
    present: async () => {
      // An assertion is valid for minutes by the server's clock.
      const offset = await measureOffset(door.clock, now)
      const at = Math.floor((now() + offset) / 1000)
      return { assertion: await signAssertion({ machine, audience: server, at }, pair) }
    },
    refused: (cause) =>
      new AppError(
        'not_signed_in',
        `The account server does not take this machine account's key: ${cause.message}`,
        { cause },
      ),
    keep: () => keychain.set(ENTRY, JSON.stringify(key)),
  }
}
