/** Tests an owner who ends a connection by deleting it, and its state at each member. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rotateNow, setRole } from '../../src/device/connections/members.ts'
import { rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { AppError } from '../../src/errors.ts'
import { connections, members } from '../../src/handlers/connections.ts'
import { at } from '../world/requests.ts'
import {
  type DeviceUser,
  connected,
  newWorld,
  joinMembers,
  three,
  verifies,
} from '../world/world.ts'
import { type Call, rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const remove = (user: DeviceUser, id: string) => connections.delete({ id }, at(user))
const listed = async (user: DeviceUser) =>
  (await connections.list({ limit: 50 }, at(user))).items.map(({ id, state }) => [id, state])

describe('the only owner deletes a connection with other members', () => {
  it('the connection is deleted for the owner, and ended for the others, who can delete it too', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await remove(ada, id)
    assert.deepEqual(await listed(ada), [])
    assert.equal(ada.device().vault.has(id), false)
    for (const user of [bob, cy]) {
      await user.sync()
      assert.deepEqual(await listed(user), [[id, 'ended']])
      await rejects('invalid_state', connections.code({ id }, at(user)), {
        state: 'ended',
        says: /ended/,
      })
      await remove(user, id)
      assert.deepEqual(await listed(user), [])
      assert.equal(user.device().vault.has(id), false)
      await user.sync()
      assert.deepEqual(await listed(user), [])
    }
    await ada.sync()
    await rejects('not_found', remove(bob, id))
  })

  it('right words of a member who did not sync the end do not verify, with that reason', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await remove(ada, id)
    await bob.sync()
    const verified = await bob.hears(cy.words(id))
    assert.deepEqual(
      [verified.verified, verified.conclusive, verified.reasons],
      [false, false, ['connection_ended']],
    )
    assert.equal(verified.matches[0]?.member_id, cy.id)
    assert.match(verified.summary, /"Bank".*ended/)
    // Other words are checked as conclusively as before.
    const other = await connected(bob, ada, 'Other')
    assert(await verifies(bob, ada, other))
    world.later()
    const nobodys = await bob.hears('matador carload recede')
    assert.deepEqual([nobodys.verified, nobodys.conclusive], [false, true])
    // Once the device has synced the deletion, the words belong to no contact.
    await remove(bob, id)
    world.later()
    assert.deepEqual((await bob.hears(cy.words(id))).matches, [])
  })

  it('the others are notified of who ended it, and invitees are not added', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const dora = await world.person('dora')
    await ada.invite(id, { user_id: dora.id })
    await dora.approve()
    await remove(ada, id)
    for (const user of [bob, cy]) {
      const { items } = await user.account().notifications.list({})
      const note = items.find(({ kind }) => kind === 'connection_ended')
      assert.deepEqual(note?.data, { connection_id: id, user_id: ada.id })
    }
    assert.deepEqual(
      (await dora.account().invitations.list({})).received.map(({ state }) => state),
      ['withdrawn'],
    )
    await bob.sync()
    await dora.sync()
    assert.deepEqual(await listed(dora), [])
  })

  it('no member can add an entry after the end', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await remove(ada, id)
    const ended = (call: Call) => rejects('invalid_state', call, { state: 'ended', says: /ended/ })
    await ended(rotateNow(bob.device(), bob.account(), id))
    await ended(setRole(cy.device(), cy.account(), id, { member: cy.id, role: 'owner' }))
    await bob.sync()
    assert.equal((await bob.account().rosters.read({ connection: id })).entries.length, 4)
  })

  it('a new device of a member sees it ended, and lacks no secret', async (t) => {
    const { world, ada, bob, id } = await three(t)
    await remove(ada, id)
    const laptop = await world.further(bob, 'bob on the road')
    await laptop.sync()
    assert.deepEqual(await listed(laptop), [[id, 'ended']])
    assert.equal((await laptop.sync()).pulled.rosters, 0)
    const { reasons } = await laptop.hears('matador carload recede')
    assert.deepEqual(reasons.includes('secret_missing'), false)
    await remove(laptop, id)
    await bob.sync()
    assert.deepEqual(await listed(bob), [])
    assert.equal(bob.device().vault.has(id), false)
  })
})

describe('a deletion or departure that does not end the connection', () => {
  it('with another owner, deleting means leaving', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await remove(ada, id)
    await bob.sync()
    await cy.sync()
    assert.deepEqual(await listed(cy), [[id, 'active']])
    assert(await verifies(cy, bob, id))
  })

  it('a member who deletes it leaves', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await remove(cy, id)
    await ada.sync()
    await bob.sync()
    assert(await verifies(ada, bob, id))
  })

  it('the only owner cannot leave by removing themselves', async (t) => {
    const { ada, id } = await three(t)
    await rejects('invalid_state', members.remove({ id, mid: ada.id }, at(ada)), {
      state: 'last_owner',
      says: /only owner/,
    })
  })
})

/** An account server that reports existing accounts as deleted. */
const callingDeleted = (...gone: readonly DeviceUser[]) =>
  instead('rosters', 'read', (honest) => async (of) => {
    const { key_logs, ...answer } = await honest(of)
    const isGone = (account: string) => gone.some(({ id }) => id === account)
    const withReports = key_logs.map((one) =>
      isGone(one.account) ? { ...one, departed_epoch: 1 } : one,
    )
    return { ...answer, key_logs: withReports }
  })

