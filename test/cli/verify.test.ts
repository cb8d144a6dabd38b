/** `verify --expect`, and the exit code for verified words. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Verification } from '../../src/api/rest/verify.ts'
import type { Api } from '../../src/cli/command.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture, joinMembers } from './cli-fixture.ts'

const WRONG = ['matador', 'carload', 'recede']

describe('verify --expect', () => {
  it('accepts the words of the named connection or person, and of no other', async (t) => {
    const fixture = await newCliFixture(t)
    const [ada, bob, cy] = [
      await fixture.person('ada'),
      await fixture.person('bob'),
      await fixture.person('cy'),
    ]
    const bank = (await ada.json('connection', 'create', '--name', 'Bank')).id as string
    const club = (await ada.json('connection', 'create', '--name', 'Club')).id as string
    await joinMembers(ada, bank, [bob])
    await joinMembers(ada, club, [cy])
    const { words } = await bob.json('code', bank)
    const verify = (expected: string) => ada.on(['verify', '--expect', expected], { input: words })
    // All accounts have the name of the machine’s user.
    const mark = '( \\[another contact has this name\\])?'
    const one = `an account that the server calls "\\S+"${mark}`
    const called = `the server says "\\S+"${mark}`
    for (const [expected, who] of [
      [club, 'no member of "Club" says'],
      [cy.id, `${one} does not say`],
    ] as const) {
      const { code, out, err } = await verify(expected)
      assert.deepEqual([code, err], [EXIT.notVerified, ''])
      assert.match(
        out,
        new RegExp(`^Not verified: ${who} these words now\\. Ask for the words again`),
      )
    }
    const good = await verify(bob.id)
    assert.equal(good.code, EXIT.ok, good.err)
    assert.match(good.out, new RegExp(`^Verified: the words of "Bank" \\(${called}\\)\\.\n$`))
    const again = await verify(bank)
    assert.equal(again.code, EXIT.notVerified)
    assert.match(
      again.out,
      new RegExp(`^The words of "Bank" \\(${called}\\), but they were used before: no proof`),
    )
    const at = Date.now()
    assert.match(
      await ada.refused('verify', '--expect', newId('con_', at), ...WRONG),
      /There is no connection with this id. "countersignd connection list" lists the ids./,
    )
    assert.match(
      await ada.refused('verify', '--expect', newId('acc_', at), ...WRONG),
      /You share no connection with this account./,
    )
    assert.match(
      await ada.refused('verify', '--expect', 'Mum', ...WRONG),
      /No one here is called "Mum"\. Connections: .*"Bank" \(con_/,
    )
    for (const [args, expected] of [
      [['--expect', bob.id, '--public'], /--public cannot be used with --expect or --challenge/],
    ] as const) {
      const { code, err } = await ada.on(['verify', ...args, ...WRONG])
      assert.equal(code, EXIT.usage)
      assert.match(err, expected)
    }
  })
})

describe('verify: the exit code of words that verify', () => {
  const answer = (conclusive: boolean, isSure: boolean): Verification => ({
    verified: true,
    conclusive,
    replayed: false,
    echo: false,
    summary: 'Verified: the words of "Bank" (Bob).',
    matches: [
      {
        kind: 'connection',
        speaker: 'other',
        display_name: 'Bob',
        name_source: 'confirmed',
        name_marks: [],
        window: 1,
        conclusive: isSure,
        ...(isSure ? {} : { reasons: ['sync_stale' as const] }),
      },
    ],
    checked: 1,
    unchecked: conclusive ? 0 : 1,
    reasons: conclusive ? [] : ['rotation_pending'],
    checked_at: '2026-01-01T00:00:00.000Z',
  })

  for (const [conclusive, isSure, exit] of [
    [true, true, EXIT.ok],
    [false, true, EXIT.ok],
    [false, false, EXIT.inconclusive],
  ] as const)
    it(`${exit}, if ${conclusive ? 'everything' : 'not everything'} was checked and the match is ${isSure ? '' : 'not '}sure`, async () => {
      const api = { verify: { words: async () => answer(conclusive, isSure) } }
      const { code } = await call(api as unknown as Partial<Api>, ['verify', ...WRONG])
      assert.equal(code, exit)
    })
})
