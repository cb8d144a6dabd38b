/** Tests words that answer a challenge: for one listener and one purpose, with one attempt. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { wordsAt } from '../../../src/crypto/words.ts'
import type { OpenChallenge } from '../../../src/device/codes/challenges.ts'
import { wordsForListener } from '../../../src/device/codes/words-for-listener.ts'
import {
  BOB,
  CAROL,
  CONNECTION,
  GUEST,
  ME,
  MINUTE,
  T0,
  W0,
  WRONG,
  bench,
  numbered,
  slowPace,
  type Bench,
} from '../bench.ts'
import { rejects } from '../../rejects.ts'

const FAMILY = numbered('connection', 1)
const PURPOSE = 'Pay 12,000 to 1234'
const SHOWN = 'pay12000to1234'
const FAILED =
  'Not verified: the words, the person or the purpose differ. Make a new challenge, and ask for new words. If they fail again, hang up, and call a number that you know.'

const wordOf = ({ word }: OpenChallenge): string => wordsAt([word])[0]!
const closedAs = (state: string) => ({ code: 'invalid_state', details: { state } })
const answer = (b: Bench, words: string, { id }: OpenChallenge, caller: string | null = null) =>
  b.verifier.verify(words, caller, { challenge: id })

/** Returns the words of the device’s own account for a listener. */
const ownWords = (b: Bench, given: Parameters<typeof wordsForListener>[2], id = CONNECTION) =>
  wordsForListener(
    { state: b.state, codes: b.codes, identity: { account: ME } as never },
    id,
    given,
    b.clock.ms,
  )