describe('a server that fails or lies', () => {
  it('reports the other owner as deleted: deleting means leaving, as the roster has it', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    for (const user of [bob, cy]) await user.sync()
    const lied = ada.restart(callingDeleted(bob))
    await rejects('invalid_state', members.remove({ id, mid: ada.id }, at(lied)), {
      state: 'last_owner',
      says: /only owner/,
    })
    await remove(lied, id)
    await bob.sync()
    await cy.sync()
    assert.deepEqual(await listed(cy), [[id, 'active']])
    assert(await verifies(cy, bob, id))
  })

  it('reports all other members as deleted: the signed entry ends the connection, and an older roster is rejected later', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const { items } = await ada.account().connections.list({})
    const roster = await ada.account().rosters.read({ connection: id })
    const { envelopes } = await ada.account().envelopes.read({ connection: id })
    await members.remove({ id, mid: cy.id }, at(ada))
    for (const user of [ada, bob]) await user.sync()
    await remove(ada.restart(callingDeleted(bob, cy)), id)
    await bob.sync()
    assert.deepEqual(await listed(bob), [[id, 'ended']])
    const shown = ada.restart((account) => ({
      ...account,
      connections: { ...account.connections, list: async () => ({ items, next_cursor: null }) },
      rosters: { ...account.rosters, read: async () => roster },
      envelopes: { ...account.envelopes, read: async () => ({ envelopes }) },
    }))
    const { error } = await shown.device().sync.run('request')
    assert.match(error ?? '', /refused \(rollback\)/)
    world.later()
    assert.equal(await verifies(shown, cy, id), false)
  })

  it('accepts the entry and its answer is lost: a retry succeeds', async (t) => {
    const { ada, bob, id } = await three(t)
    const deaf = ada.restart(
      instead('rosters', 'append', (honest) => async (input) => {
        await honest(input)
        throw new AppError('backend_unavailable', 'Nothing was heard.')
      }),
    )
    await rejects('backend_unavailable', remove(deaf, id))
    const again = deaf.restart((account) => account)
    assert.equal(again.device().vault.has(id), true)
    await remove(again, id)
    assert.deepEqual([await listed(again), again.device().vault.has(id)], [[], false])
    await again.sync()
    await bob.sync()
    assert.deepEqual(await listed(bob), [[id, 'ended']])
  })

  it('rejects the entry: nothing changes', async (t) => {
    const { ada, bob, id } = await three(t)
    const away = () => () => Promise.reject(new AppError('backend_unavailable', 'Away.'))
    const far = ada.restart(instead('rosters', 'append', away))
    await rejects('backend_unavailable', remove(far, id))
    await bob.sync()
    assert(await verifies(bob, far, id))
    await remove(
      far.restart((account) => account),
      id,
    )
  })

  it('reports a connection as ended that no owner ended: devices rely on the roster', async (t) => {
    const { world, ada, bob, id } = await three(t)
    const lying = bob.restart((account) => ({
      ...account,
      connections: {
        ...account.connections,
        list: async (page) => {
          const { items, next_cursor } = await account.connections.list(page)
          const state = 'ended' as const
          return { items: items.map((item) => ({ ...item, state })), next_cursor }
        },
      },
    }))
    await lying.sync()
    world.later()
    assert(await verifies(lying, ada, id))
  })

  it('returns the roster without the end to the owner: rejected as a rollback', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await ada.connect()
    await joinMembers(ada, id, [bob])
    const { items } = await ada.account().connections.list({})
    const roster = await ada.account().rosters.read({ connection: id })
    await remove(ada, id)
    assert.equal(rememberedRoster(ada.state, id)?.roster.ended, true)
    const shown = ada.restart((account) => ({
      ...account,
      connections: { ...account.connections, list: async () => ({ items, next_cursor: null }) },
      rosters: { ...account.rosters, read: async () => roster },
    }))
    const report = await shown.device().sync.run('request')
    assert.match(report.error ?? '', /rollback/)
    assert.equal(shown.words(id), null)
  })
})
