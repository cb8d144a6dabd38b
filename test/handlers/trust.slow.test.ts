/**
 * Tests trust cards at the daemon.
 * The cases cover names that stay, keys that this device checks, and a dishonest server.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { TrustCard } from '../../src/api/rest/trust-cards.ts'
import { every } from '../../src/api/cursor.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { logEntry, newDevice } from '../crypto/builders.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { addDevice, resetLog } from '../../src/crypto/logs/key-log-entries.ts'
import { AppError } from '../../src/errors.ts'
import { profile } from '../../src/handlers/account.ts'
import { trust, trustCards } from '../../src/handlers/trust-cards.ts'
import { keyOf } from '../device/bench.ts'
import { newWorld, type DeviceUser, type World } from '../world/world.ts'
import { at, confirmAt } from '../world/requests.ts'
import { paged } from '../world/paged.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const NUMBER = /^\d{5}( \d{5}){11}$/

const follow = (user: DeviceUser, user_id: string) =>
  trustCards.create({ body: { user_id } }, at(user))
const update = (user: DeviceUser, id: string, body: { note?: string } = {}) =>
  trustCards.update({ id, body }, at(user))
const listed = async (user: DeviceUser): Promise<TrustCard[]> =>
  (await trustCards.list({ limit: 50 }, at(user))).items
const first = async (user: DeviceUser): Promise<TrustCard> =>
  (await listed(user))[0] ?? assert.fail('nobody is followed')
const rename = (user: DeviceUser, display_name: string) =>
  profile.update({ body: { display_name } }, at(user))

interface Two {
  readonly world: World
  readonly ada: DeviceUser
  readonly bob: DeviceUser
  readonly card: TrustCard
}

/** Ada follows Bob. */
async function two(t: TestContext): Promise<Two> {
  const world = await newWorld(t)
  const [ada, bob] = [await world.person('ada'), await world.person('bob')]
  world.later()
  return { world, ada, bob, card: await follow(ada, bob.id) }
}

/** Returns the key log of an account as the account server stores it. */
const logOf = async (user: DeviceUser, id: string) =>
  (await user.account().keyLogs.read({ account: id })).entries

/** Restarts Ada’s device at a server that shows other entries of Bob’s key log. */
const shown = (ada: DeviceUser, bob: string, entries: readonly string[] | null): DeviceUser =>
  ada.restart(
    instead('keyLogs', 'read', (honest) => async (input) => {
      if (input.account !== bob) return honest(input)
      if (entries === null) throw new AppError('not_found', 'There is no such account.')
      return { ...paged(entries, input), seal_keys: [] }
    }),
  )

