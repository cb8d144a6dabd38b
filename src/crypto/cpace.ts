/**
 * CPace (draft-irtf-cfrg-cpace-21) over ristretto255 (RFC 9496) with SHA-512.
 *
 * Implements the initiator-responder setting with explicit key confirmation. The initiator sends a
 * message, the responder replies with its own message and a tag, and the initiator sends its tag.
 * Neither side returns a key before it has verified the other side's tag.
 */
import { ristretto255, ristretto255_hasher } from '@noble/curves/ed25519.js'
import { equalBytes } from '@noble/curves/utils.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { Refusal, requireThat } from './refusal.ts'

const { Point } = ristretto255
type Element = InstanceType<typeof Point>

const DSI = utf8ToBytes('CPaceRistretto255')
const DSI_ISK = utf8ToBytes('CPaceRistretto255_ISK')
const MAC_LABEL = utf8ToBytes('CPaceMac')
/** `s_in_bytes` of the draft: the input block size of SHA-512 in bytes. */
const BLOCK = 128

/** The input that both sides must have in common before the first message. */
export type CpaceInput = {
  /** The password-related string: the low-entropy secret. */
  readonly prs: Uint8Array
  /** Channel identifier. */
  readonly ci: Uint8Array
  /** The session id, which must be new for each run. */
  readonly sid: Uint8Array
}

/** A side's public share (32 bytes) and its associated data, which its tag authenticates. */
export type CpaceMessage = { readonly share: Uint8Array; readonly ad: Uint8Array }

/** `prepend_len`: returns `data` with its length before it, encoded as LEB128. */
export function prependLength(data: Uint8Array): Uint8Array {
  const length: number[] = []
  let rest = data.length
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) length.push((rest & 0x7f) | 0x80)
  return concatBytes(Uint8Array.of(...length, rest), data)
}

/**
 * `lv_cat`: joins parts, each with its length before it.
 *
 * The lengths ensure that different lists of parts never produce the same bytes.
 */
export const lengthValueConcat = (...parts: Uint8Array[]): Uint8Array =>
  concatBytes(...parts.map(prependLength))

/**
 * `generator_string`: returns the input of the hash that the generator is derived from.
 *
 * Zeros fill the first block of the hash, so that the run time does not depend on the length of the
 * password.
 */
export function generatorString({ prs, ci, sid }: CpaceInput): Uint8Array {
  const used = 1 + prependLength(prs).length + prependLength(DSI).length
  const padding = new Uint8Array(Math.max(0, BLOCK - used))
  return lengthValueConcat(DSI, prs, padding, ci, sid)
}

/** `calculate_generator`: maps 64 bytes of SHA-512 to an element (RFC 9496 section 4.3.4). */
export const calculateGenerator = (input: CpaceInput): Element =>
  ristretto255_hasher.deriveToCurve!(sha512(generatorString(input)))

/**
 * `sample_scalar`: returns a random scalar, 32 bytes little-endian.
 *
 * The scalar has 252 random bits, so it is below the order of the group.
 */
export function sampleScalar(): Uint8Array {
  const scalar = randomBytes(32)
  scalar[31]! &= 0x0f
  return scalar
}

/** `scalar_mult`: multiplies an element by a scalar (32 bytes little-endian); returns 32 bytes. */
const scalarMult = (scalar: Uint8Array, element: Element): Uint8Array =>
  element.multiply(Point.Fn.fromBytes(scalar)).toBytes()

/**
 * `scalar_mult_vfy`: returns the shared secret K of a scalar and a received share (32 bytes).
 * @throws Refusal `cpace_abort` if the share is not the canonical encoding of an element, or if it
 * is the identity, because then K would be public
 */
export function scalarMultVerify(scalar: Uint8Array, share: Uint8Array): Uint8Array {
  const element = decodeElement(share)
  if (element.is0())
    throw new Refusal('cpace_abort', 'the share is the identity element of ristretto255')
  return scalarMult(scalar, element)
}

/** Returns the intermediate session key (64 bytes) of a run. */
export function sessionKey(
  sid: Uint8Array,
  k: Uint8Array,
  initiator: CpaceMessage,
  responder: CpaceMessage,
): Uint8Array {
  const transcript = [initiator, responder].map(({ share, ad }) => lengthValueConcat(share, ad))
  return sha512(concatBytes(lengthValueConcat(DSI_ISK, sid, k), ...transcript))
}

