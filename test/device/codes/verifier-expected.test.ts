/**
 * Tests words of one expected connection or member: the answer reveals nothing about other
 * speakers.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Expectation, Verification } from '../../../src/api/rest/verify.ts'
import {
  BOB,
  CAROL,
  CONNECTION,
  DAY,
  GUEST,
  ME,
  WRONG,
  bench,
  numbered,
  type Bench,
} from '../bench.ts'
import { rejects } from '../../rejects.ts'

const FAMILY = numbered('connection', 1)
const ALONE = numbered('connection', 2)

/** Adds Bank with Bob, Family with Bob and Carol, and a guest. */
function known(b: Bench): Bench {
  b.connection()
  b.connection({ id: FAMILY, name: 'Family', others: [BOB, CAROL] })
  b.guest()
  return b
}

const inBank: Expectation = { connection_id: CONNECTION }
const inFamily: Expectation = { connection_id: FAMILY }
const isBob: Expectation = { user_id: BOB }
const isCarol: Expectation = { user_id: CAROL }
const isGuest: Expectation = { guest_code_id: GUEST }

/** Words by their subject and speaker; a guest speaks those of a guest code. */
type Speaker = readonly [subject: string, speaker: string]

describe('an expected speaker', () => {
  const cases: [name: string, expect: Expectation, said: Speaker, found: string | null][] = [
    ['a connection, and its member speaks', inBank, [CONNECTION, BOB], BOB],
    ['a group, and one of its members speaks', inFamily, [FAMILY, CAROL], CAROL],
    ['a group, and another member speaks', inFamily, [FAMILY, BOB], BOB],
    ['a connection, and its member speaks on another', inBank, [FAMILY, BOB], null],
    ['a connection, and a stranger to it speaks', inBank, [FAMILY, CAROL], null],
    ['a connection, and a guest speaks', inBank, [GUEST, GUEST], null],
    ['a person, who speaks on one connection', isBob, [CONNECTION, BOB], BOB],
    ['a person, who speaks on another connection', isBob, [FAMILY, BOB], BOB],
    ['a person, and another member of the same group speaks', isBob, [FAMILY, CAROL], null],
    ['a person, who is only in the group', isCarol, [FAMILY, CAROL], CAROL],
    [
      'a person, and the words are of a connection without that person',
      isCarol,
      [CONNECTION, BOB],
      null,
    ],
    ['a person, and a guest speaks', isBob, [GUEST, GUEST], null],
    ['a guest, and a member of a connection speaks', isGuest, [CONNECTION, BOB], null],
  ]
  for (const [name, expect, [subject, speaker], found] of cases)
    it(`${name}: ${found === null ? 'not verified' : 'verified'}`, async (t) => {
      const b = known(bench(t))
      const words = b.say(subject, speaker)
      const answer = await b.verifier.verify(words, null, { expect })
      const { verified, conclusive, matches } = answer
      assert.deepEqual([verified, conclusive], [found !== null, true])
      assert.deepEqual(
        matches.map(({ member_id, connection_id }) => [member_id, connection_id]),
        found === null ? [] : [[found, subject]],
      )
      // Words that were found are used up for every kind of query; words that were not found are
      // not.
      const { replayed } = await b.verifier.verify(words, null)
      assert.equal(replayed, found !== null)
    })

  it('words of unexpected speakers get exactly the answer of unknown words', async (t) => {
    const b = known(bench(t))
    const others: Speaker[] = [
      [FAMILY, BOB],
      [FAMILY, CAROL],
      [FAMILY, ME],
      [GUEST, GUEST],
    ]
    const nobody = await b.verifier.verify(WRONG, null, { expect: inBank })
    for (const words of others) {
      const answer = await b.verifier.verify(b.say(...words), null, { expect: inBank })
      assert.deepEqual(answer, nobody)
    }
    const [first, ...rest] = b.state.verifications.page(9, null)
    for (const { outcome, matches } of [first, ...rest].filter((one) => one !== undefined))
      assert.deepEqual([outcome, matches], ['not_verified', []])
    assert.equal(b.state.replays.highest(), 0)
  })

  it('words of unexpected speakers count as wrong tries', async (t) => {
    const b = known(bench(t))
    for (let i = 0; i < 20; i++)
      await b.verifier.verify(b.say(FAMILY, CAROL), 'tok', { expect: inBank })
    await rejects(
      'rate_limited',
      b.verifier.verify(b.say(CONNECTION, BOB), 'tok', { expect: inBank }),
    )
  })

  for (const [name, expect] of [
    ['a connection', inFamily],
    ['a person', isCarol],
  ] as const)
    it(`${name}: own words there are an echo, own words from elsewhere match nothing`, async (t) => {
      const b = known(bench(t))
      const echo = await b.verifier.verify(b.say(FAMILY, ME), null, { expect })
      assert.deepEqual([echo.verified, echo.echo, echo.matches.length], [false, true, 1])
      const none = await b.verifier.verify(b.say(CONNECTION, ME), null, { expect })
      assert.deepEqual([none.verified, none.echo, none.matches], [false, false, []])
    })

  it('a guest: their words verify, own words are an echo, and after the expiry no one is expected', async (t) => {
    const b = known(bench(t))
    const check = (...words: Speaker) =>
      b.verifier.verify(b.say(...words), null, { expect: isGuest })
    const { verified, checked, matches } = await check(GUEST, GUEST)
    assert.deepEqual([verified, checked, matches[0]?.guest_code_id], [true, 1, GUEST])
    assert.equal((await check(GUEST, ME)).echo, true)
    assert.equal((await check(CONNECTION, ME)).echo, false)
    b.pass(DAY)
    await rejects('not_found', check(GUEST, GUEST))
  })

  it('used words are reported, with the time', async (t) => {
    const b = known(bench(t))
    const words = b.say(CONNECTION, BOB)
    const { checked_at } = await b.verifier.verify(words, null)
    const again = await b.verifier.verify(words, null, { expect: isBob })
    assert.deepEqual(
      [again.verified, again.replayed, again.first_verified_at],
      [false, true, checked_at],
    )
  })

  it('is named in the summary, with advice', async (t) => {
    const b = known(bench(t))
    const advice =
      'Ask for the words again. If they fail again, hang up, and call a number that you know.'
    for (const [expect, summary] of [
      [inBank, `Not verified: no member of "Bank" says these words now. ${advice}`],
      [isBob, `Not verified: Bob does not say these words now. ${advice}`],
    ] as const)
      assert.equal((await b.verifier.verify(WRONG, null, { expect })).summary, summary)
    b.connection({ hold: 'rotation_pending' })
    for (const [expect, who] of [
      [inBank, 'a member of "Bank"'],
      [isBob, 'Bob'],
    ] as const)
      assert.equal(
        (await b.verifier.verify(WRONG, null, { expect })).summary,
        `Inconclusive: it could not be checked whether ${who} says these words (rotation_pending).`,
      )
  })
})

