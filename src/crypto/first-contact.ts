/**
 * First contact by four words (section 3a): a CPace run between an invitee and an inviter.
 *
 * The inviter's device creates the words, and the inviter reads them to the invitee in person. The
 * invitee's device begins the run. The associated data of each side names the key log that the side
 * presents, so the run confirms both logs.
 */
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import {
  type CpaceInput,
  type CpaceMessage,
  initiate,
  respond,
  type Initiator,
  type Responder,
} from './cpace.ts'
import { requireLength, labelled, u64be } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'
import { firstIndices, parseWords, wordsAt } from './words.ts'

/** Four words have 48 bits. Codes have three words, so `verify` cannot accept contact words. */
export const CONTACT_WORDS = 4

/** The values of the run of one invitation, which must be equal on both sides. */
export type Contact = {
  /** The four words, as the inviter's device created them or as the invitee typed them. */
  readonly words: string
  /** 16 random bytes from the inviter's device, new for each run. */
  readonly sid: Uint8Array
  readonly connection: string
  /** The inviter's account id. */
  readonly inviter: string
}

/** The place of the newest entry of a key log that this device verified. */
type KeyLogPlace = {
  readonly account: string
  readonly seq: number
  /** The hash of the entry, 32 bytes. */
  readonly head: Uint8Array
}

/** An inviter's place in its key log, and the hash of the newest roster entry (32 bytes). */
type InviterPlace = KeyLogPlace & { readonly rosterHead: Uint8Array }

/** Returns four new words. */
export const newContactWords = (): string[] =>
  wordsAt(firstIndices(randomBytes((CONTACT_WORDS * 12) / 8), CONTACT_WORDS))

/**
 * Returns the CPace input of one invitation.
 * @throws Refusal `unknown_word`, `word_count`, `bad_length`, and as `parseId`
 */
export function contactInput({ words, sid, connection, inviter }: Contact): CpaceInput {
  requireLength(sid, 16, 'a session id')
  const ids = [parseId(ID_PREFIX.connection, connection), parseId(ID_PREFIX.account, inviter)]
  return {
    prs: utf8ToBytes(parseWords(words, CONTACT_WORDS).words.join(' ')),
    ci: labelled('countersign/v2/cpace', ...ids),
    sid,
  }
}

/**
 * Returns the invitee's associated data (ADa).
 * @throws Refusal as `parseId`; `bad_value`, `bad_length`
 */
export function inviteeAd({ account, seq, head }: KeyLogPlace): Uint8Array {
  requireLength(head, 32, 'a head')
  return concatBytes(parseId(ID_PREFIX.account, account), u64be(seq), head)
}

/**
 * Returns the inviter's associated data (ADb).
 * @throws Refusal as `inviteeAd`
 */
export function inviterAd(place: InviterPlace): Uint8Array {
  requireLength(place.rosterHead, 32, 'a roster head')
  return concatBytes(inviteeAd(place), place.rosterHead)
}

/**
 * Begins a run on the invitee's side. The reply must be checked against `inviterAd`.
 * @param scalar must be new for each run; the same scalar resumes the run after a restart
 * @throws Refusal as `contactInput`
 */
export const beginAsInvitee = (
  contact: Contact,
  own: KeyLogPlace,
  scalar?: Uint8Array,
): Initiator => initiate(contactInput(contact), inviteeAd(own), scalar)

/**
 * Answers a run on the inviter's side, on the device that created the words.
 *
 * The words count as used when the reply was sent.
 * @param invitee the place in the invitee's key log that this device verified
 * @param scalar must be new for each run; the same scalar with the same message and places returns
 * the same reply, so it resumes the run after a restart
 * @throws Refusal as `contactInput` and `respond`
 */
export const answerAsInviter = (
  contact: Contact,
  own: InviterPlace,
  message: CpaceMessage,
  invitee: KeyLogPlace,
  scalar?: Uint8Array,
): Responder => respond(contactInput(contact), inviterAd(own), message, inviteeAd(invitee), scalar)
