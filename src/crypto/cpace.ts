/**
 * CPace (draft-irtf-cfrg-cpace-21) over ristretto255 (RFC 9496) with SHA-512. This file has the
 * derivations from a password and two shares; `cpace-session.ts` runs the protocol.
 */
import { ristretto255, ristretto255_hasher } from '@noble/curves/ed25519.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { Refusal } from './refusal.ts'

const { Point } = ristretto255
type Element = InstanceType<typeof Point>

const DSI = utf8ToBytes('CPaceRistretto255')
const DSI_ISK = utf8ToBytes('CPaceRistretto255_ISK')
const MAC_LABEL = utf8ToBytes('CPaceMac')
/** `s_in_bytes` of the draft: the block of SHA-512. */
const BLOCK = 128

/** The input that both sides must share before the first message. */
export type CpaceInput = {
  /** Password-related string, the secret of low entropy. */
  readonly prs: Uint8Array
  /** Channel identifier. */
  readonly ci: Uint8Array
  /** Session id, new for each run. */
  readonly sid: Uint8Array
}

/** A side's public share, 32 bytes, and the data that its tag authenticates. */
export type CpaceMessage = { readonly share: Uint8Array; readonly ad: Uint8Array }

/** `prepend_len`: returns `data` after its length in LEB128. */
export function prependLength(data: Uint8Array): Uint8Array {
  const length: number[] = []
  let rest = data.length
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) length.push((rest & 0x7f) | 0x80)
  return concatBytes(Uint8Array.of(...length, rest), data)
}

/**
 * `lv_cat`: returns each part after its length, so no two lists of parts produce the same bytes.
 */
export const lengthValueConcat = (...parts: Uint8Array[]): Uint8Array =>
  concatBytes(...parts.map(prependLength))

/**
 * `generator_string`. Zeros fill the first block of the hash, so that its duration does not
 * depend on the length of the password.
 */
export function generatorString({ prs, ci, sid }: CpaceInput): Uint8Array {
  const used = 1 + prependLength(prs).length + prependLength(DSI).length
  const padding = new Uint8Array(Math.max(0, BLOCK - used))
  return lengthValueConcat(DSI, prs, padding, ci, sid)
}

/** `calculate_generator`: the one-way map of RFC 9496 section 4.3.4 over 64 bytes of SHA-512. */
export const calculateGenerator = (input: CpaceInput): Element =>
  ristretto255_hasher.deriveToCurve!(sha512(generatorString(input)))

/**
 * `sample_scalar`: returns 252 random bits, 32 bytes little-endian, below the order of the group.
 */
export function sampleScalar(): Uint8Array {
  const scalar = randomBytes(32)
  scalar[31]! &= 0x0f
  return scalar
}

/**
 * `scalar_mult`: multiplies an element by a scalar (32 bytes, little-endian); returns 32 bytes.
 */
export const scalarMult = (scalar: Uint8Array, element: Element): Uint8Array =>
  element.multiply(Point.Fn.fromBytes(scalar)).toBytes()

/**
 * `scalar_mult_vfy`: returns the shared secret K, 32 bytes, of an own scalar and a received
 * share.
 * @throws Refusal `cpace_abort` for a share that is no canonical encoding of an element, and
 *   for the identity, with which K would be public
 */
export function scalarMultVerify(scalar: Uint8Array, share: Uint8Array): Uint8Array {
  const element = decodeElement(share)
  if (element.is0()) throw new Refusal('cpace_abort', 'the share is the identity')
  return scalarMult(scalar, element)
}

/**
 * Returns the intermediate session key, 64 bytes, of an initiator's and a responder's message.
 */
export function sessionKey(
  sid: Uint8Array,
  k: Uint8Array,
  initiator: CpaceMessage,
  responder: CpaceMessage,
): Uint8Array {
  const transcript = [initiator, responder].map(({ share, ad }) => lengthValueConcat(share, ad))
  return sha512(concatBytes(lengthValueConcat(DSI_ISK, sid, k), ...transcript))
}

/** Returns the key of both tags, 64 bytes. */
export const macKey = (sid: Uint8Array, isk: Uint8Array): Uint8Array =>
  sha512(concatBytes(MAC_LABEL, sid, isk))

/**
 * Returns the tag, 64 bytes of HMAC-SHA-512, with which a side confirms the message that it sent.
 */
export const cpaceTag = (key: Uint8Array, { share, ad }: CpaceMessage): Uint8Array =>
  hmac(sha512, key, lengthValueConcat(share, ad))

function decodeElement(share: Uint8Array): Element {
  try {
    return Point.fromBytes(share)
  } catch (cause) {
    throw new Refusal('cpace_abort', 'the share is no element of ristretto255', {}, { cause })
  }
}