describe('an unknown expected speaker', () => {
  for (const [name, expect] of [
    ['a connection', { connection_id: ALONE }],
    ['a person', { user_id: CAROL }],
    ['the own account', { user_id: ME }],
  ] as const)
    it(`${name}: not_found, before anything is checked or counted`, async (t) => {
      const b = bench(t)
      b.connection()
      for (let i = 0; i < 30; i++)
        await rejects('not_found', b.verifier.verify(b.say(CONNECTION, BOB), 'tok', { expect }))
      assert.equal((await b.verifier.verify(b.say(CONNECTION, BOB), 'tok')).verified, true)
    })

  it('a member with a name like an account id does not match that id', async (t) => {
    const b = bench(t)
    const row = {
      id: b.connection(),
      name: 'Bank',
      epoch: 1,
      head: new Uint8Array(32),
      members: [ME, BOB].map((user_id) => ({ user_id, display_name: CAROL })),
      hold: null,
      updated_at: 1,
    }
    b.state.connections.put(row)
    b.codes.putConnection(row)
    await rejects('not_found', b.verifier.verify(WRONG, null, { expect: isCarol }))
  })
})

describe('a conclusive answer about an expected speaker', () => {
  const reasonsOf = ({ conclusive, reasons, checked, unchecked }: Verification) => ({
    conclusive,
    reasons,
    checked,
    unchecked,
  })

  for (const hold of ['rotation_pending', 'roster_forked'] as const)
    it(`${hold} counts for the expected connection, and not for others`, async (t) => {
      const b = known(bench(t))
      b.connection({ hold })
      const ask = async (expect: Expectation) =>
        reasonsOf(await b.verifier.verify(WRONG, null, { expect }))
      const suspended = { conclusive: false, reasons: [hold] }
      assert.deepEqual(await ask(inBank), { ...suspended, checked: 0, unchecked: 1 })
      assert.deepEqual(await ask(isBob), { ...suspended, checked: 1, unchecked: 1 })
      const good = { conclusive: true, reasons: [], checked: 1, unchecked: 0 }
      assert.deepEqual(await ask(inFamily), good)
      assert.deepEqual(await ask(isCarol), good)
    })

  it('needs no secrets of other connections', async (t) => {
    const b = known(bench(t))
    b.vault.delete(CONNECTION)
    const missing = await b.verifier.verify(WRONG, null, { expect: inBank })
    assert.deepEqual(missing.reasons, ['secret_missing'])
    const good = await b.verifier.verify(WRONG, null, { expect: inFamily })
    assert.deepEqual([good.conclusive, good.reasons], [true, []])
  })

  it('is impossible for an ended connection', async (t) => {
    const b = known(bench(t))
    b.connection({ hold: 'ended' })
    for (const words of [WRONG, b.say(CONNECTION, BOB)]) {
      const { verified, conclusive, reasons } = await b.verifier.verify(words, null, {
        expect: inBank,
      })
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['connection_ended']])
    }
    // Bob has another connection with words that can be checked.
    const other = await b.verifier.verify(WRONG, null, { expect: isBob })
    assert.deepEqual([other.conclusive, other.reasons], [true, []])
    assert.equal(
      (await b.verifier.verify(b.say(FAMILY, BOB), null, { expect: isBob })).verified,
      true,
    )
    b.vault.delete(CONNECTION)
    const gone = await b.verifier.verify(WRONG, null, { expect: inBank })
    assert.deepEqual([gone.conclusive, gone.reasons], [false, ['connection_ended']])
  })
})

