/**
 * Tests the public code at the daemon, and the lookup of words.
 * Words that this device does not know are looked up at the account server.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { PublicProfile } from '../../src/api/rest/profiles.ts'
import { LABEL, ZERO_HEAD, codeKey, codeReader, windowOf } from '../../src/crypto/code.ts'
import { newId, parseId } from '../../src/crypto/encoding/id.ts'
import { parseWords, wordsAt } from '../../src/crypto/words.ts'
import { AppError } from '../../src/errors.ts'
import { guestCodes } from '../../src/handlers/guest-codes.ts'
import { preferences, profile } from '../../src/handlers/account.ts'
import { trust } from '../../src/handlers/trust-cards.ts'
import { status } from '../../src/handlers/status.ts'
import { verificationLog, verify } from '../../src/handlers/verify.ts'
import { MINUTE, keyOf } from '../device/bench.ts'
import { newWorld, type DeviceUser, type World } from '../world/world.ts'
import { at } from '../world/requests.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const NOBODYS = 'matador carload recede'

async function people(t: TestContext) {
  const world = await newWorld(t)
  return { world, ada: await world.person('ada'), bob: await world.person('bob') }
}

const switchTo = (user: DeviceUser, public_code: boolean) =>
  preferences.update({ body: { public_code } }, at(user))
const codeOf = async (user: DeviceUser) => (await profile.read({}, at(user))).public_code
const isActive = async (user: DeviceUser) => (await status.read({}, at(user))).global_key_active
const lookUp = (user: DeviceUser, words: string, machine: Account | null = null) =>
  verify.public({ body: { words } }, at(user, machine))
const logged = ({ state }: DeviceUser) =>
  state.verifications.page(50, null).map(({ method, outcome }) => `${method} ${outcome}`)

describe('the public code', () => {
  it('is created on the device, and deleted when it is switched off', async (t) => {
    const { world, ada } = await people(t)
    assert.deepEqual([await codeOf(ada), await isActive(ada)], [null, false])
    assert.equal((await switchTo(ada, true)).public_code, true)
    const code = await codeOf(ada)
    const { k } = await ada.account().publicCode.read({})
    const subject = parseId('acc_', ada.id)
    const key = codeKey({
      label: LABEL.public,
      key: Buffer.from(k ?? '', 'base64url'),
      subject,
      epoch: 1,
      head: ZERO_HEAD,
    })
    const window = windowOf(world.clock.ms)
    assert.deepEqual(code, {
      words: wordsAt(codeReader(key)(window, subject)).join(' '),
      valid_until: new Date((window + 1) * MINUTE).toISOString(),
    })
    const renamed = await profile.update({ body: { headline: 'Hello' } }, at(ada))
    assert.deepEqual([renamed.headline, renamed.public_code], ['Hello', code])
    assert.equal(await isActive(ada), true)
    world.later()
    assert.notEqual((await codeOf(ada))?.words, code.words)
    // A second call changes nothing.
    await switchTo(ada, true)
    assert.equal((await ada.account().publicCode.read({})).k, k)

    assert.equal((await switchTo(ada, false)).public_code, false)
    assert.deepEqual([await codeOf(ada), await isActive(ada)], [null, false])
    assert.equal(ada.device().vault.has(ada.id), false)
    await switchTo(ada, true)
    assert.notEqual((await ada.account().publicCode.read({})).k, k)
  })

  it('is the same on all devices of the account, switched on any of them', async (t) => {
    const { world, ada } = await people(t)
    const second = await world.further(ada, 'ada 2')
    await switchTo(ada, true)
    const code = await codeOf(ada)
    assert.notEqual(code, null)
    assert.deepEqual(await codeOf(second), code)
    assert.equal(await isActive(second), true)
    // The second device switches it off and on, which makes a new secret.
    await switchTo(second, false)
    await switchTo(second, true)
    const anew = await codeOf(second)
    assert.notDeepEqual(anew, code)
    assert.deepEqual(await codeOf(ada), anew)
    await switchTo(second, false)
    assert.deepEqual([await codeOf(ada), await isActive(ada)], [null, false])
  })

  it('other preferences need no secret', async (t) => {
    const { ada } = await people(t)
    const changed = await preferences.update({ body: { locale: 'de' } }, at(ada))
    assert.deepEqual([changed.locale, changed.public_code], ['de', false])
    assert.equal((await ada.account().publicCode.read({})).k, null)
  })

  it('stays off if the account server fails halfway', async (t) => {
    const { ada } = await people(t)
    const away = () => () => Promise.reject(new AppError('backend_unavailable', 'Away.'))
    for (const between of [
      instead('publicCode', 'create', away),
      instead('preferences', 'update', away),
    ]) {
      const far = ada.restart(between)
      await rejects('backend_unavailable', switchTo(far, true))
      assert.deepEqual([await codeOf(far), await isActive(far)], [null, false])
    }
    await switchTo(ada, true)
    assert.notEqual(await codeOf(ada), null)
  })

  it('an invalid secret is not stored', async (t) => {
    const { ada } = await people(t)
    for (const k of ['', 'x', 'A'.repeat(44), '='.repeat(43)]) {
      const far = ada.restart(instead('publicCode', 'read', () => async () => ({ k })))
      await rejects('backend_error', codeOf(far))
      assert.equal(await isActive(far), false)
    }
  })

  it('a machine account can read the preference, and cannot switch the code on', async (t) => {
    const { world, ada } = await people(t)
    const machine = world.server.as({ account: ada.id, device: null, session: null, token: 'x' })
    await rejects(
      'no_device',
      preferences.update({ body: { public_code: true } }, at(ada, machine)),
    )
    assert.equal((await profile.read({}, at(ada, machine))).public_code, null)
    assert.equal(ada.device().vault.has(ada.id), false)
  })
})

/**
 * Adds Bob to a connection of Ada’s; returns a function for the words that he reads there now.
 */
