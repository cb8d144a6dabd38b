/**
 * First contact by four words (section 5): CPace between the invitee, who begins, and the inviter,
 * whose device made the words and tells them in person. Each side binds the key log that it shows.
 */
import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import type { CpaceInput, CpaceMessage } from './cpace.ts'
import { initiate, respond, type Initiator, type Responder } from './cpace-session.ts'
import { requireLength, labelled, u64be } from './encoding/hash-input.ts'
import { parseId, PREFIX } from './encoding/id.ts'
import { firstIndices, parseWords, wordsAt } from './words.ts'

/** 48 bits, and a count that no code of three words has, so that `verify` refuses them. */
export const CONTACT_WORDS = 4

/** One invitation's run, as both sides have to name it. */
export type Contact = {
  /** The four words, as made or as typed. */
  readonly words: string
  /** 16 random bytes of the inviter's device, new for each run. */
  readonly sid: Uint8Array
  readonly connection: string
  /** The inviter's account id. */
  readonly inviter: string
}

/** The newest entry of a key log that this device verified. */
export type KeyLogPlace = {
  readonly account: string
  readonly seq: number
  /** The hash of the entry, 32 bytes. */
  readonly head: Uint8Array
}

/** The same of the inviter, with the hash of the newest roster entry, 32 bytes. */
export type InviterPlace = KeyLogPlace & { readonly rosterHead: Uint8Array }

/** Four new words. */
export const newContactWords = (): string[] =>
  wordsAt(firstIndices(randomBytes((CONTACT_WORDS * 12) / 8), CONTACT_WORDS))

/**
 * CPace's input for one invitation.
 * @throws Refusal `unknown_word`, `word_count`, `bad_length`, and what `parseId` throws
 */
export function contactInput({ words, sid, connection, inviter }: Contact): CpaceInput {
  requireLength(sid, 16, 'a session id')
  const ids = [parseId(PREFIX.connection, connection), parseId(PREFIX.account, inviter)]
  return {
    prs: utf8ToBytes(parseWords(words, CONTACT_WORDS).words.join(' ')),
    ci: labelled('countersign/v2/cpace', ...ids),
    sid,
  }
}

/** ADa. Throws as `parseId` does, `bad_value`, `bad_length`. */
export function inviteeAd({ account, seq, head }: KeyLogPlace): Uint8Array {
  requireLength(head, 32, 'a head')
  return concatBytes(parseId(PREFIX.account, account), u64be(seq), head)
}

/** ADb. Throws as `inviteeAd` does. */
export function inviterAd(place: InviterPlace): Uint8Array {
  requireLength(place.rosterHead, 32, 'a roster head')
  return concatBytes(inviteeAd(place), place.rosterHead)
}

/**
 * The invitee's side. Its reply is checked against `inviterAd`. Throws as `contactInput` does.
 * @param scalar new for each run; given again, it resumes the run after a restart
 */
export const beginAsInvitee = (
  contact: Contact,
  own: KeyLogPlace,
  scalar?: Uint8Array,
): Initiator => initiate(contactInput(contact), inviteeAd(own), scalar)

/**
 * The inviter's side, on the device that made the words. The words count as used once the reply has
 * left. `invitee` is the log that this device verified.
 * @param scalar new for each run; given again with the same message and places, it makes the same
 *   reply, and so resumes the run after a restart
 * @throws Refusal as `contactInput` and `respond` do
 */
export const answerAsInviter = (
  contact: Contact,
  own: InviterPlace,
  message: CpaceMessage,
  invitee: KeyLogPlace,
  scalar?: Uint8Array,
): Responder => respond(contactInput(contact), inviterAd(own), message, inviteeAd(invitee), scalar)
