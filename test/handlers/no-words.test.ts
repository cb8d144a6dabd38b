/** Tests the errors for words that cannot be shown: who has to act, and how. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { rotateNow } from '../../src/device/connections/members.ts'
import { AppError } from '../../src/errors.ts'
import { connections } from '../../src/handlers/connections.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { type DeviceUser, connected, newPaper, three, verifies, worldOf } from '../world/world.ts'
import { at, confirmAt } from '../world/requests.ts'
import { away, instead } from '../world/interceptor.ts'

const signedOut = { last_device: true, forget: false }

/** Returns the error of a request for the words, as `state: message` or `code: message`. */
async function refused(user: DeviceUser, id: string): Promise<string> {
  try {
    await connections.code({ id }, at(user))
  } catch (error) {
    assert(error instanceof AppError)
    return `${error.details.state ?? error.code}: ${error.message}`
  }
  return assert.fail('there are words')
}

async function confirm(user: DeviceUser, user_id: string) {
  await trustCards.create({ body: { user_id } }, at(user))
  await trustCards.list({ limit: 50 }, at(user))
  await confirmAt(user, user_id)
}

/** Returns the error of an owner who has to confirm the new keys of Bob. */
function confirmHere(bob: string, id: string, trust: 'followed' | 'not followed'): string {
  const follow = trust === 'followed' ? '' : `"countersignd trust follow ${bob}", `
  return `changed_unverified: You have to confirm the new keys of "bob" first: ${follow}compare the safety number, then "countersignd trust confirm ${bob}". Or remove them: "countersignd connection remove-member ${id} ${bob}".`
}

const rotates = (id: string) =>
  new RegExp(`^rotation_pending: .*within ten minutes. "countersignd rotate ${id}" creates it now`)

describe('after a member was reset', () => {
  it('the error names the confirming member on each side, and after the confirmation there are words', async (t) => {
    const { world, ada, cy, id } = await three(t)
    const anew = await world.reset('bob')
    for (const user of [anew, ada, cy]) await user.sync()
    assert.equal((await connections.read({ id }, at(cy))).suspended, 'rotation_pending')
    const there = `"countersignd trust confirm ${anew.id}" on a device of that owner.`
    const without = ` Without a confirmation, the other members get a new secret within ten minutes ("countersignd rotate ${id}" creates it now), and "bob" gets no secret.`
    assert.equal(
      await refused(anew, id),
      `changed_unverified: "ada" has to confirm your new keys first: compare the safety number, then run ${there}`,
    )
    assert.equal(
      await refused(cy, id),
      `changed_unverified: "ada" has to confirm the new keys of "bob" first: compare the safety number, then run ${there}${without}`,
    )
    assert.equal(await refused(ada, id), `${confirmHere(anew.id, id, 'not followed')}${without}`)
    await confirm(ada, anew.id)
    for (const user of [anew, cy]) await user.sync()
    world.later()
    assert(await verifies(anew, ada, id))
    assert(await verifies(cy, anew, id))
    assert.equal((await connections.read({ id }, at(cy))).suspended, null)
  })

  it('followers confirm the keys on their own device, although an owner did', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await trustCards.create({ body: { user_id: bob.id } }, at(cy))
    const anew = await world.reset('bob')
    await ada.sync()
    await confirm(ada, anew.id)
    await cy.sync()
    assert.match(
      await refused(cy, id),
      new RegExp(
        `^changed_unverified: You have to confirm the new keys of "bob" first: compare the safety number, then "countersignd trust confirm ${anew.id}"\\.$`,
      ),
    )
  })

  it('who was the only owner: no owner can confirm, on either side', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const anew = await world.reset('ada')
    for (const user of [anew, bob]) await user.sync()
    assert.match(await refused(anew, id), /your new keys first, but no owner is left.*create a new/)
    assert.match(
      await refused(bob, id),
      /^changed_unverified: .* the new keys of "ada" first, but no owner is left.* create a new connection\.$/,
    )
  })

  for (const trust of ['not followed', 'followed'] as const)
    it(`between two, ${trust}: the error is about the new keys, and a rotation is no remedy`, async (t) => {
      const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
      const id = await connected(ada, bob)
      if (trust === 'followed') await trustCards.create({ body: { user_id: bob.id } }, at(ada))
      const anew = await world.reset('bob')
      await ada.sync()
      assert.equal(await refused(ada, id), confirmHere(anew.id, id, trust))
    })

  it('with the recovery key: there are no keys to confirm, and a rotation is the remedy', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await world.reset('bob', await newPaper(bob))
    await ada.sync()
    assert.match(await refused(ada, id), rotates(id))
  })

  it('and another revoked a device later, after a rotation: the others rotate again', async (t) => {
    const { world, ada, cy, id } = await three(t)
    const phone = await world.further(cy, 'phone')
    await world.reset('bob')
    await ada.sync()
    await rotateNow(ada.device(), ada.account(), id)
    await cy.sync()
    assert(await verifies(ada, cy, id))
    await phone.flow.end({ last_device: false, forget: false })
    await ada.sync()
    assert.match(await refused(ada, id), rotates(id))
  })
})

describe('after a member signed out of the last device', () => {
  it('the others rotate within ten minutes, or manually', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await bob.flow.end(signedOut)
    for (const user of [ada, cy]) await user.sync()
    for (const user of [ada, cy]) assert.match(await refused(user, id), rotates(id))
  })
})

describe('while a rotation is due', () => {
  it('after a member left: a sync rotates', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await connections.delete({ id }, at(cy))
    const cut = bob.restart(instead('rosters', 'append', () => away))
    await cut.device().sync.run('request')
    assert.match(
      await refused(cut, id),
      new RegExp(`^rotation_pending: .*"countersignd sync".*"countersignd rotate ${id}"`),
    )
    await bob.restart().sync()
    await ada.sync()
    assert.notEqual(ada.words(id), null)
  })
})

describe('a missing secret', () => {
  it('can come from another device of this account, which the error names', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const id = await ada.connect()
    const laptop = await world.further(ada, 'laptop')
    await laptop.sync()
    assert.match(
      await refused(laptop, id),
      new RegExp(
        `^secret_unavailable: Waiting for your device "ada's" to hand over the words for "Bank". .*"countersignd sync".*"countersignd rotate ${id}"`,
      ),
    )
    await ada.sync()
    await laptop.sync()
    assert.notEqual(laptop.words(id), null)
  })

  it('can come from other members, if this is the only device', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    bob.device().vault.delete(id)
    const fresh = bob.restart()
    assert.match(await refused(fresh, id), /Waiting for a device of "ada" to hand over/)
  })

  it('is lost if no other device has it', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const id = await ada.connect()
    ada.device().vault.delete(id)
    assert.match(await refused(ada.restart(), id), /No other device has the words for "Bank"/)
  })
})
