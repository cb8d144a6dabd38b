/**
 * Tests the replacement of a forked connection.
 * An owner’s device opens another one, and the others join without user interaction.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { remove, rotateNow } from '../../src/device/connections/members.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { connections } from '../../src/handlers/connections.ts'
import { at } from '../world/requests.ts'
import {
  forked,
  inPlaceOf,
  lost,
  others,
  owned,
  rotates,
  showingBranch,
  shown,
  synced,
} from './histories/forking.ts'
import { type DeviceUser, isIn, newWorld, joinMembers, verifies } from '../world/world.ts'
import { instead, restless } from '../world/interceptor.ts'

describe('a connection that forked', () => {
  it('is replaced by an owner that saw both histories, and the others join by the evidence', async (t) => {
    const { world, ada, bob, cy, id } = await forked(t)
    assert.match(await synced(bob), /two histories/)
    assert.deepEqual(await others(bob, id), [], 'it is the turn of Ada')
    world.later(10)
    assert.match(await synced(bob), /"Bank" forked, and was replaced by a new connection/)
    const anew = inPlaceOf(bob, id)
    for (const user of [ada, cy])
      assert.match(await synced(user), /forked, and an owner replaced it/)
    await bob.sync()
    for (const user of [ada, cy, bob]) await user.sync()
    world.later()
    for (const [by, speaker] of [
      [ada, bob],
      [bob, cy],
      [cy, ada],
    ] as const) {
      assert(await verifies(by, speaker, anew))
      assert.deepEqual([by.words(id), inPlaceOf(by, id)], [null, anew])
    }
    const role = (user: DeviceUser) =>
      connections
        .read({ id: anew }, at(bob))
        .then(({ members }) => members.find((one) => one.id === user.id)?.role)
    assert.deepEqual(
      [await role(ada), await role(bob), await role(cy)],
      ['owner', 'owner', 'member'],
    )
  })

  it('gives an owner the role back once: an owner removed and invited again is a member', async (t) => {
    const { ada, bob, id, seq, entry } = await forked(t)
    const first = await shown(ada, id, seq, entry)
    await synced(bob)
    await first.sync()
    const anew = inPlaceOf(first, id)
    const roleOfBob = async () =>
      (await connections.read({ id: anew }, at(first))).members.find((one) => one.id === bob.id)
        ?.role
    assert.equal(await roleOfBob(), 'owner')
    await remove(first.device(), first.account(), anew, bob.id)
    await joinMembers(first, anew, [bob])
    assert.equal(await roleOfBob(), 'member')
  })

  it('is replaced by the first owner that saw the fork; the second joins', async (t) => {
    const { ada, bob, id, seq, entry } = await forked(t)
    await bob.account().connections.update({ id, body: { name: 'My bank' } })
    const first = await shown(ada, id, seq, entry)
    const anew = inPlaceOf(first, id)
    assert.match(await synced(bob), /an owner replaced it/)
    await first.sync()
    await bob.sync()
    assert.deepEqual(
      (await others(bob, id)).map((one) => one.id),
      [anew],
    )
    const { replaces, name } = (await others(bob, id))[0]!
    assert.deepEqual([replaces, name], [id, 'My bank'], 'the person keeps the name that they gave')
    const { replaced_by } = await connections.read({ id }, at(bob))
    assert.equal(replaced_by, anew)
  })

  it('does not affect other verifications once all its members joined the new one', async (t) => {
    const { world, ada, bob, cy, id, seq, entry } = await forked(t)
    const first = await shown(ada, id, seq, entry)
    for (const user of [bob, cy]) await synced(user)
    await first.sync()
    for (const user of [bob, cy, first]) await user.sync()
    world.later()
    const { conclusive, reasons } = await first.hears(wordsAt([1, 2, 3]).join(' '))
    assert.deepEqual([conclusive, reasons], [true, []])
  })

  it('is replaced once if two owners open at the same time', async (t) => {
    const { world, ada, bob, cy, id, seq, entry } = await forked(t)
    // The account server hides replacements from Bob until he has opened one.
    const deaf = bob.restart(
      instead('duties', 'read', (honest) => async (of) => {
        const { replacements: _, ...hints } = await honest(of)
        return hints
      }),
    )
    await synced(deaf)
    const first = await shown(ada, id, seq, entry)
    world.later(10)
    await synced(deaf)
    const second = deaf.restart((account) => account)
    assert.notEqual(inPlaceOf(first, id), inPlaceOf(second, id))
    for (let round = 0; round < 5; round++)
      for (const user of [first, second, cy]) await synced(user)
    const [remains] = [inPlaceOf(first, id), inPlaceOf(second, id)].toSorted()
    for (const user of [first, second, cy]) {
      const going = (await others(user, id)).filter(({ state }) => state !== 'ended')
      assert.deepEqual(
        going.map((one) => one.id),
        [remains],
      )
      assert.equal(inPlaceOf(user, id), remains)
    }
    world.later()
    assert(await verifies(cy, second, remains!))
  })

  it('is replaced by one connection, even if the answer is lost', async (t) => {
    const { ada, id, seq, entry } = await forked(t)
    const losingOpen = instead('rosters', 'open', (open) => async (of) => {
      await open(of)
      throw new Error('the answer is lost')
    })
    const cut = ada.restart((account) => losingOpen(showingBranch(id, seq, entry)(account)))
    await synced(cut)
    const again = cut.restart((account) => account)
    await synced(again)
    await again.sync()
    assert.equal((await others(again, id)).length, 1)
    assert.equal((await others(again, id))[0]?.id, inPlaceOf(again, id))
  })

  it('is not replaced after the user deleted it', async (t) => {
    const { world, bob, id } = await forked(t)
    await synced(bob)
    await connections.delete({ id }, at(bob))
    world.later(30)
    await synced(bob)
    assert.deepEqual(await others(bob, id), [])
  })
})

describe('a device does not follow a replacement', () => {
  /** Opens a replacement as this account, with an invitation for another. */
  async function opened(by: DeviceUser, id: string, invited: DeviceUser) {
    const { openConnection } = await import('../../src/device/connections/connections.ts')
    const act = { id: new Uint8Array(16).fill(7), at: by.device().now() }
    const wanted = {
      name: 'Bank',
      invite: [{ user_id: invited.id }],
      preset_id: null,
      replaces: id,
    }
    return openConnection(by.device(), by.account(), wanted, act)
  }
  const waiting = async (user: DeviceUser) =>
    (await user.account().invitations.pending({})).received

  it('of a connection of which it saw one history', async (t) => {
    const { ada, cy, id } = await owned(t)
    await opened(ada, id, cy)
    await cy.sync()
    assert.equal((await waiting(cy)).length, 1, 'the person decides')
    assert.notEqual(cy.words(id), null)
  })

  it('opened by a member without rights', async (t) => {
    const { ada, bob, cy, id, seq, entry } = await forked(t)
    const seen = await shown(ada, id, seq, entry)
    await opened(cy, id, bob)
    await synced(bob)
    assert.deepEqual(
      (await waiting(bob)).map(({ from }) => from.user_id),
      [cy.id],
    )
    assert.notEqual(inPlaceOf(seen, id), null)
  })

  it('opened by an owner who was removed in the branch that the device keeps', async (t) => {
    const { ada, bob, cy, id } = await owned(t)
    const seq = bob.state.logs.head('roster', id)!.seq + 1
    // Bob removes Ada, and the account server hides that from all; Ada removes Bob.
    const { user: other, entry } = await lost(bob, id, (user) =>
      remove(user.device(), user.account(), id, ada.id),
    )
    await remove(ada.device(), ada.account(), id, bob.id)
    await cy.sync()
    const seen = await shown(cy, id, seq, entry)
    const made = await opened(other, id, seen)
    const [invitation] = await waiting(seen)
    const [opening] = (await other.account().rosters.read({ connection: made.id })).entries
    // A dishonest server delivers the hint too.
    const hint = { invitation: invitation!.id, entry: opening!, fork: null }
    await synced(
      seen.restart(
        instead('duties', 'read', (honest) => async (of) => ({
          ...(await honest(of)),
          replacements: [hint],
        })),
      ),
    )
    assert.deepEqual(
      (await waiting(seen)).map(({ connection_id: of }) => of),
      [made.id],
    )
    assert.equal(seen.state.replacements.inPlaceOf(id), null)
    // The owner on the device’s own branch replaces the connection.
    const first = await shown(ada, id, seq, entry)
    await synced(seen)
    await first.sync()
    await seen.sync()
    assert.equal(inPlaceOf(seen, id), inPlaceOf(first, id))
    assert(!isIn(first, inPlaceOf(first, id), other))
  })

  it('if the account server names another connection or inviter at the last moment', async (t) => {
    const { ada, cy, id, seq, entry } = await forked(t)
    const seen = await shown(ada, id, seq, entry)
    for (const change of [{ inviter: cy.id }, { connection: id }]) {
      const lied = cy.restart(
        instead('consents', 'wanted', (honest) => async (of) => ({
          ...(await honest(of)),
          ...change,
        })),
      )
      assert.match(await synced(lied), /names another connection or inviter/)
      assert.deepEqual(lied.state.consents.connections(), [])
    }
    await synced(cy.restart((account) => account))
    await seen.sync()
    assert(isIn(seen, inPlaceOf(seen, id), cy))
  })
})

