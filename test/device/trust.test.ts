/**
 * Tests what a sync does about followed accounts.
 * It asks rarely, notices changes in time, and detects replaced keys.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { refreshTrust } from '../../src/device/trust/trust.ts'
import { AppError } from '../../src/errors.ts'
import { keyStatusOf, type TrustRow } from '../../src/state/trust.ts'
import { at } from '../world/requests.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { newWorld, type DeviceUser } from '../world/world.ts'
import { paged } from '../world/paged.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const HOUR = 60

async function people(t: TestContext) {
  const world = await newWorld(t)
  const [ada, bob] = [await world.person('ada'), await world.person('bob')]
  return { world, ada, bob }
}

const refresh = (user: DeviceUser) =>
  refreshTrust({ ...user.device(), log: () => undefined }, user.account(), true)
const refusedHere = ({ state }: DeviceUser, id: string) => state.trust.get(id)?.refused
const statusHere = ({ state }: DeviceUser, id: string) =>
  keyStatusOf(state.trust.get(id) ?? assert.fail('not known'))

/** Returns a device that records the accounts for which it requests a key log. */
function counting(user: DeviceUser, more: (account: Account) => Account = (account) => account) {
  const asked: string[] = []
  const far = user.restart((account) =>
    instead('keyLogs', 'read', (honest) => async (input) => {
      asked.push(input.account)
      return honest(input)
    })(more(account)),
  )
  return { far, asked: () => asked.splice(0) }
}

