/**
 * Signed structures: JWS compact (RFC 7515) with `alg: "Ed25519"` (RFC 9864), header exactly
 * `{alg, typ, kid}`, payload an object. An entry is kept and passed on as received, never
 * re-serialised: its hash is over its characters, so every part has one spelling.
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { parseJson, type JsonObject } from './json.ts'
import { isPrimeOrder } from './jwk.ts'
import { memo } from './memo.ts'
import { demand } from './refusal.ts'

/** `typ` separates the domains: one signature never serves as two kinds of structure. */
export type Typ = 'roster+jws' | 'keylog+jws' | 'envelope+jws' | 'stamp+jws' | 'receipt+jws'

/** A JWS compact taken apart; nothing in it is judged yet. */
export type Compact = {
  header: JsonObject
  payload: JsonObject
  /** The ASCII bytes that the signature covers (RFC 7515 section 5.1). */
  signingInput: Uint8Array
  /** As received; its length is judged where it is verified. */
  signature: Uint8Array
}

export type ParsedJws = Omit<Compact, 'header'> & {
  /** RFC 7638 thumbprint of the signing key, as the header claims it. */
  kid: string
}

/**
 * Signs `payload` as JSON with an Ed25519 seed of 32 bytes; `kid` is the thumbprint of its public
 * key. Out: the JWS. Throws `bad_length` for another seed.
 */
export function signJws(typ: Typ, kid: string, payload: object, seed: Uint8Array): string {
  return signCompact({ alg: 'Ed25519', typ, kid }, payload, seed)
}

/**
 * Takes a JWS of the `typ` named apart; nothing is verified yet. Throws what `parseCompact`
 * throws, `missing_header`, `extra_header`, `wrong_alg`, `wrong_typ`.
 */
export function parseJws(text: string, typ: Typ): ParsedJws {
  const { header, ...rest } = parseCompact(text)
  return { kid: readHeader(header, typ), ...rest }
}

/**
 * Signs any header and payload as JSON with an Ed25519 seed of 32 bytes. Out: the JWS compact.
 * Throws `bad_length` for another seed.
 */
export function signCompact(header: object, payload: object, seed: Uint8Array): string {
  demand(seed.length === 32, 'bad_length', 'an Ed25519 seed is 32 bytes')
  const part = (value: object) => encodeBase64url(utf8ToBytes(JSON.stringify(value)))
  const input = `${part(header)}.${part(payload)}`
  return `${input}.${encodeBase64url(ed25519.sign(utf8ToBytes(input), seed))}`
}

/**
 * Takes any JWS compact apart. Throws `malformed` (not three parts, detached payload),
 * `respelt_base64`, `bad_utf8`, `bad_json`, `duplicate_member`, `bad_value` (numbers).
 */
export function parseCompact(text: string): Compact {
  const parts = text.split('.')
  const [header = '', payload = '', signature = ''] = parts
  const whole = parts.length === 3 && header !== '' && payload !== ''
  demand(whole, 'malformed', 'not a JWS compact')
  return {
    header: readObject(header),
    payload: readObject(payload),
    signingInput: utf8ToBytes(`${header}.${payload}`),
    signature: decodeBase64url(signature),
  }
}

/** Logs are verified whole whenever they are read, so most of it was verified before. */
const goodSignature = memo(8192)
const goodKey = memo(8192)

/**
 * Verifies a signature under a raw Ed25519 public key of 32 bytes; throws `bad_signature`. Accepts
 * exactly what jose, OpenSSL and WebCrypto accept, which is less than noble does. What verified
 * before costs a hash.
 */
export function verifyJws(jws: ParsedJws, publicKey: Uint8Array): void {
  const { signature, signingInput } = jws
  const isGood = () =>
    isSigningKey(publicKey) &&
    // RFC 8032 section 5.1.7: S below L, canonical points; noble checks the cofactored equation.
    ed25519.verify(signature, signingInput, publicKey, { zip215: false }) &&
    // With A and R in the prime-order group both equations are one.
    isPrimeOrder(signature.subarray(0, 32))
  // The lengths are fixed, so that the hash over all three says where each begins.
  const fit = signature.length === 64 && publicKey.length === 32
  const name = () => encodeBase64url(sha256(concatBytes(publicKey, signature, signingInput)))
  demand(fit && goodSignature(name(), isGood), 'bad_signature', 'the signature does not verify')
}

/** As `isPrimeOrder`, which takes as long as half a signature, for a key that comes again. */
export function isSigningKey(publicKey: Uint8Array): boolean {
  return goodKey(encodeBase64url(publicKey), () => isPrimeOrder(publicKey))
}

/** The hash of an entry: SHA-256 over its ASCII JWS, 32 bytes. */
export function hashOf(jws: string): Uint8Array {
  return sha256(utf8ToBytes(jws))
}

function readObject(part: string): JsonObject {
  const value = parseJson(decodeBase64url(part))
  demand(value instanceof Map, 'bad_json', 'not a JSON object')
  return value
}

function readHeader(header: JsonObject, typ: Typ): string {
  const [alg, found, kid] = ['alg', 'typ', 'kid'].map((name) => {
    demand(header.has(name), 'missing_header', `no ${name} in the header`)
    return header.get(name)
  })
  // RFC 7515 section 4.1.11: nothing to understand, so nothing that `crit` or `b64` could change.
  demand(header.size === 3, 'extra_header', 'the header is exactly alg, typ, kid')
  demand(alg === 'Ed25519', 'wrong_alg', 'alg is Ed25519')
  demand(found === typ, 'wrong_typ', `typ is ${typ}`)
  demand(typeof kid === 'string', 'bad_value', 'kid is a thumbprint')
  return kid
}
