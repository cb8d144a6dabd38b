/**
 * The browser's half of DPoP (RFC 9449): a key that no script can read, and a proof for each
 * request that the sender has this key.
 */
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'

const encoder = new TextEncoder()

const base64urlJson = (value: object): string =>
  encodeBase64url(encoder.encode(JSON.stringify(value)))

/** Returns a new Ed25519 key pair. Its private key can sign but not be exported. */
export const newProofKey = (): Promise<CryptoKeyPair> =>
  crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])

/** The claims of a proof besides its own id. */
export interface ProofClaims {
  readonly method: string
  /** The URL without query and fragment. */
  readonly url: string
  /** Unix seconds, by the clock of the daemon. */
  readonly at: number
  /** The access token that is sent with the proof; null for the exchange of a code. */
  readonly token: string | null
  /** The newest nonce of the daemon; null if it has sent none. */
  readonly nonce: string | null
}

/**
 * Returns a proof for one request, the value of its DPoP header field.
 * @see RFC 9449 section 4.2
 */
export async function proofOf(key: CryptoKeyPair, claims: ProofClaims): Promise<string> {
  const { method, url, at, token, nonce } = claims
  const { kty, crv, x } = await crypto.subtle.exportKey('jwk', key.publicKey)
  const ath =
    token === null
      ? undefined
      : encodeBase64url(
          new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(token))),
        )
  const header = { alg: 'Ed25519', typ: 'dpop+jwt', jwk: { kty, crv, x } }
  const payload = {
    jti: encodeBase64url(crypto.getRandomValues(new Uint8Array(16))),
    htm: method,
    htu: url,
    iat: at,
    ...(ath === undefined ? {} : { ath }),
    ...(nonce === null ? {} : { nonce }),
  }
  const text = `${base64urlJson(header)}.${base64urlJson(payload)}`
  const signature = await crypto.subtle.sign('Ed25519', key.privateKey, encoder.encode(text))
  return `${text}.${encodeBase64url(new Uint8Array(signature))}`
}
