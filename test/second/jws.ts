/** "Signed structures": compact JWS with a header of exactly alg, typ and kid. */
import { type Bytes, fromBase64url, need, Refused, sha256, utf8, base64url } from './bytes.ts'
import { isPublicKey, verifySignature } from './edwards.ts'
import { bytesAt, exactly, type Json, type JsonObject, parseJson } from './json.ts'

export interface Jws {
  readonly text: string
  readonly kid: Json
  readonly payload: JsonObject
  /** SHA-256 of the ASCII text: the hash of an entry. */
  readonly hash: Bytes
  readonly signed: Bytes
  readonly signature: Bytes
}

const LARGEST = 65_536
const HEADER = ['alg', 'typ', 'kid']

/** Parses without verifying the signature. */
export function parseJws(text: string, typ: string): Jws {
  need(text.length <= LARGEST, 'too_large')
  const parts = text.split('.')
  need(parts.length === 3, 'malformed')
  const [head, body, signature] = parts.map(fromBase64url) as [Bytes, Bytes, Bytes]
  const header = parseJson(head)
  need(
    HEADER.every((name) => header.has(name)),
    'missing_header',
  )
  need(header.size === HEADER.length, 'extra_header')
  need(header.get('alg') === 'Ed25519', 'wrong_alg')
  need(header.get('typ') === typ, 'wrong_typ')
  return {
    text,
    kid: header.get('kid')!,
    payload: parseJson(body),
    hash: sha256(utf8(text)),
    signed: utf8(`${parts[0]}.${parts[1]}`),
    signature,
  }
}

export function verifyJws(jws: Jws, key: Bytes): void {
  need(verifySignature(key, jws.signed, jws.signature), 'bad_signature')
}

/** Returns the RFC 7638 thumbprint of an Ed25519 key. */
export const thumbprint = (key: Bytes): string =>
  base64url(sha256(utf8(`{"crv":"Ed25519","kty":"OKP","x":"${base64url(key)}"}`)))

/**
 * Returns the key of an Ed25519 JWK of exactly kty, crv and x ("Signed structures").
 * @throws Refused `bad_key` for other points
 */
export function keyOf(value: Json | undefined): Bytes {
  if (!(value instanceof Map)) throw new Refused('bad_value')
  const jwk = value as JsonObject
  exactly(jwk, ['kty', 'crv', 'x'])
  need(jwk.get('kty') === 'OKP' && jwk.get('crv') === 'Ed25519', 'bad_key')
  const key = bytesAt(jwk, 'x', 32)
  need(isPublicKey(key), 'bad_key')
  return key
}
