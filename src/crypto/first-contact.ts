/**
 * First contact by four words (section 3a): CPace between the invitee, who begins, and the
 * inviter. The inviter's device creates the words, and the inviter reads them to the invitee in
 * person. Each side binds the key log that it presents.
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

/** 48 bits. No code of three words has this count, so `verify` rejects contact words. */
export const CONTACT_WORDS = 4

/** The run of one invitation. Both sides must use the same values. */
export type Contact = {
  /** The four words, as created or as typed. */
  readonly words: string
  /** 16 random bytes of the inviter's device, new for each run. */
  readonly sid: Uint8Array
  readonly connection: string
  /** The inviter's account id. */
  readonly inviter: string
}

/** The newest entry of a key log that this device verified. */
type KeyLogPlace = {
  readonly account: string
  readonly seq: number
  /** The hash of the entry, 32 bytes. */
  readonly head: Uint8Array
}

/** The same for the inviter, with the hash of the newest roster entry, 32 bytes. */
type InviterPlace = KeyLogPlace & { readonly rosterHead: Uint8Array }

/** Returns four new words. */
export const newContactWords = (): string[] =>
  wordsAt(firstIndices(randomBytes((CONTACT_WORDS * 12) / 8), CONTACT_WORDS))

/**
 * Returns CPace's input for one invitation.
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
 * Returns ADa.
 * @throws Refusal as `parseId`; `bad_value`, `bad_length`
 */
export function inviteeAd({ account, seq, head }: KeyLogPlace): Uint8Array {
  requireLength(head, 32, 'a head')
  return concatBytes(parseId(ID_PREFIX.account, account), u64be(seq), head)
}

/**
 * Returns ADb.
 * @throws Refusal as `inviteeAd`
 */
export function inviterAd(place: InviterPlace): Uint8Array {
  requireLength(place.rosterHead, 32, 'a roster head')
  return concatBytes(inviteeAd(place), place.rosterHead)
}

/**
 * Begins a run on the invitee's side. Check its reply against `inviterAd`.
 * @param scalar new for each run; the same one resumes the run after a restart
 * @throws Refusal as `contactInput`
 */
export const beginAsInvitee = (
  contact: Contact,
  own: KeyLogPlace,
  scalar?: Uint8Array,
): Initiator => initiate(contactInput(contact), inviteeAd(own), scalar)

/**
 * Answers a run on the inviter's side, on the device that created the words. The words count as
 * used once the reply was sent. `invitee` is the log that this device verified.
 * @param scalar new for each run; the same one with the same message and places returns the
 *   same reply, and so resumes the run after a restart
 * @throws Refusal as `contactInput` and `respond`
 */
export const answerAsInviter = (
  contact: Contact,
  own: InviterPlace,
  message: CpaceMessage,
  invitee: KeyLogPlace,
  scalar?: Uint8Array,
): Responder => respond(contactInput(contact), inviterAd(own), message, inviteeAd(invitee), scalar)