describe('a trust card', () => {
  it('shows the same safety number on both sides', async (t) => {
    const { ada, bob, card } = await two(t)
    const other = await follow(bob, ada.id)
    assert.match(card.safety_number ?? '', NUMBER)
    assert.equal(card.safety_number, other.safety_number)
    assert.deepEqual([card.display_name, card.name_changed], ['bob', false])
    assert.deepEqual([card.key_status, other.key_status], ['unchanged', 'unchanged'])
    assert.deepEqual(await listed(ada), [card])
  })

  it('keeps its number when a further device is added', async (t) => {
    const { world, ada, bob, card } = await two(t)
    await follow(bob, ada.id)
    await confirmAt(ada, bob.id)
    await world.further(bob, 'bob 2')
    const [mine, theirs] = [await update(ada, bob.id), await update(bob, ada.id)]
    assert.equal(mine.safety_number, theirs.safety_number)
    assert.equal(mine.safety_number, card.safety_number)
    assert.equal(mine.key_status, 'confirmed')
  })

  it('keeps the confirmed name, until the user confirms another', async (t) => {
    const { world, ada, bob } = await two(t)
    await bob.sync()
    world.later(2 * 60)
    await ada.sync()
    const named = async () => {
      const { display_name, name_source, own_name, name_changed } = await first(ada)
      return [display_name, name_source, own_name, name_changed]
    }
    assert.deepEqual(await named(), ['bob', 'self', 'bob', false])
    await confirmAt(ada, bob.id)
    assert.deepEqual(await named(), ['bob', 'confirmed', 'bob', false])
    await rename(bob, 'Your bank')
    world.later(2 * 60)
    await ada.sync()
    assert.deepEqual(await named(), ['bob', 'confirmed', 'Your bank', true])
    await confirmAt(ada, bob.id)
    assert.deepEqual(await named(), ['Your bank', 'confirmed', 'Your bank', false])
    await trustCards.delete({ id: bob.id }, at(ada))
    await follow(ada, bob.id)
    assert.deepEqual(await named(), ['Your bank', 'self', 'Your bank', false])
  })

  it('shows the new name of a renamed member, when followed or followed again', async (t) => {
    const { ada, bob } = await two(t)
    ada.state.connections.put({
      id: newId('con_', 1),
      name: 'Bank',
      epoch: 1,
      head: keyOf('head'),
      members: [{ user_id: bob.id, display_name: 'bob' }],
      hold: null,
      updated_at: 1,
    })
    await rename(bob, 'Your bank')
    await trustCards.delete({ id: bob.id }, at(ada))
    const { display_name, name_source, name_changed } = await follow(ada, bob.id)
    assert.deepEqual([display_name, name_source, name_changed], ['Your bank', 'self', true])
  })

  it('without keys: no number, nothing to confirm; the first keys are pinned', async (t) => {
    const { ada, bob } = await two(t)
    const none = shown(ada, bob.id, null)
    none.state.trust.delete(bob.id)
    none.state.logs.delete('keylog', bob.id)
    const card = await first(none)
    assert.deepEqual([card.safety_number, card.key_status], [null, 'unchanged'])
    await rejects('invalid_state', confirmAt(none, bob.id), { state: 'no_keys', says: /no keys/ })
    const seen = await update(ada.restart(), bob.id)
    assert.match(seen.safety_number ?? '', NUMBER)
    assert.equal(seen.key_status, 'unchanged')
  })

  it('counts a verification here before the account server has it', async (t) => {
    const { world, ada, bob } = await two(t)
    const when = new Date(world.clock.ms).toISOString()
    const match = { kind: 'connection', member_id: bob.id, display_name: 'bob', window: 1 } as const
    for (const [outcome, speaker] of [
      ['verified', 'other'],
      ['echo', 'self'],
      ['inconclusive', 'other'],
    ] as const) {
      ada.state.verifications.insert({
        id: newId('ver_', world.clock.ms),
        at: outcome === 'verified' ? when : '2099-01-01T00:00:00.000Z',
        method: 'local',
        outcome,
        matches: [{ ...match, speaker }],
        caller: null,
      })
    }
    assert.equal((await first(ada)).last_verified_at, when)
    const { verifications_30d, inconclusive_30d } = await trust.metrics({}, at(ada))
    assert.deepEqual([verifications_30d, inconclusive_30d], [3, 1])
    const { items } = await ada.account().trustCards.list({})
    assert.equal(items[0]?.last_verified_at, null)
  })

  it('without changes is listed without fetching keys', async (t) => {
    const { ada } = await two(t)
    let asked = 0
    const counting = ada.restart(
      instead('keyLogs', 'read', (honest) => async (input) => {
        asked++
        return honest(input)
      }),
    )
    await listed(counting)
    await trust.metrics({}, at(counting))
    assert.equal(asked, 0)
  })
})

