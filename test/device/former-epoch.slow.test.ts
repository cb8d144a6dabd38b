/**
 * Tests words from before a routine rotation: they are no proof, and the answer gives the reason.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { remove, rotateNow } from '../../src/device/connections/members.ts'
import { dropOldKeys } from '../../src/device/codes/former-keys.ts'
import { leaveConnection } from '../../src/handlers/connections.ts'
import { verify } from '../../src/handlers/verify.ts'
import { at } from '../world/requests.ts'
import { type DeviceUser, connected, joinMembers, three, worldOf } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

const DAY_MINUTES = 24 * 60
const HINT =
  /^Not proven: words from before a change on \d{4}-\d\d-\d\d\. Ask the person to open the app/

/** Returns Ada, who rotated by routine, and Bob and Cy, who have not synced since. */
async function rotated(t: TestContext) {
  const { world, ada, bob, cy, id } = await three(t)
  for (const user of [ada, bob, cy]) await user.sync()
  world.later(104 * DAY_MINUTES)
  await ada.sync()
  assert.equal(ada.state.connections.get(id)?.epoch, 2)
  return { world, ada, bob, cy, id }
}

const isKept = (user: DeviceUser, id: string) => [
  user.state.formerEpochs.ids().includes(id),
  user.device().vault.has(`former ${id}`),
]

/** Returns a short form of the answer to the words of a member. */
async function answer(by: DeviceUser, speaker: DeviceUser, id: string) {
  const { verified, replayed, old_epoch = false, summary } = await by.hears(speaker.words(id))
  return { verified, replayed, old_epoch, isHint: HINT.test(summary) }
}

const OLD = { verified: false, replayed: false, old_epoch: true, isHint: true }
const WRONG = { verified: false, replayed: false, old_epoch: false, isHint: false }

describe('words of the epoch before a routine rotation', () => {
  it('are recognised by the device that rotated, and do not verify', async (t) => {
    const { world, ada, bob, id } = await rotated(t)
    const found = await ada.hears(bob.words(id))
    assert.equal(found.changed_at, new Date(world.clock.ms).toISOString())
    assert.deepEqual(
      found.matches.map(({ member_id, conclusive, reasons }) => [member_id, conclusive, reasons]),
      [[bob.id, false, ['old_epoch']]],
    )
    assert.match(found.summary, HINT)
    assert.equal(found.verified, false)
    assert.deepEqual(
      await answer(ada, bob, id),
      { verified: false, replayed: true, old_epoch: false, isHint: false },
      'the same words again',
    )
    await bob.sync()
    world.later()
    assert.equal((await ada.hears(bob.words(id))).verified, true)
  })

  it('are recognised by a device that fetched the new secret, after a restart', async (t) => {
    const { bob, cy, id } = await rotated(t)
    await bob.sync()
    assert.deepEqual(await answer(bob.restart(), cy, id), OLD)
  })

  it('count as wrong words, and do not end a row of them', async (t) => {
    const { ada, bob, id } = await rotated(t)
    const row = () => ada.state.wrongTries.of(['command_line'], false)[0]?.in_row ?? 0
    assert.deepEqual(await answer(ada, bob, id), OLD)
    assert.equal(row(), 1)
    await ada.hears(bob.words(id))
    assert.equal(row(), 2)
  })

  it('are searched only for the expected speaker', async (t) => {
    const { world, ada, bob, cy, id } = await rotated(t)
    const expecting = async (user_id: string) => {
      const of = { words: bob.words(id)!, expect: { user_id } }
      const { old_epoch = false } = await verify.words({ body: of }, at(ada))
      return old_epoch
    }
    assert.equal(await expecting(cy.id), false)
    world.later()
    assert.equal(await expecting(bob.id), true)
  })

  it('are not sent to the server by a public look-up', async (t) => {
    const { ada, bob, id } = await rotated(t)
    const deaf = ada.restart(
      instead('lookups', 'create', () => () => Promise.reject(new Error('the words were sent'))),
    )
    const { found, old_epoch } = await verify.public({ body: { words: bob.words(id)! } }, at(deaf))
    assert.deepEqual([found, old_epoch], [false, true])
  })

  it('are not recognised after 7 days, and their key is deleted', async (t) => {
    const { world, ada, bob, id } = await rotated(t)
    assert.deepEqual(isKept(ada, id), [true, true])
    world.later(7 * DAY_MINUTES - 1)
    await ada.sync()
    assert.deepEqual(await answer(ada, bob, id), OLD)
    world.later()
    assert.deepEqual(await answer(ada, bob, id), WRONG)
    assert.deepEqual(isKept(ada, id), [false, false])
  })

  it('are not recognised after the clock was set back', async (t) => {
    const { world, ada, id } = await rotated(t)
    const keeping = { state: ada.state, vault: ada.device().vault }
    world.later(3 * DAY_MINUTES)
    await ada.sync()
    dropOldKeys(keeping, world.clock.ms - 30_000)
    assert.deepEqual(
      isKept(ada, id),
      [true, true],
      'a clock that is kept right steps back a little',
    )
    dropOldKeys(keeping, world.clock.ms - 2 * DAY_MINUTES * 60_000)
    assert.deepEqual(isKept(ada, id), [false, false])
  })

  it('of two epochs ago are wrong words', async (t) => {
    const { world, ada, bob, id } = await rotated(t)
    await rotateNow(ada.device(), ada.account(), id)
    world.later()
    assert.deepEqual(await answer(ada, bob, id), WRONG)
  })

  it('on a device that missed two rotations are wrong words', async (t) => {
    const { world, ada, bob, cy, id } = await rotated(t)
    await rotateNow(ada.device(), ada.account(), id)
    await bob.sync()
    world.later()
    assert.deepEqual(await answer(bob, cy, id), WRONG)
    assert.deepEqual(isKept(bob, id), [false, false])
  })

  it('are not recognised after the user deleted the connection', async (t) => {
    const { bob, id } = await rotated(t)
    await bob.sync()
    assert.deepEqual(isKept(bob, id), [true, true])
    await leaveConnection(id, bob.account(), bob.device())
    assert.deepEqual(isKept(bob, id), [false, false])
  })
})

