/**
 * Signed structures: JWS compact (RFC 7515) with `alg: "Ed25519"` (RFC 9864).
 *
 * The header is exactly `{alg, typ, kid}`, and the payload is an object. An entry is stored and
 * forwarded exactly as it was received, never serialised again. Its hash covers the characters, so
 * every part must have only one valid spelling. This file checks only the form; `jws-signature.ts`
 * signs and verifies.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { decodeBase64url } from '../encoding/base64url.ts'
import { parseJson, type JsonObject } from '../encoding/json.ts'
import { requireThat } from '../refusal.ts'

/** The kinds of structures. A signature over one `typ` is never valid for another. */
export type Typ =
  'roster+jws' | 'consent+jws' | 'keylog+jws' | 'profile+jws' | 'stamp+jws' | 'receipt+jws'

/** The parts of a JWS compact. None of them has been checked. */
export type Compact = {
  header: JsonObject
  payload: JsonObject
  /** The ASCII bytes that the signature covers (RFC 7515 section 5.1). */
  signingInput: Uint8Array
  /** The signature as received. Verification checks its length. */
  signature: Uint8Array
}

export type ParsedJws = Omit<Compact, 'header'> & {
  /** RFC 7638 thumbprint of the signing key, as the header claims. */
  kid: string
}

/**
 * Parses a JWS of the given `typ`. Nothing is verified.
 * @throws Refusal as `parseCompact`; `missing_header`, `extra_header`, `wrong_alg`, `wrong_typ`
 */
export function parseJws(text: string, typ: Typ): ParsedJws {
  const { header, ...rest } = parseCompact(text)
  return { kid: readHeader(header, typ), ...rest }
}

/**
 * Parses any JWS compact.
 * @throws Refusal `malformed` (not three parts, detached payload), `respelt_base64`,
 *   `bad_utf8`, `bad_json`, `duplicate_member`, `bad_value` (numbers)
 */
export function parseCompact(text: string): Compact {
  const parts = text.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const whole = parts.length === 3 && header !== '' && payload !== ''
  requireThat(whole, 'malformed', 'not a compact JWS')
  // Section 11: base64url of all parts, then JSON.
  const [headerBytes, payloadBytes] = [decodeBase64url(header), decodeBase64url(payload)]
  const signatureBytes = decodeBase64url(signature)
  return {
    header: parseJson(headerBytes),
    payload: parseJson(payloadBytes),
    signingInput: utf8ToBytes(`${header}.${payload}`),
    signature: signatureBytes,
  }
}

/** Returns an entry hash: SHA-256 over the ASCII characters of its JWS (32 bytes). */
export function entryHash(jws: string): Uint8Array {
  return sha256(utf8ToBytes(jws))
}

function readHeader(header: JsonObject, typ: Typ): string {
  const [alg, found, kid] = ['alg', 'typ', 'kid'].map((name) => {
    requireThat(header.has(name), 'missing_header', `no ${name} in the header`)
    return header.get(name)
  })
  // RFC 7515 section 4.1.11: no extension is supported. Rejecting other members ensures that `crit`
  // or `b64` cannot have an effect.
  requireThat(
    header.size === 3,
    'extra_header',
    'the header must have exactly the members alg, typ and kid',
  )
  requireThat(alg === 'Ed25519', 'wrong_alg', 'alg must be Ed25519')
  requireThat(found === typ, 'wrong_typ', `typ must be ${typ}`)
  requireThat(typeof kid === 'string', 'bad_value', 'kid must be a thumbprint')
  return kid
}
