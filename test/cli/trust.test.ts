/**
 * The commands of trust, and `verify --public`: their output supports the user’s decisions about
 * keys.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { TrustCard } from '../../src/api/rest/trust-cards.ts'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { preferences, profile } from '../../src/handlers/account.ts'
import { trust, trustCards } from '../../src/handlers/trust-cards.ts'
import { verify } from '../../src/handlers/verify.ts'
import { newWorld, type DeviceUser } from '../world/world.ts'
import { at } from '../world/requests.ts'
import { call } from './calling.ts'
import type { Typed } from './terminal.ts'
import { instead } from '../world/interceptor.ts'

/** A safety number as users compare it: on two lines of six groups. */
const NUMBER = /^ {2}\d{5}( \d{5}){5}\n {2}\d{5}( \d{5}){5}$/m

type Words = readonly [string, ...string[]]
type Answers = Readonly<Record<string, (input: unknown, context: unknown) => Promise<unknown>>>

/** Returns the API of a fixture’s daemon. */
function apiOf(user: DeviceUser): Partial<Api> {
  const bound = (answers: object) =>
    Object.fromEntries(
      Object.entries(answers as Answers).map(([name, answer]) => [
        name,
        (input: unknown) => answer(input, at(user)),
      ]),
    )
  return {
    trustCards: bound(trustCards),
    trust: bound(trust),
    verify: bound(verify),
  } as unknown as Partial<Api>
}

async function people(t: TestContext) {
  const world = await newWorld(t)
  const [ada, bob] = [await world.person('ada'), await world.person('bob')]
  // The first sync signs the name.
  await bob.sync()
  const says =
    (user: DeviceUser) =>
    (words: Words, more: Typed = {}) =>
      call(apiOf(user), words, more)
  return { world, ada, bob, says, result: says(ada) }
}