describe('a fork by a former member', () => {
  it('is replaced without them, also by devices that saw their history first', async (t) => {
    const { world, ada, bob, cy, id } = await owned(t)
    const seq = bob.state.logs.head('roster', id)!.seq + 1
    // Cy has not synced the removal, and signs after the entry before it.
    const { user: eve, entry } = await lost(cy, id, rotates(id))
    const before = bob.restart(showingBranch(id, seq, entry))
    await synced(before)
    await remove(ada.device(), ada.account(), id, cy.id)
    const late = before.restart((account) => restless(account))
    assert.match(await synced(late), /two histories/)
    const first = await shown(ada, id, seq, entry)
    assert.match(await synced(late), /an owner replaced it/)
    await first.sync()
    await late.sync()
    await synced(eve)
    world.later()
    const anew = inPlaceOf(first, id)
    assert(await verifies(late, first, anew))
    assert.deepEqual([isIn(first, anew, cy), await others(eve, id)], [false, []])
  })
})

describe('a fork that the account server hides from all devices', () => {
  it('leaves each half with its branch, until an owner sees both', async (t) => {
    const { world, ada, bob, cy, id, seq, entry } = await forked(t)
    const half = cy.restart((account) => account)
    world.later()
    assert(await verifies(half, ada, id), 'both are on the branch that the server shows')
    assert.equal(bob.words(id) === ada.words(id), false)
    const first = await shown(ada, id, seq, entry)
    assert.equal(first.words(id), null)
    assert.match(await synced(half), /an owner replaced it/)
    await first.sync()
    await half.sync()
    world.later()
    assert(await verifies(half, first, inPlaceOf(first, id)))
  })
})

describe('an account with all devices replaced', () => {
  it('is not added to the replacement before the new keys are confirmed', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await ada.connect()
    await joinMembers(ada, id, [bob])
    const seq = ada.state.logs.head('roster', id)!.seq + 1
    const { entry } = await lost(bob, id, rotates(id))
    await rotateNow(ada.device(), ada.account(), id)
    const first = await shown(ada, id, seq, entry)
    const thief = await world.reset('bob')
    await thief.approve()
    await synced(first)
    assert(!isIn(first, inPlaceOf(first, id), bob))
    const { examine } = await import('../../src/device/trust/trust-keys.ts')
    const { confirmKeys } = await import('../../src/device/trust/confirmed-keys.ts')
    const row = await examine(first.device(), first.account(), thief.id)
    await confirmKeys(first.device(), first.account(), row)
    await synced(first)
    assert(isIn(first, inPlaceOf(first, id), bob))
  })
})