function connection(world: World, user: DeviceUser, bob: string): () => string {
  const id = newId('con_', world.clock.ms)
  const [key, head] = [keyOf(id), keyOf('head')]
  const row = {
    id,
    name: 'Bank',
    epoch: 1,
    head,
    members: [user.id, bob].map((user_id) => ({ user_id, display_name: user_id })),
    hold: null,
    updated_at: 1,
  }
  user.state.connections.put(row)
  const { vault, codes } = user.device()
  vault.put(id, key)
  codes.putConnection(row)
  const subject = parseId('con_', id)
  const read = codeReader(codeKey({ label: LABEL.connection, key, subject, epoch: 1, head }))
  return () => wordsAt(read(windowOf(world.clock.ms), parseId('acc_', bob))).join(' ')
}

describe('a public look-up of words', () => {
  /** Restarts Ada’s device; records what it sends to the account server. */
  function counted(ada: DeviceUser) {
    const sent: unknown[] = []
    const user = ada.restart(
      instead('lookups', 'create', (honest) => async (input) => {
        sent.push(input)
        return honest(input)
      }),
    )
    return { user, sent }
  }
  const nothing = { found: false, ambiguous: false, matches: [] }

  it('of an account with a public code: found at the account server, from the minute of switching on', async (t) => {
    const { world, ada, bob } = await people(t)
    await switchTo(bob, true)
    const { words } = (await codeOf(bob)) ?? assert.fail('no code')
    const { user, sent } = counted(ada)
    await user.sync()
    connection(world, user, bob.id)
    const answer = await lookUp(user, words.toUpperCase())
    assert.partialDeepStrictEqual(answer, {
      found: true,
      conclusive: true,
      ambiguous: false,
      matches: [
        {
          kind: 'account',
          assurance_level: 'public_code',
          profile: { id: bob.id, display_name: 'bob' },
        },
      ],
      checked_at: new Date(world.clock.ms).toISOString(),
    })
    assert.deepEqual(sent, [{ body: { words: parseWords(words, 3).indices } }])
    assert.equal(logged(user)[0], 'public verified')
    await switchTo(bob, false)
    assert.partialDeepStrictEqual(await lookUp(user, words), { ...nothing, conclusive: true })
    assert.equal(logged(user)[0], 'public not_verified')
  })

  it('that match nothing, with incomplete local data: inconclusive', async (t) => {
    const { world, ada, bob } = await people(t)
    assert.partialDeepStrictEqual(await lookUp(ada, NOBODYS), { ...nothing, conclusive: false })
    assert.deepEqual(logged(ada), ['public inconclusive'])
    await ada.sync()
    assert.equal((await lookUp(ada, NOBODYS)).conclusive, false, 'nothing is cached')
    connection(world, ada, bob.id)
    assert.equal((await lookUp(ada, NOBODYS)).conclusive, true)
    world.later(8 * 24 * 60)
    assert.equal((await lookUp(ada, NOBODYS)).conclusive, false, 'not synced for a week')
    assert.deepEqual(
      logged(ada).map((line) => line.split(' ')[1]),
      ['inconclusive', 'not_verified', 'inconclusive', 'inconclusive'],
    )
    const { inconclusive_30d, verifications_30d } = await trust.metrics({}, at(ada))
    assert.deepEqual([inconclusive_30d, verifications_30d], [3, 4])
  })

  it('counts as a wrong try in a row only if no account here or at the server matches', async (t) => {
    const { world, ada, bob } = await people(t)
    await ada.sync()
    const says = connection(world, ada, bob.id)
    for (const user of [ada, bob]) await switchTo(user, true)
    const inRow = () => ada.state.wrongTries.of(['tok_1'], false)[0]?.in_row ?? 0
    const tried = async (words: string, count: number, user = ada) => {
      await lookUp(user, words).catch(() => undefined)
      assert.equal(inRow(), count)
    }
    await tried(NOBODYS, 1)
    await tried((await codeOf(bob))?.words ?? '', 1)
    await tried((await codeOf(ada))?.words ?? '', 1)
    const away = ada.restart(
      instead('lookups', 'create', () => async () => {
        throw new AppError('backend_unavailable', 'Away.')
      }),
    )
    await tried(NOBODYS, 2, away)
    await tried(says(), 0)
  })

  it('of a connection: sends nothing, and counts once', async (t) => {
    const { world, ada, bob } = await people(t)
    const { user, sent } = counted(ada)
    await user.sync()
    const says = connection(world, user, bob.id)
    const answer = await lookUp(user, says())
    assert.deepEqual([answer.found, answer.ambiguous], [true, false])
    assert.partialDeepStrictEqual(answer.matches, [
      { kind: 'connection', assurance_level: 'connection', match: { member_id: bob.id } },
    ])
    assert.deepEqual([answer.conclusive, answer.replayed, answer.echo], [true, false, false])
    // Used words are not evidence a second time, here or at the account server. They still count
    // as known.
    const replayed = { ...nothing, conclusive: false, replayed: true, echo: false }
    assert.partialDeepStrictEqual(await lookUp(user, says()), {
      ...replayed,
      first_verified_at: answer.checked_at,
    })
    assert.equal(logged(user)[0], 'public not_verified')
    const again = await verify.words({ body: { words: says() } }, at(user))
    assert.deepEqual([again.verified, again.replayed], [false, true])
    world.later()
    const words = says()
    await verify.words({ body: { words } }, at(user))
    assert.partialDeepStrictEqual(await lookUp(user, words), replayed)
    assert.deepEqual(sent, [])
  })

  it('of the own words: sends nothing, and matches no account', async (t) => {
    const { world, ada, bob } = await people(t)
    await switchTo(ada, true)
    const { user, sent } = counted(ada)
    await user.sync()
    connection(world, user, bob.id)
    const id = user.state.connections.all()[0]?.id ?? ''
    const echo = { ...nothing, conclusive: false, replayed: false, echo: true }
    assert.partialDeepStrictEqual(await lookUp(user, user.words(id) ?? ''), echo)
    assert.equal(logged(user)[0], 'public echo')
    assert.deepEqual(sent, [])
    const { words } = (await codeOf(user)) ?? assert.fail('no code')
    assert.partialDeepStrictEqual(await lookUp(user, words), echo)
    assert.equal(logged(user)[0], 'public echo')
    assert.equal(sent.length, 1)
    assert.equal((await lookUp(user, NOBODYS)).conclusive, true)
  })

  it('of a guest: sends nothing; after its end the words match nothing', async (t) => {
    const { world, ada } = await people(t)
    const { user, sent } = counted(ada)
    const member = await user.account().externalMembers.create({
      body: { display_name: 'Maria Muster' },
    })
    const body = { label: 'Plumber', expires_in: 3600, external_member_id: member.id }
    const { id, url } = await guestCodes.create({ body }, at(user))
    const subject = parseId('gst_', id)
    const key = Buffer.from(new URL(url).hash.slice(1), 'base64url')
    const read = codeReader(
      codeKey({ label: LABEL.guest, key, subject, epoch: 1, head: ZERO_HEAD }),
    )
    const says = () => wordsAt(read(windowOf(world.clock.ms), subject)).join(' ')
    const { matches } = await lookUp(user, says())
    const external_member = { id: member.id, display_name: 'Maria Muster' }
    assert.partialDeepStrictEqual(matches, [
      {
        kind: 'guest',
        assurance_level: 'guest',
        match: { display_name: 'Plumber', external_member },
      },
    ])
    assert.equal(sent.length, 0)
    world.later(60)
    assert.partialDeepStrictEqual(await lookUp(user, says()), nothing)
    assert.equal(sent.length, 1)
  })

  it('that are not on the list, or not three: rejected like in verify, and nothing is sent', async (t) => {
    const { ada } = await people(t)
    const { user, sent } = counted(ada)
    await rejects('word_count', lookUp(user, 'matador carload'))
    await rejects('unknown_word', lookUp(user, 'matador carload recdee'))
    assert.deepEqual([sent, logged(user)], [[], []])
  })

  it('is rate-limited', async (t) => {
    const { ada } = await people(t)
    const { user, sent } = counted(ada)
    for (let i = 0; i < 20; i++) await lookUp(user, NOBODYS)
    await rejects('rate_limited', lookUp(user, NOBODYS))
    assert.equal(sent.length, 20)
  })

  const bob: PublicProfile = {
    id: newId('acc_', 1),
    display_name: 'Bob',
    handle: 'bob',
    headline: 'Baker in Ulm',
    kind: 'person',
  }
  const eve = { ...bob, id: newId('acc_', 2), display_name: 'Eve' }
  const stamp = {
    issuer: bob.id,
    signed_at: '2026-01-01T00:00:00.000Z',
    received_at: '2026-01-01T00:00:00.000Z',
    verification_url: 'https://countersign.test/s/x',
  }
  const [account, other] = [bob, eve].map((one) => ({ profile: one, window: 1 }))
  for (const [what, accounts, stamps, kinds, outcome] of [
    ['an account', [account], [], ['account public_code'], 'verified'],
    [
      'one account in two minutes',
      [account, { ...account, window: 2 }],
      [],
      ['account public_code'],
      'verified',
    ],
    [
      'two accounts',
      [account, other],
      [],
      ['account public_code', 'account public_code'],
      'inconclusive',
    ],
    [
      'a stamp, for which three words are only a hint',
      [],
      [stamp],
      ['stamp device'],
      'inconclusive',
    ],
    [
      'an account and a stamp',
      [account],
      [stamp],
      ['account public_code', 'stamp device'],
      'inconclusive',
    ],
  ] as const)
    it(`of ${what}`, async (t) => {
      const { ada } = await people(t)
      const answer = {
        accounts: [...accounts] as { profile: PublicProfile; window: number }[],
        stamps: stamps.map((one) => ({ id: newId('stm_', 1), stamp: one })),
        echo: false,
      }
      const user = ada.restart(instead('lookups', 'create', () => async () => answer))
      const { found: isFound, ambiguous, matches } = await lookUp(user, NOBODYS)
      assert.deepEqual([isFound, ambiguous], [kinds.length > 0, kinds.length > 1])
      assert.deepEqual(
        matches.map(({ kind, assurance_level }) => `${kind} ${assurance_level}`),
        kinds,
      )
      assert.equal(logged(user)[0], `public ${outcome}`)
      await user.sync()
      const { items } = await verificationLog.list({ limit: 50 }, at(user))
      const found = answer.accounts.map(({ profile: { id, display_name } }) => {
        return { kind: 'account', speaker: 'other', user_id: id, display_name }
      })
      const { issuer: user_id, verification_url } = stamp
      const marks = stamps.map(() => {
        return { kind: 'stamp', speaker: 'other', user_id, verification_url }
      })
      const once = new Map([...found, ...marks].map((one) => [JSON.stringify(one), one]))
      assert.deepEqual(
        items[0]?.matches.map((match) => ({ ...match, window: 0 })),
        [...once.values()].map((match) => ({ ...match, window: 0 })),
      )
    })

  it('by a machine account: goes to the account server directly, without data of this device', async (t) => {
    const { world, ada, bob: other } = await people(t)
    const says = connection(world, ada, other.id)
    await switchTo(other, true)
    const { words } = (await codeOf(other)) ?? assert.fail('no code')
    const machine = world.server.as({ account: ada.id, device: null, session: null, token: 'x' })
    assert.equal((await lookUp(ada, words, machine)).matches[0]?.profile?.id, other.id)
    const unknown = await lookUp(ada, says(), machine)
    assert.partialDeepStrictEqual(unknown, { ...nothing, conclusive: false })
    await rejects('word_count', lookUp(ada, 'matador', machine))
    assert.deepEqual(logged(ada), [])
  })
})
