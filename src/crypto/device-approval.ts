/**
 * Approval of another device (section 3). N is the new device, O an active one. N commits to its
 * keys and a nonce before O's nonce exists, so a server that substitutes other keys cannot search
 * for matching words: each run gives it one chance in 2^48 at the four words that the user types.
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

/** O's answer to a commitment. N binds to the first one that it receives. */
export type ApprovalAnswer = {
  /** nO, 32 bytes */
  readonly nonce: Uint8Array
  /** The newest entry of the key log that O verified, and its hash, 32 bytes. */
  readonly seq: number
  readonly head: Uint8Array
}

/**
 * Returns C, 32 bytes: N's first message.
 * @throws Refusal `bad_length`, and as `parseId`
 */
export function commitmentTo({ nonce, ...newcomer }: Reveal): Uint8Array {
  requireLength(nonce, 32, 'a nonce')
  return sha256(newcomerInput('countersign/v2/approve', newcomer, nonce))
}

/**
 * Checks on O that a reveal is the one that N committed to.
 * @throws Refusal `commitment_mismatch`, and as `commitmentTo`
 */
export function checkReveal(commitment: Uint8Array, reveal: Reveal): void {
  const same = equalBytes(commitment, commitmentTo(reveal))
  requireThat(
    same,
    'commitment_mismatch',
    'the device did not reveal the keys that it committed to',
  )
}

/**
 * Returns T, the transcript of a run, 32 bytes. It is equal on both devices unless the server
 * changed a part of it.
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
 * Returns the words of a transcript. N displays the first four, which the user types on O; then O
 * displays the next four, which the user types on N.
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