describe('trust', () => {
  it('follow, list, note, history, metrics, unfollow', async (t) => {
    const { result, bob } = await people(t)
    const followed = await result(['trust follow', 'Bob@example.org', '--note', 'from school'])
    assert.equal(followed.code, EXIT.ok, followed.err)
    const number = NUMBER.exec(followed.out)?.[0] ?? assert.fail(followed.out)
    assert.equal(followed.out, `${bob.id}  calls itself "bob"\n${number}\n`)
    assert.match(followed.err, new RegExp(`countersignd trust confirm ${bob.id}`))
    assert.match(
      (await result(['trust list'])).out,
      /calls itself "bob" +unchanged +never +from school/,
    )
    assert.match(
      (await result(['trust note', bob.id, 'a neighbour'])).out,
      /calls itself "bob": a neighbour/,
    )
    assert.match(
      (await result(['trust note', bob.id, '--clear'])).out,
      /calls itself "bob": no note/,
    )
    const { out } = await result(['trust history', bob.id])
    assert.match(out, /you changed the note\n(.*\n)*.* followed/)
    assert.match(out, /a device was added +bob's/)
    assert.match((await result(['trust metrics'])).out, /^ +1 {2}people you follow\n/)
    assert.equal((await result(['trust unfollow', bob.id])).code, EXIT.ok)
    assert.doesNotMatch((await result(['trust list'])).out, /bob/)
  })

  it('list shows changed keys, and accepts no name that a revoked device signed', async (t) => {
    const { result, bob, world } = await people(t)
    await result(['trust follow', bob.id])
    await profile.update({ body: { display_name: 'Your bank' } }, at(bob))
    world.later()
    await world.reset('bob')
    const { out } = await result(['trust list'])
    assert.match(out, /the server says "bob" \(another name than before\) +CHANGED, not verified/)
    assert.doesNotMatch(out, /Your bank/)
  })

  it('errors for unknown accounts and cards name the remedy', async (t) => {
    const { result, bob } = await people(t)
    for (const [words, expected] of [
      [
        ['trust follow', 'bob'],
        /No one here is called "bob"\. People you follow: none\. .*e-mail address/,
      ],
      [['trust follow', 'eve@example.org'], /No account here has confirmed this mailbox/],
      [['trust confirm', bob.id, '--safety-number', '0'.repeat(60)], /countersignd trust list/],
      [['trust unfollow', bob.id], /countersignd trust list/],
      [['trust history', 'con_x'], /No one here is called "con_x"/],
      [['trust note', bob.id], /--clear/],
      [['trust note', bob.id, 'text', '--clear'], /--clear/],
    ] as const) {
      const { code, out, err } = await result(words)
      assert.deepEqual([code, out], [EXIT.failed, ''], words.join(' '))
      assert.match(err, expected)
    }
  })
})

describe('trust confirm', () => {
  it('shows the same number on both sides, and confirms after the comparison', async (t) => {
    const { result, says, ada, bob } = await people(t)
    await result(['trust follow', bob.id])
    await says(bob)(['trust follow', ada.id])
    const seen: string[] = []
    const person = (shown: string) => {
      seen.push(NUMBER.exec(shown)?.[0] ?? '')
      return 'same'
    }
    const confirmed = await result(['trust confirm', bob.id], { person })
    await says(bob)(['trust confirm', ada.id], { person })
    assert.equal(confirmed.code, EXIT.ok, confirmed.err)
    assert.match(confirmed.err, /Confirmed the keys of bob/)
    assert.notEqual(seen[0], '')
    assert.equal(seen[0], seen[1])
    assert.match((await result(['trust list'])).out, /  bob +confirmed/)
  })

  for (const answer of ['no', '', null])
    it(`confirms nothing on the answer ${JSON.stringify(answer)}`, async (t) => {
      const { result, bob } = await people(t)
      await result(['trust follow', bob.id])
      const { code, err } = await result(['trust confirm', bob.id], { person: () => answer })
      assert.equal(code, EXIT.failed)
      assert.match(err, /Nothing was confirmed/)
      assert.match((await result(['trust list'])).out, /calls itself "bob" +unchanged/)
    })

  it('does not confirm keys that change during the comparison', async (t) => {
    const { result, bob, world } = await people(t)
    await result(['trust follow', bob.id])
    world.later()
    const person = async () => {
      await world.reset('bob')
      return 'same'
    }
    const { code, err } = await result(['trust confirm', bob.id], { person })
    assert.equal(code, EXIT.failed)
    assert.match(err, /not the current safety number/)
    assert.match((await result(['trust list'])).out, /CHANGED/)
  })

  it('list, follow and note print the safety number under its card', async (t) => {
    const { result, bob, world } = await people(t)
    await result(['trust follow', (await world.person('cy')).id])
    for (const words of [
      ['trust follow', bob.id],
      ['trust list'],
      ['trust note', bob.id, 'a neighbour'],
    ] as const) {
      const { out } = await result(words)
      const { items } = JSON.parse((await result(['trust list', '--json'])).out)
      const card = items.find(({ user_id }: TrustCard) => user_id === bob.id) as TrustCard
      const lines = out.split('\n')
      const at = lines.findIndex((line) => line.startsWith(bob.id))
      assert.equal(
        lines
          .slice(at + 1, at + 3)
          .map((line) => line.trim())
          .join(' '),
        card.safety_number,
      )
    }
  })

  it('without a terminal accepts the compared number, in any spacing', async (t) => {
    const { result, bob, world } = await people(t)
    const numberIn = ({ out }: { out: string }) => NUMBER.exec(out)?.[0] ?? assert.fail(out)
    const compared = numberIn(await result(['trust follow', bob.id]))
    const confirm = (number: string) => result(['trust confirm', bob.id, '--safety-number', number])
    const refused = await result(['trust confirm', bob.id], { input: 'same\n' })
    assert.equal(refused.code, EXIT.failed)
    assert.match(refused.err, /--safety-number/)
    assert.equal((await confirm(compared)).code, EXIT.ok)
    assert.equal((await confirm(compared.replace(/\s/g, ''))).code, EXIT.ok)
    assert.match((await confirm('12345')).err, /not the current safety number/)
    world.later()
    await world.reset('bob')
    assert.match((await confirm(compared)).err, /not the current safety number/)
    const now = numberIn(await result(['trust list']))
    assert.equal((await confirm(now)).code, EXIT.ok)
  })
})

describe('verify --public', () => {
  it('names the account, and the account server as the only source', async (t) => {
    const { result, bob } = await people(t)
    await preferences.update({ body: { public_code: true } }, at(bob))
    const code = (await profile.read({}, at(bob))).public_code
    const words = (code?.words ?? '').split(' ')
    const found = await result(['verify', '--public', ...words])
    assert.equal(found.code, EXIT.ok, found.err)
    assert.equal(
      found.out,
      `The public code of "bob", account ${bob.id}. Only the account server vouches for this.\n`,
    )
    assert.equal((await result(['verify', ...words])).code, EXIT.inconclusive)
    const piped = await result(['verify', '--public'], { input: code?.words ?? '' })
    assert.equal(piped.out, found.out)
    await preferences.update({ body: { public_code: false } }, at(bob))
    const nobody = await result(['verify', '--public', ...words])
    assert.equal(nobody.code, EXIT.inconclusive, 'Ada knows nobody whom her device could check')
    assert.match(nobody.out, /^Inconclusive: found no one, but/)
  })

  it('with no match, and everything checked', async () => {
    const api = {
      verify: { public: async () => ({ found: false, conclusive: true, matches: [] }) },
    } as unknown as Partial<Api>
    const { code, out } = await call(api, ['verify', '--public', 'matador', 'carload', 'recede'])
    assert.equal(code, EXIT.notVerified)
    assert.match(out, /^Found no one/)
  })

  const profileOf = (id: string) => ({
    profile: {
      id,
      display_name: 'Bob\u001b[2J',
      handle: 'bob',
      headline: 'Baker\u001b[2J',
      kind: 'person' as const,
    },
    window: 1,
  })
  const stamp = {
    issuer: 'acc_x',
    signed_at: '2026-01-01T00:00:00.000Z',
    received_at: '2026-01-01T00:00:00.000Z',
    verification_url: 'https://countersign.test/s/stm_x',
  }
  for (const [what, answer, code, lines] of [
    [
      'two accounts',
      { accounts: [profileOf('acc_x'), profileOf('acc_y')], stamps: [] },
      EXIT.inconclusive,
      [
        /^Several people have these words\. Ask/,
        /of "Bob\ufffd\[2J" \(bob, "Baker\ufffd\[2J"\), account acc_x/,
        /acc_y/,
      ],
    ],
    [
      'a stamp',
      { accounts: [], stamps: [{ id: 'stm_x', stamp }] },
      EXIT.inconclusive,
      [/^A stamp by acc_x .* Check the stamp at https:\/\/countersign\.test\/s\/stm_x$/],
    ],
  ] as const)
    it(`with ${what}`, async (t) => {
      const { ada, says } = await people(t)
      const user = ada.restart(
        instead('lookups', 'create', () => async () => structuredClone(answer) as never),
      )
      const result = await says(user)(['verify', '--public', 'matador', 'carload', 'recede'])
      assert.equal(result.code, code)
      const receivedLines = result.out.trimEnd().split('\n')
      assert.equal(receivedLines.length, lines.length)
      for (const [i, line] of lines.entries()) assert.match(receivedLines[i] ?? '', line)
    })
})
