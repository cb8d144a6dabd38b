/** Tests first contact by four words: the values that two devices agree on, and refusals. */
import assert from 'node:assert/strict'
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { CpaceReply } from '../../src/crypto/cpace.ts'
import {
  answerAsInviter,
  beginAsInvitee,
  contactInput,
  inviteeAd,
  inviterAd,
  newContactWords,
  type Contact,
} from '../../src/crypto/first-contact.ts'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { parseWords, wordsAt } from '../../src/crypto/words.ts'
import { hex } from './kit2.ts'

const account = () => formatId(ID_PREFIX.account, randomBytes(16))
const place = () => ({ account: account(), seq: 3, head: new Uint8Array(randomBytes(32)) })

/** Returns an invitation, and each side’s view of the logs. */
function meeting() {
  const inviter = { ...place(), rosterHead: new Uint8Array(randomBytes(32)) }
  const contact: Contact = {
    words: newContactWords().join(' '),
    sid: new Uint8Array(randomBytes(16)),
    connection: formatId(ID_PREFIX.connection, randomBytes(16)),
    inviter: inviter.account,
  }
  return { inviter, invitee: place(), contact }
}

/** Runs two honest devices, each with its own data of the contact. */
function meet(
  { inviter, invitee }: ReturnType<typeof meeting>,
  atInvitee: Contact,
  atInviter: Contact,
) {
  const a = beginAsInvitee(atInvitee, invitee)
  const b = answerAsInviter(atInviter, inviter, a.message, invitee)
  const { tag, isk } = a.finish(b.reply, inviterAd(inviter))
  return { a, b, tag, iskA: isk, iskB: b.finish(tag).isk }
}

