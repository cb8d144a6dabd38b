/**
 * Computes the approval of a new device by an active device (section 3).
 *
 * N is the new device and O is the active one. N commits to its keys and a nonce before O creates
 * its own nonce. A server that substitutes keys therefore cannot search for keys with matching
 * words. In each run, its chance of producing the four words that the user types is 1 in 2^48.
 */
import { equalBytes } from '@noble/curves/utils.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { publicKeyBytes, type DevicePublicKeys } from './device-public-keys.ts'
import { requireLength, labelled, u64be, type Label } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'
import { requireThat } from './refusal.ts'
import { firstIndices, wordsAt } from './words.ts'

/** The number of words that each device displays. */
const SHOWN = 4

/** The device that asks to be approved. */
export type Newcomer = {
  readonly account: string
  readonly device: string
  readonly keys: DevicePublicKeys
}

/** The values that N reveals after O has answered its commitment. */
export type Reveal = Newcomer & {
  /** nN, 32 bytes */
  readonly nonce: Uint8Array
}

/** O's answer to a commitment. N uses only the first answer that it receives. */
export type ApprovalAnswer = {
  /** nO, 32 bytes */
  readonly nonce: Uint8Array
  /** The seq and the hash (32 bytes) of the newest key log entry that O verified. */
  readonly seq: number
  readonly head: Uint8Array
}

/**
 * Returns the commitment C (32 bytes), which is N's first message.
 * @throws Refusal `bad_length`, and as `parseId`
 */
export function commitmentTo({ nonce, ...newcomer }: Reveal): Uint8Array {
  requireLength(nonce, 32, 'a nonce')
  return sha256(newcomerInput('countersign/v2/approve', newcomer, nonce))
}

/**
 * Checks on O that a reveal matches N's commitment.
 * @throws Refusal `commitment_mismatch`, and as `commitmentTo`
 */
export function checkReveal(commitment: Uint8Array, reveal: Reveal): void {
  const same = equalBytes(commitment, commitmentTo(reveal))
  requireThat(
    same,
    'commitment_mismatch',
    'the values that the device revealed do not match its commitment',
  )
}

/**
 * Returns the transcript T of a run (32 bytes).
 *
 * Both devices compute the same transcript unless the server changed something in the run.
 * @throws Refusal `bad_length`, `bad_value`, and as `parseId`
 */
export function transcriptOf({ nonce, ...newcomer }: Reveal, answer: ApprovalAnswer): Uint8Array {
  requireLength(nonce, 32, 'a nonce')
  requireLength(answer.nonce, 32, 'a nonce')
  requireLength(answer.head, 32, 'a head')
  const tail = concatBytes(u64be(answer.seq), answer.head, nonce, answer.nonce)
  return sha256(newcomerInput('countersign/v2/sas', newcomer, tail))
}

/**
 * Returns the words of a transcript.
 *
 * N displays the first four words, which the user types on O. Then O displays the next four words,
 * which the user types on N.
 */
export function approvalWords(transcript: Uint8Array): {
  newDevice: string[]
  oldDevice: string[]
} {
  const words = wordsAt(firstIndices(transcript, 2 * SHOWN))
  return { newDevice: words.slice(0, SHOWN), oldDevice: words.slice(SHOWN) }
}

const newcomerInput = (label: Label, { account, device, keys }: Newcomer, tail: Uint8Array) =>
  labelled(
    label,
    parseId(ID_PREFIX.account, account),
    parseId(ID_PREFIX.device, device),
    publicKeyBytes(keys),
    tail,
  )