describe('all devices of an account were replaced', () => {
  it('the next look shows it, until the new number was compared', async (t) => {
    const { world, ada, bob, card } = await two(t)
    await confirmAt(ada, bob.id)
    world.later()
    const fresh = await world.reset('bob')
    await follow(fresh, ada.id).catch(() => undefined)
    const changed = await first(ada)
    assert.equal(changed.key_status, 'changed_unverified')
    assert.notEqual(changed.safety_number, card.safety_number)
    assert.equal(changed.safety_number, (await update(fresh, ada.id)).safety_number)
    assert.equal((await update(ada, bob.id, { note: 'called?' })).key_status, 'changed_unverified')
    assert.equal((await confirmAt(ada, bob.id)).key_status, 'confirmed')
    assert.equal((await first(ada)).key_status, 'confirmed')
  })

  for (const reader of ['no request', 'another reader of the card', 'a sync'])
    it(`between comparison and confirmation, seen by ${reader}: rejected`, async (t) => {
      const { world, ada, bob } = await two(t)
      const { safety_number: compared } = await first(ada)
      const confirmed = { confirmed: true, safety_number: compared ?? '' } as const
      world.later()
      await world.reset('bob')
      if (reader === 'a sync') {
        const { refreshTrust } = await import('../../src/device/trust/trust.ts')
        await refreshTrust({ ...ada.device(), log: () => undefined }, ada.account(), true)
      }
      if (reader === 'another reader of the card') await listed(ada)
      const late = trustCards.update({ id: bob.id, body: confirmed }, at(ada))
      await rejects('conflict', late, { says: /not the current safety number/ })
      const { key_status, safety_number } = await first(ada)
      assert.equal(key_status, 'changed_unverified')
      assert.notEqual(safety_number, compared)
      assert.equal((await confirmAt(ada, bob.id)).key_status, 'confirmed')
    })

  it('a confirmation needs the number', async (t) => {
    const { ada, bob, card } = await two(t)
    const number = card.safety_number ?? assert.fail('no number')
    for (const body of [{ confirmed: true } as const, { safety_number: number }])
      await rejects('validation_failed', trustCards.update({ id: bob.id, body }, at(ada)))
    assert.equal((await first(ada)).key_status, 'unchanged')
  })

  it('a second reset is detected like the first, by a list and by a sync', async (t) => {
    const { refreshTrust } = await import('../../src/device/trust/trust.ts')
    const { world, ada, bob } = await two(t)
    for (const how of ['list', 'sync']) {
      for (let reset = 0; reset < 2; reset++) {
        world.later()
        await world.reset('bob')
        if (how === 'sync')
          await refreshTrust({ ...ada.device(), log: () => undefined }, ada.account(), true)
        else await listed(ada)
        const { entries } = await ada.account().keyLogs.read({ account: bob.id })
        assert.equal(ada.state.logs.head('keylog', bob.id)?.entry, entries.at(-1))
      }
    }
  })

  it('a confirmation on one device does not count on another', async (t) => {
    const { world, ada, bob } = await two(t)
    const second = await world.further(ada, 'ada 2')
    assert.equal((await first(second)).key_status, 'unchanged')
    world.later()
    await world.reset('bob')
    await listed(ada)
    await confirmAt(ada, bob.id)
    const { items } = await second.account().trustCards.list({})
    assert.equal(items[0]?.key_status, 'confirmed')
    assert.equal((await update(second, bob.id)).key_status, 'changed_unverified')
    assert.equal((await confirmAt(second, bob.id)).key_status, 'confirmed')
  })
})