describe('an answer to a challenge', () => {
  it('verifies the member, for the purpose that both sides see', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, PURPOSE, null)
    assert.equal(drawn.purpose.shown, SHOWN)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: SHOWN })
    const { verified, conclusive, purpose, matches, summary } = await answer(b, words, drawn)
    assert.deepEqual([verified, conclusive, purpose], [true, true, SHOWN])
    assert.deepEqual(
      matches.map(({ member_id, connection_id, conclusive: sure }) => [
        member_id,
        connection_id,
        sure,
      ]),
      [[BOB, CONNECTION, true]],
    )
    assert.equal(summary, `Verified: the words of "Bank" (Bob), for you alone, for "${SHOWN}".`)
  })

  it('without a purpose is reported as without one', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    const { purpose, summary } = await answer(b, words, drawn)
    assert.equal(purpose, '')
    assert.match(summary, /for you alone, for no purpose\.$/)
  })

  const others: [name: string, said: (b: Bench, drawn: OpenChallenge) => string][] = [
    [
      'another purpose',
      (b, drawn) => b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: 'pay99000to1234' }),
    ],
    ['no purpose', (b, drawn) => b.answer({ speaker: BOB, challenge: wordOf(drawn) })],
    [
      'another word',
      (b, { word }) =>
        b.answer({ speaker: BOB, challenge: wordsAt([word ^ 1])[0]!, purpose: SHOWN }),
    ],
    [
      'another listener',
      (b, drawn) =>
        b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: SHOWN, listener: CAROL }),
    ],
    [
      'a person who is no member',
      (b, drawn) => b.answer({ speaker: CAROL, challenge: wordOf(drawn), purpose: SHOWN }),
    ],
    ['the words for everyone', (b) => b.say(CONNECTION, BOB)],
    ['the words of a guest', (b) => b.say(b.guest(), GUEST)],
    ...([-2, 2] as const).map((shift): (typeof others)[number] => [
      `a window that is ${shift} minutes away`,
      (b, drawn) =>
        b.answer({
          speaker: BOB,
          challenge: wordOf(drawn),
          purpose: SHOWN,
          window: W0 + shift,
        }),
    ]),
  ]
  for (const [name, words] of others)
    it(`${name}: not verified, counted as a wrong try, and the challenge is used up`, async (t) => {
      const b = bench(t)
      b.connection()
      const drawn = b.challenges.draw(CONNECTION, PURPOSE, null)
      const failed = await answer(b, words(b, drawn), drawn, 'tok')
      assert.deepEqual(
        [failed.verified, failed.conclusive, failed.matches, failed.summary],
        [false, true, [], FAILED],
      )
      assert.equal(b.state.wrongTries.of(['tok'], true)[0]?.in_row, 1)
      const right = b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: SHOWN })
      await rejects('invalid_state', answer(b, right, drawn), { state: 'used' })
      // The challenge does not use up the words without a listener.
      const { verified } = await b.verifier.verify(b.say(CONNECTION, BOB), null)
      assert.equal(verified, true)
    })

  for (const shift of [-1, 0, 1])
    it(`a window that is ${shift} minutes away verifies`, async (t) => {
      const b = bench(t)
      b.connection()
      const drawn = b.challenges.draw(CONNECTION, '', null)
      const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), window: W0 + shift })
      assert.equal((await answer(b, words, drawn)).verified, true)
    })

  it('is no answer to a check of the words for everyone', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    const { verified, matches } = await b.verifier.verify(words, null)
    assert.deepEqual([verified, matches], [false, []])
    assert.equal((await answer(b, words, drawn)).verified, true)
  })

  it('leaves the words for everyone of that minute valid, and the reverse', async (t) => {
    const b = bench(t)
    b.connection()
    const check = async () => (await b.verifier.verify(b.say(CONNECTION, BOB), null)).verified
    assert.equal(await check(), true)
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    assert.equal((await answer(b, words, drawn)).verified, true)
  })

  it('does not count again if the same word is drawn twice', async (t) => {
    const b = bench(t)
    b.connection()
    const first = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(first) })
    assert.equal((await answer(b, words, first)).verified, true)
    const second = b.challenges.draw(CONNECTION, '', null)
    b.state.db.exec(`update challenges set word = ${first.word} where id = '${second.id}'`)
    const again = await answer(b, words, second)
    assert.deepEqual([again.verified, again.replayed], [false, true])
  })

  it('that is the listener’s own is an echo', async (t) => {
    const b = bench(t)
    b.connection({ others: [BOB, CAROL] })
    const drawn = b.challenges.draw(CONNECTION, PURPOSE, null)
    // Carol gave this listener the same word that it had drawn itself.
    const own = ownWords(b, { challenge: wordOf(drawn), purpose: PURPOSE, listener: CAROL })
    const { verified, echo, matches } = await answer(b, own!.words, drawn)
    assert.deepEqual(
      [verified, echo, matches.map(({ speaker }) => speaker)],
      [false, true, ['self']],
    )
  })

  it('names the speaker in a group', async (t) => {
    const b = bench(t)
    b.connection({ others: [BOB, CAROL] })
    for (const speaker of [BOB, CAROL]) {
      const drawn = b.challenges.draw(CONNECTION, '', null)
      const words = b.answer({ speaker, challenge: wordOf(drawn) })
      const { matches } = await answer(b, words, drawn)
      assert.deepEqual(
        matches.map(({ member_id }) => member_id),
        [speaker],
      )
    }
  })

  it('uses up the challenge once, also with two concurrent tries', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    const tries = await Promise.allSettled([answer(b, words, drawn), answer(b, words, drawn)])
    assert.deepEqual(
      tries.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    )
  })

  for (const [where, subject] of [
    ['of one connection', CONNECTION],
    ['of all connections', null],
  ] as const)
    it(`${where}, with an old last sync: the device syncs only for words that fail`, async (t) => {
      const b = bench(t)
      b.connection()
      let syncs = 0
      b.freshness.lastSync = T0 - 2 * 3_600_000
      b.freshness.refresh = () => (syncs += 1)
      const drawn = b.challenges.draw(subject, '', null)
      const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
      assert.equal((await answer(b, words, drawn)).verified, true)
      assert.equal(syncs, 0)
      const again = b.challenges.draw(subject, '', null)
      const { verified, reasons } = await answer(b, WRONG, again)
      assert.deepEqual([verified, reasons, syncs], [false, ['sync_stale'], 1])
    })

  it('is not verified by a clock that is behind, and every reason is reported', async (t) => {
    const b = bench(t)
    b.connection()
    b.freshness.clock = 'behind'
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    const { verified, reasons } = await answer(b, words, drawn)
    assert.deepEqual([verified, reasons], [false, ['clock_uncertain']])
    b.freshness.clock = 'steady'
    b.connection({ hold: 'rotation_pending' })
    const suspended = b.challenges.draw(CONNECTION, '', null)
    const unsure = await answer(
      b,
      b.answer({ speaker: BOB, challenge: wordOf(suspended) }),
      suspended,
    )
    assert.deepEqual([unsure.verified, unsure.reasons], [false, ['rotation_pending']])
    assert.match(unsure.summary, /^Inconclusive: .*rotation_pending/)
  })

  it('with unknown or too few words is not a try', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, '', null)
    await rejects('unknown_word', answer(b, 'matador carload recedes', drawn))
    await rejects('word_count', answer(b, 'matador carload', drawn))
    const suspended = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    assert.equal((await answer(b, suspended, drawn)).verified, true)
  })

  it('shares the limit of tries with an expected speaker', async (t) => {
    const b = bench(t)
    b.connection()
    for (let i = 0; i < 20; i++)
      await b.verifier.verify(WRONG, 'tok', { expect: { connection_id: CONNECTION } })
    const drawn = b.challenges.draw(CONNECTION, '', null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    await rejects('rate_limited', answer(b, words, drawn, 'tok'))
    // A refused attempt does not count.
    assert.equal((await answer(b, words, drawn)).verified, true)
  })

  it('leaves neither the purpose nor the word in any table of the state', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, PURPOSE, null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: SHOWN })
    await answer(b, words, drawn)
    const tables = b.state.db
      .prepare("select name from sqlite_schema where type = 'table'")
      .all() as { name: string }[]
    const rows = tables.flatMap(({ name }) => b.state.db.prepare(`select * from ${name}`).all())
    assert.doesNotMatch(JSON.stringify(rows), /pay ?12/i)
    assert.equal(b.state.challenges.get(drawn.id)?.word, null)
    const [entry] = b.state.verifications.page(1, null)
    assert.deepEqual(Object.keys(entry!).toSorted(), [
      'at',
      'caller',
      'id',
      'matches',
      'method',
      'outcome',
    ])
  })
})

