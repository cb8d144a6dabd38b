/**
 * Tests connections made with a preset.
 * The cases cover the requests to the account server, and how long the device stores the invited
 * accounts.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import { connections, tags } from '../../src/handlers/connections.ts'
import { at } from '../world/requests.ts'
import { type DeviceUser, isIn, verifies, worldOf } from '../world/world.ts'
import { rejects } from '../rejects.ts'
import { away, instead } from '../world/interceptor.ts'

const DAY = 24 * 60

/** Returns Ada, with invitations that are valid for a month, and Bob. */
async function patient(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const { id: preset_id } = await ada
    .account()
    .presets.create({ body: { name: 'Patient', invitation_expires_in: 30 * 24 * 3600 } })
  return { world, ada, bob, preset_id }
}

describe('an invitation with a lifetime of a month adds the member at its end', () => {
  const CASES: [
    how: string,
    (ada: DeviceUser, bob: DeviceUser, preset_id: string) => Promise<string>,
  ][] = [
    [
      'made with the connection',
      async (ada, bob, preset_id) => {
        const body = { name: 'Bank', invite: [{ user_id: bob.id }], preset_id }
        return (await connections.create({ body }, at(ada))).id
      },
    ],
    [
      'made later',
      async (ada, bob, preset_id) => {
        const body = { name: 'Bank', invite: [], preset_id }
        const { id } = await connections.create({ body }, at(ada))
        await ada.invite(id, { user_id: bob.id })
        return id
      },
    ],
  ]
  for (const [how, make] of CASES)
    it(how, async (t) => {
      const { world, ada, bob, preset_id } = await patient(t)
      const id = await make(ada, bob, preset_id)
      for (const days of [16, 13]) {
        world.later(days * DAY)
        await ada.sync()
      }
      await bob.approve()
      // Approved on the last day, and added on the day after.
      world.later(1.5 * DAY)
      await ada.sync()
      await bob.sync()
      assert.equal(isIn(ada, id, bob), true)
      assert.equal(await verifies(ada, bob, id), true)
    })
})

describe('a connection that is opened again after its answer was lost', () => {
  for (const reached of [true, false])
    it(`sends the same request, if the account server ${reached ? 'received' : 'did not receive'} the first`, async (t) => {
      const { world, ada } = await worldOf(t, 'ada')
      const { presets } = ada.account()
      const chosen = await presets.create({ body: { name: 'Chosen', favorite: true } })
      const asked: unknown[] = []
      const lossy = ada.restart(
        instead('rosters', 'open', (open) => async (of) => {
          asked.push(of)
          if (asked.length > 1) return open(of)
          if (reached) await open(of)
          return away()
        }),
      )
      const act = { id: randomBytes(16), at: world.clock.ms }
      const wanted = { name: 'Bank', invite: [], preset_id: chosen.id }
      const open = (account: Account) => openConnection(lossy.device(), account, wanted, act)
      await rejects('backend_unavailable', open(lossy.account()))
      await presets.setDefault({ id: (await presets.create({ body: { name: 'Other' } })).id })
      const made = await open(lossy.account())
      assert.deepEqual(asked[1], asked[0])
      assert.deepEqual([made.preset_id, made.favorite], [chosen.id, true])
    })
})

it('an unknown preset opens no connection, and this device stores nothing', async (t) => {
  const { ada, bob } = await worldOf(t, 'ada', 'bob')
  const { id: preset_id } = await bob.account().presets.create({ body: { name: 'Mine' } })
  const body = { name: 'Bank', invite: [{ user_id: bob.id }], preset_id }
  await rejects('not_found', connections.create({ body }, at(ada)))
  assert.deepEqual([ada.state.connections.ids(), ada.state.invites.all()], [[], []])
  assert.deepEqual((await bob.account().invitations.list({})).received, [])
})

it('every answer contains the tags, also after a sync, and that the device has the secret', async (t) => {
  const { ada } = await worldOf(t, 'ada')
  const { id: tag } = await ada.account().tags.create({ body: { name: 'Work' } })
  const cid = await ada.connect()
  const tagged = await tags.assign({ id: tag, cid }, at(ada))
  assert.deepEqual([tagged.tag_ids, tagged.secret_here], [[tag], true])
  await ada.sync()
  const { items } = await connections.list({ limit: 50 }, at(ada))
  const read = await connections.read({ id: cid }, at(ada))
  const named = await connections.update({ id: cid, body: { name: 'Bank 2' } }, at(ada))
  const starred = await connections.favorite({ id: cid, body: { favorite: true } }, at(ada))
  for (const one of [items[0]!, read, named, starred])
    assert.deepEqual([one.tag_ids, one.secret_here], [[tag], true])
  await rejects('not_found', tags.assign({ id: tag, cid: tag }, at(ada)))
})