describe('a dishonest server', () => {
  /** The key logs that a dishonest server shows for Bob. This device has seen `real`. */
  const LIES: Readonly<
    Record<string, [reason: string, (real: readonly string[], bob: string) => string[] | null]>
  > = {
    'another history': ['account_mismatch', (_, bob) => forged(bob)],
    'another beginning and another end': [
      'account_mismatch',
      (real, bob) => [...forged(bob, 1), ...real.slice(1, -1)],
    ],
    'an older log': ['rollback', (real) => real.slice(0, -1)],
    'no log': ['rollback', () => null],
    'an empty log': ['empty', () => []],
    'a repeated entry': ['duplicate_entry', (real) => [...real, real.at(-1) as string]],
    'a malformed log': ['respelt_base64', (real) => [...real, 'x.y.z']],
  }

  /** Returns a key log for an account, made with devices of the server’s own. */
  function forged(account: string, length = 2): string[] {
    const own = newDevice()
    const entries = [logEntry(account, [], 'add', own, own)]
    while (entries.length < length)
      entries.push(logEntry(account, entries, 'add', newDevice(), own))
    return entries
  }

  for (const [lie, [reason, entriesOf]] of Object.entries(LIES))
    it(`shows ${lie} (${reason}): rejected, and nothing can be confirmed`, async (t) => {
      const { world, ada, bob } = await two(t)
      await world.further(bob, 'bob 2')
      await confirmAt(ada, bob.id)
      const { safety_number } = await first(ada)
      const far = shown(ada, bob.id, entriesOf(await logOf(ada, bob.id), bob.id))
      const card = await update(far, bob.id)
      assert.deepEqual([card.key_status, card.safety_number], ['changed_unverified', safety_number])
      assert.equal(far.state.trust.get(bob.id)?.refused, reason)
      await rejects('conflict', confirmAt(far, bob.id), {
        says: new RegExp(`\\(${reason}\\).*dishonest`),
      })
      // The server answers honestly again.
      assert.equal(
        (await first(far.restart((account) => account))).key_status,
        'changed_unverified',
      )
      const honest = ada.restart((account) => account)
      assert.equal((await update(honest, bob.id)).key_status, 'confirmed')
    })

  it('makes a reset of its own: unverified, and the number is not Bob’s', async (t) => {
    const { ada, bob } = await two(t)
    await follow(bob, ada.id)
    const real = await logOf(ada, bob.id)
    const log = verifyKeyLog(bob.id, real)
    const keys = newDeviceKeys()
    const reset = resetLog({ log, device: newId('dev_', 1), keys, at: 1 })
    const far = shown(ada, bob.id, [...real, reset])
    // The server does not announce the reset.
    const card = await update(far, bob.id)
    assert.equal(card.key_status, 'changed_unverified')
    assert.notEqual(card.safety_number, (await first(bob)).safety_number)
    // For this device, the true log is now an older one.
    assert.equal(
      (
        await update(
          ada.restart((account) => account),
          bob.id,
        )
      ).key_status,
      'changed_unverified',
    )
  })

  it('omits a card for a while: the pinned keys stay', async (t) => {
    const { ada, bob, world } = await two(t)
    const { refreshTrust } = await import('../../src/device/trust/trust.ts')
    const nobody = ada.restart(
      instead('trustCards', 'list', () => async () => ({ items: [], next_cursor: null })),
    )
    await refreshTrust({ ...nobody.device(), log: () => undefined }, nobody.account(), true)
    world.later()
    await world.reset('bob')
    assert.equal((await first(ada)).key_status, 'changed_unverified')
    assert.equal((await first(ada)).user_id, bob.id)
  })
})