describe('a challenge for any connection', () => {
  it('verifies on the connection where it is answered, and reports how many were checked', async (t) => {
    const { pace, count } = slowPace(1)
    const b = bench(t, { pace })
    b.connection()
    b.guest()
    for (let n = 1; n <= 300; n++) b.connection({ id: numbered('connection', n) })
    const drawn = b.challenges.draw(null, '', null)
    const connection = numbered('connection', 150)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), connection })
    const { verified, matches, checked, conclusive } = await answer(b, words, drawn)
    assert.deepEqual([verified, checked, conclusive], [true, 301, true])
    assert.deepEqual(
      matches.map(({ connection_id }) => connection_id),
      [connection],
    )
    assert(count.turns > 100, `${count.turns} turns`)
  })

  it('fails inconclusively if a connection could not be checked', async (t) => {
    const b = bench(t)
    b.connection()
    b.connection({ id: FAMILY, hold: 'roster_forked' })
    const drawn = b.challenges.draw(null, '', null)
    const { verified, conclusive, reasons } = await answer(b, WRONG, drawn)
    assert.deepEqual([verified, conclusive, reasons], [false, false, ['roster_forked']])
  })

  it('checks nothing if there is no connection, even if there are guests', async (t) => {
    const b = bench(t)
    b.guest()
    const { conclusive, reasons } = await answer(b, WRONG, b.challenges.draw(null, '', null))
    assert.deepEqual([conclusive, reasons], [false, ['nothing_cached']])
  })

  it('is closed for a try if another one was faster', async (t) => {
    const more: { try?: () => Promise<unknown> } = {}
    const { pace } = slowPace(1, () => void more.try?.())
    const b = bench(t, { pace })
    for (let n = 1; n <= 300; n++) b.connection({ id: numbered('connection', n) })
    const drawn = b.challenges.draw(null, '', null)
    const connection = numbered('connection', 1)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), connection })
    more.try = async () => {
      delete more.try
      b.challenges.use(drawn.id)
    }
    await rejects('invalid_state', answer(b, words, drawn), { state: 'used' })
  })

  it('is searched for by one caller at a time: the others find it used up, and do not search', async (t) => {
    const { pace, count } = slowPace(1)
    const b = bench(t, { pace })
    for (let n = 1; n <= 50; n++) b.connection({ id: numbered('connection', n) })
    await answer(b, WRONG, b.challenges.draw(null, '', null))
    const { turns } = count
    const drawn = b.challenges.draw(null, '', null)
    const tries = await Promise.allSettled(
      Array.from({ length: 10 }, () => answer(b, WRONG, drawn)),
    )
    assert.equal(tries.filter(({ status }) => status === 'fulfilled').length, 1)
    assert.equal(count.turns, 2 * turns)
    // A refused attempt does not prevent the search for a later one.
    const next = await answer(b, WRONG, b.challenges.draw(null, '', null))
    assert.equal(next.verified, false)
  })

  it('rejects a try of a device that signed out meanwhile', async (t) => {
    const { pace } = slowPace(1, () => void (b.session.left = true))
    const b: Bench = bench(t, { pace })
    for (let n = 1; n <= 300; n++) b.connection({ id: numbered('connection', n) })
    const drawn = b.challenges.draw(null, '', null)
    await rejects('not_signed_in', answer(b, WRONG, drawn))
  })
})