describe('a sync', () => {
  it('pins accounts that another device follows, and compares their newest entries after an hour', async (t) => {
    const { world, ada, bob } = await people(t)
    const eve = await world.person('eve')
    // Not by this device.
    for (const { id } of [bob, eve])
      await ada.account().trustCards.create({ body: { user_id: id } })
    let compared = 0
    const comparing = instead('followedKeyLogs', 'list', (honest) => (input) => {
      compared++
      return honest(input)
    })
    const { far, asked } = counting(ada, comparing)
    /** Returns how often a sync asks for all newest entries, and for which key logs. */
    const requests = async () => {
      compared = 0
      await refresh(far)
      return [compared, ...asked()]
    }
    assert.deepEqual(new Set(await requests()), new Set([0, bob.id, eve.id]))
    assert.equal(statusHere(far, bob.id), 'unchanged')
    assert.equal(far.state.names.get(bob.id), 'bob')
    assert.deepEqual(await requests(), [0])
    world.later(HOUR - 1)
    assert.deepEqual(await requests(), [0])
    world.later()
    assert.deepEqual(await requests(), [1])
    assert.deepEqual(await requests(), [0])
    await world.further(eve, 'laptop')
    world.later(HOUR)
    assert.deepEqual(await requests(), [1, eve.id])
    // A clock that was set back.
    world.later(-10 * HOUR)
    assert.deepEqual(await requests(), [1])
  })

  it('fetches a key log whose newest entry is older than the one stored here, or another one', async (t) => {
    const { world, ada, bob } = await people(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const { asked, far } = counting(
      ada,
      instead('followedKeyLogs', 'list', (honest) => async (input) => {
        const { items, next_cursor } = await honest(input)
        return { items: items.map((item) => ({ ...item, ...shown })), next_cursor }
      }),
    )
    let shown = {}
    for (const [lie, reads] of [
      [{}, []],
      [{ head: 'A'.repeat(43) }, [bob.id]],
      [{ seq: 7 }, [bob.id]],
      [{ account: ada.id }, [bob.id]],
      [{ profile: 'A'.repeat(43) }, [bob.id]],
    ] as const) {
      shown = lie
      world.later(HOUR)
      await refresh(far)
      assert.deepEqual(asked(), reads, JSON.stringify(lie))
    }
  })

  it('fetches at once if the account server hints at other keys', async (t) => {
    const { world, ada, bob } = await people(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const { far, asked } = counting(ada)
    world.later()
    await world.reset('bob')
    await refresh(far)
    assert.deepEqual([asked(), statusHere(far, bob.id)], [[bob.id], 'changed_unverified'])
    await refresh(far)
    assert.deepEqual(asked(), [])
  })

  it('detects other keys within an hour without a hint of the account server', async (t) => {
    const { world, ada, bob } = await people(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const silent = instead('trustCards', 'list', (honest) => async (input) => {
      const { items, next_cursor } = await honest(input)
      return { items: items.map((card) => ({ ...card, key_status: 'confirmed' })), next_cursor }
    })
    const { far } = counting(ada, silent)
    world.later()
    await world.reset('bob')
    await refresh(far)
    assert.equal(statusHere(far, bob.id), 'unchanged')
    world.later(HOUR)
    await refresh(far)
    assert.equal(statusHere(far, bob.id), 'changed_unverified')
  })

  it('uses logs that other work fetched, and requests none', async (t) => {
    const { world, ada, bob } = await people(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    world.later()
    await world.reset('bob')
    const { pullKeyLog } = await import('../../src/device/logs/key-log.ts')
    await pullKeyLog(ada.device(), ada.account(), bob.id)
    const { far, asked } = counting(
      ada,
      instead('trustCards', 'list', (honest) => async (input) => {
        const { items, next_cursor } = await honest(input)
        return { items: items.map((card) => ({ ...card, key_status: 'unchanged' })), next_cursor }
      }),
    )
    await refresh(far)
    assert.deepEqual([asked(), statusHere(far, bob.id)], [[], 'changed_unverified'])
  })

  it('reports the owner of a rejected key log, and continues with the others', async (t) => {
    const { world, ada, bob } = await people(t)
    const eve = await world.person('eve')
    for (const { id } of [bob, eve])
      await ada.account().trustCards.create({ body: { user_id: id } })
    const lying = ada.restart(
      instead(
        'keyLogs',
        'read',
        (honest) => async (input) =>
          input.account === eve.id ? { ...paged([], input), seal_keys: [] } : honest(input),
      ),
    )
    await refresh(lying)
    assert.equal(refusedHere(lying, eve.id), 'empty')
    assert.deepEqual(
      [statusHere(lying, bob.id), statusHere(lying, eve.id)],
      ['unchanged', 'changed_unverified'],
    )
    // Within the hour the device does not ask again, and keeps the refusal.
    await refresh(lying)
    assert.equal(refusedHere(lying, eve.id), 'empty')
    world.later(HOUR)
    await refresh(ada.restart((account) => account))
    assert.equal(refusedHere(ada, eve.id), null)
    assert.equal(statusHere(ada, eve.id), 'unchanged')
  })

  it('reports an unreachable account server, and keeps cached data', async (t) => {
    const { world, ada, bob } = await people(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    world.later(HOUR)
    const away = ada.restart(
      instead(
        'followedKeyLogs',
        'list',
        () => () => Promise.reject(new AppError('backend_unavailable', 'Away.')),
      ),
    )
    await rejects('backend_unavailable', refresh(away))
    assert.equal(statusHere(away, bob.id), 'unchanged')
  })
})

describe('the status of keys', () => {
  const row: TrustRow = {
    account: 'acc_x',
    pinned: 2,
    confirmed: false,
    seq: 3,
    newest: 2,
    refused: null,
    checked_at: 0,
    recovered_at: null,
    key_unused: false,
  }
  for (const [more, expected] of [
    [{}, 'unchanged'],
    [{ confirmed: true }, 'confirmed'],
    [{ newest: 3 }, 'changed_unverified'],
    [{ newest: 3, confirmed: true }, 'changed_unverified'],
    [{ refused: 'fork' }, 'changed_unverified'],
    [{ refused: 'fork', confirmed: true }, 'changed_unverified'],
  ] as const)
    it(`${JSON.stringify(more)}: ${expected}`, () => {
      assert.equal(keyStatusOf({ ...row, ...more }), expected)
    })
})
