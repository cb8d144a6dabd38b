/**
 * Simulates a server that searches for the four words of a first contact.
 * It stands between the inviter and the invitee, and plays the other side to either of them with
 * words that it guesses. The devices follow section 3a; words come from the first 2, 8 or 16 of the
 * list, so that four of them have 4, 12 or 16 bits and hits can be counted.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { equalBytes } from '@noble/curves/utils.js'
import {
  calculateGenerator,
  cpaceTag,
  macKey,
  sessionKey,
  type CpaceMessage,
} from '../../src/crypto/cpace.ts'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import {
  answerAsInviter,
  beginAsInvitee,
  contactInput,
  inviteeAd,
  inviterAd,
  type Contact,
} from '../../src/crypto/first-contact.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { firstIndices, wordsAt } from '../../src/crypto/words.ts'
import { isExpected, seeded, type Draw } from './searching.ts'

/** Returns four words of a list of this length, a power of two. */
const wordsFrom = (draw: Draw, length: number): string =>
  wordsAt(firstIndices(draw(), 4).map((index) => index % length)).join(' ')

const accountFrom = (draw: Draw) => formatId(ID_PREFIX.account, draw().slice(0, 16))
const placeFrom = (draw: Draw) => ({ account: accountFrom(draw), seq: 3, head: draw() })

/** Returns a scalar below the order of the group. */
function scalarFrom(draw: Draw): Uint8Array {
  const scalar = draw()
  scalar[31]! &= 0x0f
  return scalar
}

/** One run of an invitation, and the places that both sides show. */
function runFrom(draw: Draw, words: string) {
  const inviter = { ...placeFrom(draw), rosterHead: draw() }
  const connection = formatId(ID_PREFIX.connection, draw().slice(0, 16))
  const contact: Contact = {
    words,
    sid: draw().slice(0, 16),
    connection,
    inviter: inviter.account,
  }
  return { contact, inviter, invitee: placeFrom(draw) }
}

/** Returns the share of the server for guessed words: their generator, by the scalar 1. */
const guessedShare = (contact: Contact, guess: string): Uint8Array =>
  calculateGenerator(contactInput({ ...contact, words: guess })).toBytes()

/** Returns the key of the tags where the server's scalar is 1: K is the device's share. */
const guessedKey = (sid: Uint8Array, k: Uint8Array, first: CpaceMessage, second: CpaceMessage) =>
  macKey(sid, sessionKey(sid, k, first, second))

/** Plays the invitee to the inviter's device; returns whether the device accepts the server. */
function passesInviter(draw: Draw, words: string, guess: string): boolean {
  const { contact, inviter, invitee } = runFrom(draw, words)
  const message = { share: guessedShare(contact, guess), ad: inviteeAd(invitee) }
  const device = answerAsInviter(contact, inviter, message, invitee, scalarFrom(draw))
  const { reply } = device
  const key = guessedKey(contact.sid, reply.share, message, reply)
  const knows = equalBytes(cpaceTag(key, reply), reply.tag)
  assert.equal(
    accepted(() => device.finish(cpaceTag(key, message))),
    knows,
  )
  return knows
}

/** Plays the inviter to the invitee's device; returns whether the device accepts the server. */
function passesInvitee(draw: Draw, words: string, guess: string): boolean {
  const { contact, inviter, invitee } = runFrom(draw, words)
  const device = beginAsInvitee(contact, invitee, scalarFrom(draw))
  const { message } = device
  const own = { share: guessedShare(contact, guess), ad: inviterAd(inviter) }
  const key = guessedKey(contact.sid, message.share, message, own)
  const reply = { ...own, tag: cpaceTag(key, own) }
  const passes = accepted(() => device.finish(reply, own.ad))
  // A second reply to the same run is refused, with the right words too.
  assert.throws(() => device.finish(reply, own.ad), { reason: 'cpace_abort' })
  return passes
}

/** Returns false for a tag that does not verify; other errors are passed on. */
function accepted(finish: () => unknown): boolean {
  try {
    finish()
    return true
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'tag_mismatch') return false
    throw error
  }
}

const SIDES = [
  ['the inviter’s device', passesInviter],
  ['the invitee’s device', passesInvitee],
] as const

describe('a server that guesses the four words', () => {
  for (const [side, passes] of SIDES)
    test(`at ${side}, has one guess in each attempt: at 4 bits one in 16 succeeds`, () => {
      const draw = seeded(side)
      const attempts = Array.from({ length: 160 }, () =>
        passes(draw, wordsFrom(draw, 2), wordsFrom(draw, 2)),
      )
      isExpected(attempts.filter(Boolean).length, attempts.length / 16, 'hits')
    })

  for (const [bits, length, count] of [
    [12, 8, 640],
    [16, 16, 2048],
  ] as const)
    test(`of ${bits} bits succeeds as often as blind guesses, and by no other words`, () => {
      const draw = seeded(`${bits} bits`)
      const words = Array.from({ length: count }, () => wordsFrom(draw, length))
      const guesses = Array.from({ length: count }, () => wordsFrom(draw, length))
      // Each guess meets the words of each attempt. The devices run where both are equal, and for
      // each such pair with the guess of the next attempt, which is one of other words.
      let [hits, misses] = [0, 0]
      for (const own of words)
        for (const [at, guess] of guesses.entries()) {
          if (guess !== own) continue
          const [, passes] = SIDES[hits % 2]!
          assert(passes(draw, own, guess))
          hits++
          const other = guesses[(at + 1) % count]!
          if (other === own) continue
          assert(!passes(draw, own, other))
          misses++
        }
      isExpected(hits, count ** 2 / 2 ** bits, `${bits} bits, hits`)
      assert(misses > hits / 2)
    })

  test('gains nothing from a search after the reply', () => {
    const draw = seeded('after')
    for (let attempt = 0; attempt < 8; attempt++) {
      const { contact, inviter, invitee } = runFrom(draw, wordsFrom(draw, 2))
      // All sixteen guesses, with the words themselves, against a reply to other words.
      const all = Array.from({ length: 16 }, (_, four) =>
        wordsAt([8, 4, 2, 1].map((bit) => (four & bit ? 1 : 0))).join(' '),
      )
      const wrong = all.find((guess) => guess !== contact.words)!
      const message = { share: guessedShare(contact, wrong), ad: inviteeAd(invitee) }
      const { reply } = answerAsInviter(contact, inviter, message, invitee, scalarFrom(draw))
      for (const guess of all) {
        const asIf = { ...message, share: guessedShare(contact, guess) }
        for (const sent of [message, asIf])
          for (const k of [reply.share, asIf.share]) {
            const key = guessedKey(contact.sid, k, sent, reply)
            assert(!equalBytes(cpaceTag(key, reply), reply.tag))
          }
      }
    }
  })
})