describe('challenges', () => {
  it('are ended by a new one for the same connection, and by one for any connection', (t) => {
    const b = bench(t)
    b.connection()
    b.connection({ id: FAMILY })
    const [bank, family] = [
      b.challenges.draw(CONNECTION, '', null),
      b.challenges.draw(FAMILY, '', null),
    ]
    const newer = b.challenges.draw(CONNECTION, '', null)
    assert.throws(() => b.challenges.open(bank.id), closedAs('ended'))
    assert.equal(b.challenges.open(family.id).id, family.id)
    const any = b.challenges.draw(null, '', null)
    for (const { id } of [newer, family])
      assert.throws(() => b.challenges.open(id), closedAs('ended'))
    b.challenges.draw(FAMILY, '', null)
    assert.throws(() => b.challenges.open(any.id), closedAs('ended'))
  })

  it('are limited to five in fifteen minutes for a connection, also after a restart and a change of the clock', async (t) => {
    const b = bench(t)
    b.connection()
    b.connection({ id: FAMILY })
    let here = b
    for (let i = 0; i < 5; i++) {
      here.challenges.draw(CONNECTION, '', null)
      b.pass(MINUTE)
      b.clock.ms += 60 * MINUTE
      here = b.reopen()
    }
    const limited = { code: 'rate_limited', headers: { 'Retry-After': '600' } }
    assert.throws(() => here.challenges.draw(CONNECTION, '', null), limited)
    assert.throws(() => here.challenges.draw(null, '', null), limited)
    here.challenges.draw(FAMILY, '', null)
    // After another start of the machine, the age of earlier attempts is unknown, so the whole
    // interval must pass.
    b.machine.boot = 'boot 2'
    b.machine.uptime = MINUTE
    assert.throws(() => b.reopen().challenges.draw(CONNECTION, '', null), { code: 'rate_limited' })
    b.machine.uptime = 15 * MINUTE
    b.reopen().challenges.draw(CONNECTION, '', null)
  })

  it('of a token neither end those of other callers, nor use up the five of the command line', async (t) => {
    const b = bench(t)
    b.connection()
    const owners = b.challenges.draw(CONNECTION, '', null)
    const others = b.challenges.draw(null, '', 'tok_a')
    const own = b.challenges.draw(CONNECTION, '', 'tok_b')
    b.challenges.draw(null, '', 'tok_b')
    assert.throws(() => b.challenges.open(own.id), closedAs('ended'))
    assert.equal(b.challenges.open(owners.id).id, owners.id)
    assert.equal(b.challenges.open(others.id).id, others.id)
    for (let i = 0; i < 2; i++) b.challenges.draw(CONNECTION, '', 'tok_b')
    for (const token of ['tok_a', 'tok_b', 'tok_new'])
      assert.throws(() => b.reopen().challenges.draw(CONNECTION, '', token), {
        code: 'rate_limited',
        message: /for all tokens together/,
      })
    for (let i = 0; i < 4; i++) b.reopen().challenges.draw(CONNECTION, '', null)
    assert.throws(() => b.challenges.draw(CONNECTION, '', null), { code: 'rate_limited' })
    // Only the command line’s own draws ended its challenges. Answering the last one takes one
    // attempt.
    assert.throws(() => b.challenges.open(owners.id), closedAs('ended'))
    const last = b.state.challenges
      .all()
      .find(({ caller, state }) => caller === null && state === 'open')!
    const drawn = b.challenges.open(last.id)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn) })
    assert.equal((await answer(b, words, drawn)).verified, true)
  })

  it('for any connection count for each connection', (t) => {
    const b = bench(t)
    b.connection()
    for (let i = 0; i < 3; i++) b.challenges.draw(null, '', null)
    for (let i = 0; i < 2; i++) b.challenges.draw(CONNECTION, '', null)
    assert.throws(() => b.challenges.draw(CONNECTION, '', null), { code: 'rate_limited' })
    assert.throws(() => b.challenges.draw(null, '', null), { code: 'rate_limited' })
    b.pass(15 * MINUTE)
    assert.equal(b.challenges.draw(null, '', null).connection, null)
  })

  it('stay open over a restart of the daemon, for one try', async (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, PURPOSE, null)
    const words = b.answer({ speaker: BOB, challenge: wordOf(drawn), purpose: SHOWN })
    const { verified, purpose } = await answer(b.reopen(), words, drawn)
    assert.deepEqual([verified, purpose], [true, SHOWN])
    await rejects('invalid_state', answer(b.reopen(), words, drawn), { state: 'used' })
  })

  it('expire after fifteen minutes of uptime, and with a restart of the machine', (t) => {
    const b = bench(t)
    b.connection()
    const drawn = b.challenges.draw(CONNECTION, '', null)
    b.clock.ms = T0 + 60 * MINUTE
    b.machine.uptime += 15 * MINUTE - 1
    assert.equal(b.challenges.open(drawn.id).id, drawn.id)
    b.machine.uptime += 1
    assert.throws(() => b.challenges.open(drawn.id), closedAs('expired'))
    const next = b.challenges.draw(CONNECTION, '', null)
    b.machine.boot = 'boot 2'
    assert.throws(() => b.reopen().challenges.open(next.id), closedAs('expired'))
  })

  it('need a known connection and a short purpose', (t) => {
    const b = bench(t)
    b.connection()
    for (const unknown of [FAMILY, b.guest()])
      assert.throws(() => b.challenges.draw(unknown, '', null), { code: 'not_found' })
    assert.throws(() => b.challenges.open('chl_none'), { code: 'not_found' })
    assert.throws(() => b.challenges.draw(CONNECTION, 'a'.repeat(65), null), { code: 'too_long' })
    // A refused draw neither counts nor ends another challenge.
    assert.deepEqual(b.state.challenges.all(), [])
    assert.equal(
      b.challenges.draw(CONNECTION, `${'a'.repeat(64)} !`, null).purpose.shown.length,
      64,
    )
  })
})