describe('the device keeps no code key', () => {
  it('of an epoch that a removal ended', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await remove(ada.device(), ada.account(), id, cy.id)
    world.later()
    for (const speaker of [bob, cy]) assert.deepEqual(await answer(ada, speaker, id), WRONG)
    assert.deepEqual(isKept(ada, id), [false, false])
  })

  it('of an epoch in which a member left', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await leaveConnection(id, cy.account(), cy.device())
    await ada.sync()
    assert.notEqual(ada.words(id), null)
    world.later()
    assert.deepEqual(await answer(ada, bob, id), WRONG)
    assert.deepEqual(isKept(ada, id), [false, false])
  })

  it('of an epoch in which a device was revoked', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const phone = await world.further(bob, 'phone')
    for (const user of [bob, phone, ada]) await user.sync()
    await bob.revoke(phone.deviceId)
    await bob.sync()
    await ada.sync()
    world.later()
    assert.deepEqual(await answer(ada, phone, id), WRONG)
    assert.deepEqual(isKept(ada, id), [false, false])
    assert.deepEqual(isKept(bob, id), [false, false])
  })
})

describe('a device that was revoked after a routine rotation', () => {
  it('has no words of the earlier epoch that are recognised', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const phone = await world.further(bob, 'phone')
    for (const user of [bob, phone, ada]) await user.sync()
    await rotateNow(ada.device(), ada.account(), id)
    assert.deepEqual(isKept(ada, id), [true, true])
    const cut = bob.restart(
      instead('rosters', 'append', () => () => Promise.reject(new Error('away'))),
    )
    await cut.revoke(phone.deviceId)
    await ada.device().sync.run('request')
    world.later()
    assert.deepEqual(await answer(ada, phone, id), WRONG, 'while the connection is held')
    world.later(10)
    await ada.sync()
    assert.deepEqual(await answer(ada, phone, id), WRONG, 'once it has another secret')
    assert.deepEqual(isKept(ada, id), [false, false])
  })
})

describe('a member who joined after a routine rotation', () => {
  it('has no words in the earlier epoch', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await connected(ada, bob)
    await rotateNow(ada.device(), ada.account(), id)
    await joinMembers(ada, id, [cy])
    assert.deepEqual(
      ada.state.formerEpochs.get(id)?.speakers.toSorted(),
      [ada.id, bob.id].toSorted(),
    )
    world.later()
    assert.deepEqual(await answer(ada, bob, id), OLD)
  })
})