describe('two sides of a first contact', () => {
  test('agree on a new key each time, with any words', () => {
    const quads = fc.tuple(...([4095, 4095, 4095, 4095].map(fc.nat) as fc.Arbitrary<number>[]))
    const seen = new Set<string>()
    fc.assert(
      fc.property(quads, (indices) => {
        const both = meeting()
        const words = wordsAt(indices)
        const typed = words.map((word) => word.toUpperCase()).join(' - ')
        const made = { ...both.contact, words: words.join(' ') }
        const { iskA, iskB } = meet(both, { ...made, words: typed }, made)
        assert.deepEqual(iskA, iskB)
        assert.ok(!seen.has(hex(iskA)))
        seen.add(hex(iskA))
      }),
      { numRuns: 30 },
    )
  })

  const others: [string, (of: Contact) => Partial<Contact>][] = [
    ['sid', () => ({ sid: new Uint8Array(randomBytes(16)) })],
    ['connection', () => ({ connection: formatId(ID_PREFIX.connection, randomBytes(16)) })],
    ['inviter', () => ({ inviter: account() })],
    ['order of words', ({ words }) => ({ words: words.split(' ').toReversed().join(' ') })],
  ]
  for (const [name, change] of others)
    test(`never agree with another ${name}`, () => {
      const both = meeting()
      const changed = { ...both.contact, ...change(both.contact) }
      assert.throws(() => meet(both, changed, both.contact), { reason: 'tag_mismatch' })
      assert.throws(() => meet(both, both.contact, changed), { reason: 'tag_mismatch' })
    })
  test('never agree with one other word', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.nat(4095), (at, other) => {
        const both = meeting()
        const { indices } = parseWords(both.contact.words, 4)
        if (indices[at] === other) return
        const words = wordsAt(indices.with(at, other)).join(' ')
        const attempt = () => meet(both, { ...both.contact, words }, both.contact)
        assert.throws(attempt, { reason: 'tag_mismatch' })
      }),
      { numRuns: 30 },
    )
  })

  test('reject another log than the verified one', () => {
    const both = meeting()
    const a = beginAsInvitee(both.contact, both.invitee)
    for (const change of [{ seq: 4 }, { head: new Uint8Array(32) }, { account: account() }]) {
      const invitee = { ...both.invitee, ...change }
      const answer = () => answerAsInviter(both.contact, both.inviter, a.message, invitee)
      assert.throws(answer, { reason: 'ad_mismatch' })
    }
    const { reply } = answerAsInviter(both.contact, both.inviter, a.message, both.invitee)
    for (const change of [{ seq: 4 }, { rosterHead: new Uint8Array(32) }]) {
      const attempt = beginAsInvitee(both.contact, both.invitee)
      const expected = inviterAd({ ...both.inviter, ...change })
      assert.throws(() => attempt.finish(reply, expected), { reason: 'ad_mismatch' })
    }
  })

  test('reject data that the server swapped', () => {
    const both = meeting()
    const shown = { ...both.invitee, head: new Uint8Array(32) }
    const a = beginAsInvitee(both.contact, both.invitee)
    const message = { share: a.message.share, ad: inviteeAd(shown) }
    const b = answerAsInviter(both.contact, both.inviter, message, shown)
    const attempt = () => a.finish(b.reply, inviterAd(both.inviter))
    assert.throws(attempt, { reason: 'tag_mismatch' })
  })

  test('reject their own message as the answer', () => {
    const both = meeting()
    const a = beginAsInvitee(both.contact, both.invitee)
    const reply = { ...a.message, tag: new Uint8Array(64) }
    assert.throws(() => a.finish(reply, a.message.ad), { reason: 'tag_mismatch' })
  })

  test('end with the first answer, right or wrong', () => {
    const both = meeting()
    const done = meet(both, both.contact, both.contact)
    const damaged: CpaceReply = { ...done.b.reply, tag: new Uint8Array(64) }
    const expected = inviterAd(both.inviter)
    assert.throws(() => done.a.finish(done.b.reply, expected), { reason: 'cpace_abort' })
    assert.throws(() => done.b.finish(done.tag), { reason: 'cpace_abort' })
    const a = beginAsInvitee(both.contact, both.invitee)
    const b = answerAsInviter(both.contact, both.inviter, a.message, both.invitee)
    assert.throws(() => a.finish(damaged, expected), { reason: 'tag_mismatch' })
    assert.throws(() => a.finish(b.reply, expected), { reason: 'cpace_abort' })
    assert.throws(() => b.finish(new Uint8Array(64)), { reason: 'tag_mismatch' })
    assert.throws(() => b.finish(done.tag), { reason: 'cpace_abort' })
  })

  test('reject shares outside the group, and the identity', () => {
    const { contact, inviter, invitee } = meeting()
    const shares = [
      new Uint8Array(32),
      new Uint8Array(32).fill(255),
      new Uint8Array(31),
      new Uint8Array(0),
      Uint8Array.of(1, ...new Uint8Array(31)),
    ]
    for (const share of shares) {
      const message = { share, ad: inviteeAd(invitee) }
      const answer = () => answerAsInviter(contact, inviter, message, invitee)
      assert.throws(answer, { reason: 'cpace_abort' }, hex(share))
    }
  })

  test('make the same tags as node:crypto', () => {
    const both = meeting()
    const { a, b, tag, iskA } = meet(both, both.contact, both.contact)
    const { sid } = both.contact
    const key = createHash('sha512').update('CPaceMac').update(sid).update(iskA).digest()
    for (const [of, made] of [
      [a.message, tag],
      [b.reply, b.reply.tag],
    ] as const) {
      const data = Uint8Array.of(32, ...of.share, of.ad.length, ...of.ad)
      assert.equal(hex(made), createHmac('sha512', key).update(data).digest('hex'))
    }
  })
})

describe('the input', () => {
  const { contact, inviter } = meeting()
  const faults: [string, Partial<Contact>, string][] = [
    ['three words', { words: 'zoom path zoom' }, 'word_count'],
    ['a word off the list', { words: 'zoom path zoom bitcoin' }, 'unknown_word'],
    ['a session id of 15 bytes', { sid: new Uint8Array(15) }, 'bad_length'],
    ['a connection for an account', { inviter: contact.connection }, 'prefix'],
  ]
  for (const [name, change, reason] of faults)
    test(`${name}: ${reason}`, () =>
      assert.throws(() => contactInput({ ...contact, ...change }), { reason }))
  test('rejects parts of wrong lengths', () => {
    assert.throws(() => inviteeAd({ ...inviter, head: new Uint8Array(31) }), {
      reason: 'bad_length',
    })
    assert.throws(() => inviterAd({ ...inviter, rosterHead: new Uint8Array(33) }), {
      reason: 'bad_length',
    })
    assert.throws(() => inviteeAd({ ...inviter, seq: -1 }), { reason: 'bad_value' })
  })
  test('new words are four of the list, and not repeated', () => {
    const made = Array.from({ length: 50 }, newContactWords)
    assert.ok(made.every((words) => parseWords(words.join(' '), 4).words.length === 4))
    assert.equal(new Set(made.map((words) => words.join(' '))).size, 50)
  })
})
