/** Challenges: `verify --challenge` at one device, `code --challenge` at the other. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { type Person as AtTerminal } from './terminal.ts'
import { newCliFixture, joinMembers } from './cli-fixture.ts'

const WRONG = 'matador carload recede'

/** Returns the word that the terminal shows to the listener. */
const wordIn = (seen: string): string => /Say this word: ([a-z]+)\n/.exec(seen)![1]!

/** Types one of these lines at each prompt. */
const typing = (...lines: ((word: string) => string | Promise<string>)[]): AtTerminal => {
  const left = [...lines]
  return async (seen) => (await left.shift()?.(wordIn(seen))) ?? null
}

describe('verify --challenge and code --challenge', () => {
  it('with two people: the same purpose verifies once, and another one does not', async (t) => {
    const fixture = await newCliFixture(t)
    const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
    const bank = (await ada.json('connection', 'create', '--name', 'Bank')).id as string
    await joinMembers(ada, bank, [bob])
    const says = (purpose: string) => async (word: string) =>
      (await bob.json('code', bank, '--challenge', word, '--purpose', purpose)).words as string
    const check = (person: AtTerminal, ...more: string[]) =>
      ada.on(['verify', '--challenge', '--purpose', 'Pay 12,000 to 1234', ...more], { person })

    const good = await check(typing(says('pay 12000 to 1234')), '--expect', bank)
    assert.equal(good.code, EXIT.ok, good.err)
    assert.match(
      good.out,
      /^Verified: the words of "Bank" \(the server says "\S+"\), for you alone, for "pay12000to1234"\.\n$/,
    )
    assert.match(
      good.err,
      /^Say this word: [a-z]+\nThe other side must enter it with the purpose "pay12000to1234"/,
    )

    const other = await check(typing(says('pay 99000 to 1234')))
    assert.equal(other.code, EXIT.notVerified, other.err)
    assert.match(other.out, /^Not verified: the words, the person or the purpose differ\./)

    // A malformed input does not count as an attempt; the right input then verifies on any
    // connection.
    const slip = await check(
      typing(
        () => 'matador',
        () => 'matador car recede',
        says('Pay12000to1234'),
      ),
    )
    assert.equal(slip.code, EXIT.ok, slip.err)
    assert.match(
      slip.err,
      /Three words are needed, but there are 1[^]*"car" is not on the word list/,
    )

    const json = await check(
      typing(() => WRONG),
      '--expect',
      bank,
      '--json',
    )
    assert.equal(json.code, EXIT.notVerified, json.err)
    assert.equal(JSON.parse(json.out).purpose, 'pay12000to1234')

    const shown = await bob.good(['code', bank, '--challenge', 'matador', '--purpose', 'Pay 1.200'])
    assert.match(shown.out, /^[a-z]+ [a-z]+ [a-z]+\n$/)
    assert.match(
      shown.err,
      /^Valid until .*\nThese words are for the purpose "pay1200" and only for an account that the server calls "[^"\s]+"\. Say the words only/,
    )
    assert.doesNotMatch(shown.err, /acc_/)
    assert.notEqual(shown.out.trim(), (await bob.json('code', bank)).words)

    const fifth = await check(typing(() => WRONG))
    assert.equal(fifth.code, EXIT.notVerified)
    const sixth = await check(typing(() => WRONG))
    assert.equal(sixth.code, EXIT.failed)
    assert.match(sixth.err, /Too many challenges: the limit is 5 in 15 minutes/)
  })

  it('in a group: the speaker names the listener, and words for another listener fail', async (t) => {
    const fixture = await newCliFixture(t)
    const [ada, bob, cy] = [
      await fixture.person('ada'),
      await fixture.person('bob'),
      await fixture.person('cy'),
    ]
    const club = (await ada.json('connection', 'create', '--name', 'Club')).id as string
    await joinMembers(ada, club, [bob, cy])
    await bob.good(['sync'])
    assert.match(
      await bob.refused('code', club, '--challenge', 'matador'),
      /--listener: .*Name the member who gave the challenge.*"countersignd connection members con_/,
    )
    const says = (listener: string) => async (word: string) =>
      (await bob.json('code', club, '--challenge', word, '--listener', listener)).words as string
    for (const [listener, code] of [
      [cy.id, EXIT.notVerified],
      [ada.id, EXIT.ok],
    ] as const) {
      const args = ['verify', '--challenge', '--expect', club]
      const found = await ada.on(args, { person: typing(says(listener)) })
      assert.equal(found.code, code, found.out)
    }
  })

  it('rejects options that do not fit', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await fixture.person('ada')
    const guest = (await ada.json('guest', 'create', '--label', 'Mum')).id as string
    for (const [args, expected] of [
      [
        ['verify', '--challenge', ...WRONG.split(' ')],
        /together with --challenge\. The command first shows you a word to say/,
      ],
      [['verify', '--challenge', '--expect', ada.id], /is not the id of a connection/],
      [
        ['verify', '--challenge', '--public'],
        /--public cannot be used with --expect or --challenge/,
      ],
      [['verify', '--purpose', 'Pay 12', WRONG], /--purpose can only be used with --challenge/],
      [['code', guest, '--challenge', 'matador'], /a guest cannot give a challenge/],
      [['code', guest, '--purpose', 'Pay 12'], /Add --challenge with the word/],
    ] as const) {
      const { code, err } = await ada.on(args)
      assert.equal(code, EXIT.usage, err)
      assert.match(err, expected)
    }
    const long = await ada.refused('verify', '--challenge', '--purpose', 'a'.repeat(65))
    assert.match(long, /The purpose is too long: it has 65 letters and digits/)
    const none = await ada.on(['verify', '--challenge'], { input: '' })
    assert.equal(none.code, EXIT.usage)
    assert.match(none.err, /No words were given, so nothing was checked/)
  })
})
