/**
 * A run of CPace (draft-irtf-cfrg-cpace-21), initiator-responder with explicit confirmation. The
 * initiator sends a message, the responder replies with its own message and a tag, the initiator
 * answers with a tag. Neither side returns a key before it has verified the other's tag.
 */
import { equalBytes } from '@noble/curves/utils.js'
import {
  calculateGenerator,
  macKey,
  sampleScalar,
  scalarMult,
  scalarMultVerify,
  sessionKey,
  cpaceTag,
  type CpaceInput,
  type CpaceMessage,
} from './cpace.ts'
import { requireThat } from './refusal.ts'

export type CpaceReply = CpaceMessage & { readonly tag: Uint8Array }

/** The initiator's side of a run. */
export type Initiator = {
  /** The message to send to the responder. */
  readonly message: CpaceMessage
  /**
   * Ends the run with the responder's reply. Only the first call can succeed, since each reply is
   * one guess at the password.
   * @param expectedAd the responder's data as this device verified it
   * @returns the tag to send to the responder, and the session key, 64 bytes each
   * @throws Refusal `ad_mismatch`, `cpace_abort` (also for a second call), `tag_mismatch`
   */
  finish(reply: CpaceReply, expectedAd: Uint8Array): { tag: Uint8Array; isk: Uint8Array }
}

/** The responder's side of a run. */
export type Responder = {
  /** The reply to send to the initiator. It lets the initiator test one password. */
  readonly reply: CpaceReply
  /**
   * Ends the run with the initiator's tag. Only the first call can succeed.
   * @returns the session key, 64 bytes
   * @throws Refusal `cpace_abort` for a second call, `tag_mismatch`
   */
  finish(tag: Uint8Array): { isk: Uint8Array }
}

/**
 * Begins a run.
 * @param ad the data of this side
 * @param scalar new for each run; only test vectors pass one
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
 * @param ad the data of this side
 * @param expectedAd the initiator's data as this device verified it
 * @param scalar new for each run; only test vectors pass one
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

/** Returns a function that throws at each call after the first. */
function once(): () => void {
  let ended = false
  return () => {
    requireThat(!ended, 'cpace_abort', 'this run has ended; begin another one')
    ended = true
  }
}

function requireAd(received: Uint8Array, expected: Uint8Array): void {
  const same = equalBytes(received, expected)
  requireThat(same, 'ad_mismatch', 'the other side names another log than the one verified here')
}

/** Compares in constant time, so that timing does not reveal how much of a guess is right. */
function requireTag(received: Uint8Array, expected: Uint8Array): void {
  requireThat(equalBytes(received, expected), 'tag_mismatch', 'the tag does not verify')
}