describe('the history of a card', () => {
  const history = (user: DeviceUser, id: string, limit = 50) =>
    every(({ cursor }) =>
      trustCards.history({ id, limit, ...(cursor === undefined ? {} : { cursor }) }, at(user)),
    )

  it('contains actions and changes of keys, the same with pages of any size', async (t) => {
    const { world, ada, bob } = await two(t)
    world.later()
    const second = await world.further(bob, 'bob 2')
    world.later()
    await update(ada, bob.id, { note: 'a note' })
    world.later()
    await confirmAt(ada, bob.id)
    world.later()
    await bob.revoke(second.deviceId)
    world.later()
    await world.reset('bob')
    world.later()
    await update(ada, bob.id, { note: 'another' })
    const whole = await history(ada, bob.id)
    assert.deepEqual(
      whole.map(({ event, detail }) => [event, detail]),
      [
        ['note_changed', null],
        ['keys_changed', "bob's"],
        ['key_revoked', null],
        ['confirmed', null],
        ['note_changed', null],
        ['key_added', null],
        ['followed', null],
        ['key_added', null],
      ],
    )
    const times = whole.map((one) => one.at)
    assert.deepEqual(times, times.toSorted().reverse())
    for (const limit of [1, 2, 3, 4, 5, 7, 8, 9])
      assert.deepEqual(await history(ada, bob.id, limit), whole, `by ${limit}`)
    for (const limit of [1, 3, 50]) {
      const { items } = await trustCards.history({ id: bob.id, limit }, at(ada))
      assert(items.length <= limit)
    }
    assert.equal((await trust.metrics({}, at(ada))).keys_changed_30d, 1)
    world.later(31 * 24 * 60)
    assert.equal((await trust.metrics({}, at(ada))).keys_changed_30d, 0)
  })

  it('needs a followed account, and its own cursors', async (t) => {
    const { ada, bob } = await two(t)
    await rejects('not_found', history(bob, ada.id))
    await rejects('not_found', confirmAt(bob, ada.id))
    await rejects('not_found', update(bob, ada.id))
    assert.equal(bob.state.trust.get(ada.id), null)
    for (const cursor of ['x', 'MQ', Buffer.from('1 x y').toString('base64url')])
      await rejects('bad_request', trustCards.history({ id: bob.id, limit: 5, cursor }, at(ada)))
  })

  it('accepts an invented time in an entry', async (t) => {
    const { world, ada } = await two(t)
    const eve = await world.person('eve')
    const { device: by, kid, keys, keyLog } = eve.deviceSession.identity()!
    const log = await keyLog()
    const late = addDevice({
      log,
      device: { id: newId('dev_', 1), keys: publicKeys(newDeviceKeys()) },
      by,
      kid,
      seed: (await keys()).sign.secret,
      at: 2 ** 53 - 1,
    })
    const far = ada.restart(
      instead(
        'keyLogs',
        'read',
        (honest) => async (input) =>
          input.account === eve.id
            ? { ...paged([...log.entries, late], input), seal_keys: [] }
            : honest(input),
      ),
    )
    await follow(far, eve.id)
    const [newest] = await history(far, eve.id)
    assert.deepEqual([newest?.event, newest?.at], ['key_added', '9999-12-31T23:59:59.999Z'])
  })
})

describe('other callers', () => {
  it('a machine account follows with data of the account server', async (t) => {
    const { world, ada, bob } = await two(t)
    const machine = world.server.as({ account: bob.id, device: null, session: null, token: 'x' })
    const context = at(ada, machine as Account)
    const made = await trustCards.create({ body: { user_id: ada.id } }, context)
    assert.deepEqual([made.safety_number, made.key_status], [null, 'unchanged'])
    const patched = await trustCards.update({ id: ada.id, body: { confirmed: true } }, context)
    assert.deepEqual([patched.safety_number, patched.key_status], [null, 'confirmed'])
    assert.equal(ada.state.trust.get(ada.id), null)
    const { items } = await trustCards.history({ id: ada.id, limit: 50 }, context)
    assert.deepEqual(
      items.map(({ event }) => event),
      ['confirmed', 'followed'],
    )
    await trustCards.delete({ id: ada.id }, context)
    assert.equal((await trust.metrics({}, context)).following, 0)
  })

  it('a device that signed out meanwhile stores nothing', async (t) => {
    const { world, ada } = await two(t)
    const eve = await world.person('eve')
    const leaving: DeviceUser = ada.restart(
      instead('trustCards', 'create', (honest) => async (input) => {
        const made = await honest(input)
        await leaving.deviceSession.leave()
        return made
      }),
    )
    await rejects('not_signed_in', follow(leaving, eve.id))
    assert.equal(leaving.state.trust.get(eve.id), null)
    assert.equal(leaving.state.names.get(eve.id), null)
  })
})
