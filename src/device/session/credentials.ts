/**
 * The credentials of a sign-in: a user's code, or a machine account's key on a headless device.
 *
 * For a code, the mailbox, the account server and the time are stored, but not the code itself. A
 * machine account's key stays in the keychain, so that a lost session can be renewed without a
 * user.
 */
import type { MachineKey } from '../../api/local/index.ts'
import type { UnauthenticatedClient } from '../../api/port.ts'
import type { KeyPair } from '../../crypto/device-keys.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { measureOffset } from '../codes/clock.ts'

const CODE_SENT = 'sign_in_code'
/**
 * The lifetime of a code, in milliseconds.
 *
 * It is measured only with this device's clock, because the server's clock may differ widely.
 */
const LIFETIME_MS = 15 * 60_000

interface CodeSent {
  readonly server: string
  readonly email: string
  /** Unix milliseconds by this device's clock. */
  readonly sent_at: number
}

type Meta = Pick<State, 'meta'>

/** Stores that a code was sent. */
export function keepSignInCode({ meta }: Meta, server: string, email: string, now: number): void {
  const sent: CodeSent = { server, email, sent_at: now }
  meta.set(CODE_SENT, sent)
}

/**
 * Returns the mailbox to which this account server sent a code that is still valid; otherwise null.
 * @param now Unix milliseconds
 */
export function mailboxOfCode({ meta }: Meta, server: string | null, now: number): string | null {
  const sent = meta.get(CODE_SENT) as CodeSent | null
  if (sent === null || sent.server !== server) return null
  // Setting the clock back must not extend the lifetime of a code.
  return Math.abs(now - sent.sent_at) < LIFETIME_MS ? sent.email : null
}

/** Deletes the record of a code that was sent. */
export const dropCode = ({ meta }: Meta): void => meta.delete(CODE_SENT)

/** Returns the credential for a code. Only the account server knows the code's mailbox. */
export const codeCredential = (code: string): SignInCredential => ({
  holder: null,
  machine: null,
  name: null,
  present: async () => ({ code }),
  // The cause is omitted, because a remote server's error may quote the code.
  refused: () =>
    new AppError(
      'not_signed_in',
      'This code is wrong, used or expired. Check it, or request a new one: countersignd login --email ADDRESS --new-code.',
    ),
  keep: () => undefined,
})

/** A credential that gives access to an account. */
export interface SignInCredential {
  /**
   * The machine account that signs in; null for a code.
   *
   * For a code, the account server names the mailbox.
   */
  readonly holder: string | null
  readonly machine: string | null
  /** The name in a machine account's key file; null for a user, or if the file has none. */
  readonly name: string | null
  /** Returns the credential for one request. An assertion can be used only once. */
  present(): Promise<{ code: string } | { assertion: string }>
  /** Returns the error for a credential that the server rejects. */
  refused(cause: AppError): AppError
  /** Stores the credential if it can be used for sign-ins without a user. */
  keep(): void
}

const ENTRY = 'machine'

/** Returns the stored key for sign-ins without a user; null if there is none. */
export function readMachineKey(keychain: Keychain): MachineKey | null {
  const stored = keychain.get(ENTRY)
  return stored === null ? null : (JSON.parse(stored) as MachineKey)
}

export const forgetMachineKey = (keychain: Keychain): void => keychain.delete(ENTRY)

const unfit = () =>
  new AppError(
    'validation_failed',
    'This is not the key of a machine account. x and d must be the public and private parts of one Ed25519 key (RFC 8037).',
  )

async function keyPair({ x, d }: MachineKey): Promise<KeyPair> {
  const { signingKeyFrom } = await import('../../crypto/device-keys.ts')
  try {
    const pair = signingKeyFrom(decodeBase64url(d))
    if (pair.jwk.x === x) return pair
  } catch {
    // The error must not reveal why the private key is invalid.
  }
  throw unfit()
}

/**
 * Returns the credential of a machine account.
 * @param of `server` is the origin of the account server that this device is configured for; `now`
 *   returns Unix milliseconds
 * @throws AppError validation_failed if the private and public key do not match, invalid_state if
 *   the key is for another server
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
  // A key for another server would reveal to this server that the account is a customer there.
  if (origin !== server)
    throw new AppError(
      'invalid_state',
      `This key is for the account server ${origin ?? '(none named)'}, but this daemon uses ${server}. Set SVC_BACKEND_URL to the server of the key.`,
    )
  const pair = await keyPair(key)
  const { machine } = key
  return {
    holder: machine,
    machine,
    name: key.name ?? null,
    present: async () => {
      const { signAssertion } = await import('../../crypto/jose/client-assertion.ts')
      // An assertion is valid only for minutes by the server's clock.
      const { offset } = await measureOffset(() => door.clock.read({}), now)
      const at = Math.floor((now() + offset) / 1000)
      return { assertion: await signAssertion({ machine, audience: server, at }, pair) }
    },
    refused: (cause) =>
      new AppError(
        'not_signed_in',
        `The account server rejects this machine account's key: ${cause.message}`,
        { cause },
      ),
    keep: () => keychain.set(ENTRY, JSON.stringify(key)),
  }
}