it('a verification with an expected speaker finds what an unrestricted one finds of that speaker', async (t) => {
  const b = known(bench(t))
  const speakers: Speaker[] = [
    [CONNECTION, BOB],
    [CONNECTION, ME],
    [FAMILY, BOB],
    [FAMILY, CAROL],
    [FAMILY, ME],
    [GUEST, GUEST],
    [GUEST, ME],
  ]
  const window = Math.floor(b.clock.ms / 60_000)
  for (const expect of [inBank, inFamily, isBob, isCarol])
    for (const speaker of speakers)
      for (const shift of [-2, -1, 0, 1, 2]) {
        // Each check uses up the words, so each one runs on a device that has used none.
        const words = b.say(...speaker, window + shift)
        const { verifier } = b.reopen()
        const forget = () =>
          b.state.db.exec(
            'delete from replays; delete from replays_highest; delete from wrong_tries',
          )
        forget()
        const all = await verifier.verify(words, null)
        forget()
        const some = await verifier.verify(words, null, { expect })
        const isExpected = (match: Verification['matches'][number]) =>
          'connection_id' in expect
            ? match.connection_id === expect.connection_id
            : match.member_id === expect.user_id ||
              (match.speaker === 'self' &&
                (match.connection_id === FAMILY ||
                  (match.connection_id === CONNECTION && expect.user_id === BOB)))
        assert.deepEqual(some.matches, all.matches.filter(isExpected))
      }
})