/** Returns the key of both tags (64 bytes). */
export const macKey = (sid: Uint8Array, isk: Uint8Array): Uint8Array =>
  sha512(concatBytes(MAC_LABEL, sid, isk))

/** Returns a side's tag: 64 bytes of HMAC-SHA-512, which confirm the message that the side sent. */
export const cpaceTag = (key: Uint8Array, { share, ad }: CpaceMessage): Uint8Array =>
  hmac(sha512, key, lengthValueConcat(share, ad))

function decodeElement(share: Uint8Array): Element {
  try {
    return Point.fromBytes(share)
  } catch (cause) {
    throw new Refusal('cpace_abort', 'the share is not an element of ristretto255', {}, { cause })
  }
}

export type CpaceReply = CpaceMessage & { readonly tag: Uint8Array }

/** The initiator's side of a run. */
export type Initiator = {
  /** The message to send to the responder. */
  readonly message: CpaceMessage
  /**
   * Ends the run with the responder's reply.
   *
   * Only the first call can succeed, because each reply lets the responder test one guess at the
   * password.
   * @param expectedAd the responder's associated data, as this device verified it
   * @returns the tag to send to the responder, and the session key, 64 bytes each
   * @throws Refusal `ad_mismatch`, `cpace_abort` (also for a second call), `tag_mismatch`
   */
  finish(reply: CpaceReply, expectedAd: Uint8Array): { tag: Uint8Array; isk: Uint8Array }
}

/** The responder's side of a run. */
export type Responder = {
  /** The reply to send to the initiator. With it, the initiator can test one password. */
  readonly reply: CpaceReply
  /**
   * Ends the run with the initiator's tag. Only the first call can succeed.
   * @returns the session key, 64 bytes
   * @throws Refusal `cpace_abort` for a second call, `tag_mismatch`
   */
  finish(tag: Uint8Array): { isk: Uint8Array }
}

/**
 * Begins a run as the initiator.
 * @param ad this side's associated data
 * @param scalar must be new for each run; only test vectors pass one
 */
export function initiate(
  input: CpaceInput,
  ad: Uint8Array,
  scalar: Uint8Array = sampleScalar(),
): Initiator {
  const message = { share: scalarMult(scalar, calculateGenerator(input)), ad }
  const end = once()
  return {
    message,
    finish(reply, expectedAd) {
      end()
      requireAd(reply.ad, expectedAd)
      const k = scalarMultVerify(scalar, reply.share)
      const isk = sessionKey(input.sid, k, message, reply)
      const key = macKey(input.sid, isk)
      requireTag(reply.tag, cpaceTag(key, reply))
      return { tag: cpaceTag(key, message), isk }
    },
  }
}

/**
 * Responds to a run that another device began.
 * @param ad this side's associated data
 * @param expectedAd the initiator's associated data, as this device verified it
 * @param scalar must be new for each run; only test vectors pass one
 * @throws Refusal `ad_mismatch`, `cpace_abort`
 */
export function respond(
  input: CpaceInput,
  ad: Uint8Array,
  message: CpaceMessage,
  expectedAd: Uint8Array,
  scalar: Uint8Array = sampleScalar(),
): Responder {
  requireAd(message.ad, expectedAd)
  const k = scalarMultVerify(scalar, message.share)
  const own = { share: scalarMult(scalar, calculateGenerator(input)), ad }
  const isk = sessionKey(input.sid, k, message, own)
  const key = macKey(input.sid, isk)
  const end = once()
  return {
    reply: { ...own, tag: cpaceTag(key, own) },
    finish(tag) {
      end()
      requireTag(tag, cpaceTag(key, message))
      return { isk }
    },
  }
}

/** Returns a function that throws at every call after the first. */
function once(): () => void {
  let ended = false
  return () => {
    requireThat(!ended, 'cpace_abort', 'this run of the protocol has ended; start a new run')
    ended = true
  }
}

function requireAd(received: Uint8Array, expected: Uint8Array): void {
  const same = equalBytes(received, expected)
  requireThat(same, 'ad_mismatch', 'the other side names other logs than this side has verified')
}

/**
 * Compares two tags in constant time, so that timing does not reveal how many bytes are correct.
 */
function requireTag(received: Uint8Array, expected: Uint8Array): void {
  requireThat(equalBytes(received, expected), 'tag_mismatch', 'the tag does not verify')
}