describe('words for a listener', () => {
  const given = { challenge: 'Matador', purpose: PURPOSE }

  it('are for the other member of two, and the same as a peer computes', (t) => {
    const b = bench(t)
    b.connection()
    const own = ownWords(b, given)
    const of = { speaker: ME, challenge: 'matador', purpose: SHOWN, listener: BOB }
    assert.equal(own?.words, b.answer(of))
    assert.deepEqual([own?.listener, own?.listener_name, own?.purpose], [BOB, 'Bob', SHOWN])
    assert.deepEqual(ownWords(b, { ...given, listener: BOB }), own)
  })

  it('of a group are for the named member', (t) => {
    const b = bench(t)
    b.connection({ others: [BOB, CAROL] })
    assert.throws(() => ownWords(b, given), /Name the member who gave the challenge/)
    const words = [BOB, CAROL].map((listener) => ownWords(b, { ...given, listener })?.words)
    assert.notEqual(words[0], words[1])
    const of = { speaker: ME, challenge: 'matador', purpose: SHOWN, listener: CAROL }
    assert.equal(words[1], b.answer(of))
  })

  for (const [name, listener] of [
    ['oneself', ME],
    ['a stranger to the connection', CAROL],
  ] as const)
    it(`for ${name}: validation_failed`, (t) => {
      const b = bench(t)
      b.connection()
      assert.throws(() => ownWords(b, { ...given, listener }), { code: 'validation_failed' })
    })

  it('do not exist for a single member, without the connection, or while it is suspended', (t) => {
    const b = bench(t)
    assert.equal(ownWords(b, given), null)
    b.connection({ others: [] })
    assert.throws(() => ownWords(b, given), /only member of this connection/)
    b.connection({ hold: 'rotation_pending' })
    assert.equal(ownWords(b, given), null)
    b.vault.delete(b.connection())
    assert.equal(ownWords(b, given), null)
  })

  it('need one word of the list', (t) => {
    const b = bench(t)
    b.connection()
    for (const [challenge, code] of [
      ['matadore', 'unknown_word'],
      ['matador carload', 'word_count'],
      ['', 'word_count'],
    ] as const)
      assert.throws(() => ownWords(b, { challenge }), { code: code })
  })
})
