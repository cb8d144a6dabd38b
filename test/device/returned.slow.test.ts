/**
 * Tests that a fork undoes no removal and no change of a role.
 * That holds for the owner who replaces the connection, and for the members who follow.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { openConnection } from '../../src/device/connections/connections.ts'
import { leaveOrEnd, remove, setRole } from '../../src/device/connections/members.ts'
import { noWords } from '../../src/device/connections/no-words.ts'
import { rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { connections } from '../../src/handlers/connections.ts'
import { at } from '../world/requests.ts'
import {
  inPlaceOf,
  lost,
  others,
  owned,
  rotates,
  showingBranch,
  synced,
} from './histories/forking.ts'
import { type DeviceUser, isIn, joinMembers, verifies } from '../world/world.ts'
import { rejects } from '../rejects.ts'
import { instead, restless } from '../world/interceptor.ts'

/**
 * Ada and Bob own a connection with Cy and Dee in it; Cy is an owner too on request.
 * The server lost the entry that Bob signed, so any entry that is signed now forks the history
 * for him.
 */
async function scene(t: TestContext, cyIs: 'owner' | 'member' = 'member') {
  const { world, ada, bob: before, cy, id } = await owned(t)
  const dee = await world.person('dee')
  await joinMembers(ada, id, [dee])
  if (cyIs === 'owner')
    await setRole(ada.device(), ada.account(), id, { member: cy.id, role: 'owner' })
  for (const user of [before, cy]) await user.sync()
  const { user: bob } = await lost(before, id, rotates(id))
  return { world, ada, bob, cy, dee, id }
}

const removes = ({ ada, cy, id }: Scene) => remove(ada.device(), ada.account(), id, cy.id)
type Scene = Awaited<ReturnType<typeof scene>>

/** Shows Bob’s device both histories; it opens a replacement when it is his turn. */
async function replaced({ world, bob, id }: Pick<Scene, 'world' | 'bob' | 'id'>): Promise<string> {
  await synced(bob)
  world.later(10)
  await synced(bob)
  return inPlaceOf(bob, id)
}

/** Syncs all devices until nothing is left to do. */
async function settle(...users: readonly DeviceUser[]) {
  for (let round = 0; round < 3; round++) for (const user of users) await synced(user)
}

const roleOf = (by: DeviceUser, connection: string, { id }: DeviceUser) =>
  rememberedRoster(by.state, connection)?.roster.members.find(({ account }) => account === id)?.role

const invited = async (user: DeviceUser) =>
  (await user.account().invitations.pending({})).received.length

describe('the owner who replaces a forked connection', () => {
  for (const [what, goes] of [
    ['was removed', removes],
    ['left', ({ cy, id }: Scene) => leaveOrEnd(cy.device(), cy.account(), id)],
  ] as const)
    it(`does not invite a member who ${what} in the other history`, async (t) => {
      const of = await scene(t)
      const { world, ada, bob, cy, dee, id } = of
      await goes(of)
      await dee.sync()
      const anew = await replaced(of)
      assert.match(bob.device().sync.last()?.error ?? '', /"cy" was not invited/)
      assert.equal(await invited(cy), 0)
      await settle(ada, dee, bob)
      world.later()
      assert(await verifies(dee, bob, anew))
      assert(await verifies(ada, dee, anew))
      assert(!isIn(bob, anew, cy))
      assert(bob.state.replacements.isSettled(id), 'nobody is waited for')
      // The user may decide otherwise.
      await joinMembers(bob, anew, [cy])
      assert.equal(roleOf(bob, anew, cy), 'member')
    })

  it('does not invite a former member who signed another entry after the one before their removal', async (t) => {
    const { world, ada, bob, cy, id } = await owned(t)
    await setRole(ada.device(), ada.account(), id, { member: cy.id, role: 'owner' })
    for (const user of [bob, cy]) await user.sync()
    const seq = bob.state.logs.head('roster', id)!.seq + 1
    const { user: former, entry } = await lost(cy, id, rotates(id))
    // The account server shows that to Bob in place of the removal, and is honest from then on.
    const late = bob.restart(showingBranch(id, seq, entry))
    await synced(late)
    await remove(ada.device(), ada.account(), id, cy.id)
    const honest = late.restart((account) => restless(account))
    const anew = await replaced({ world, bob: honest, id })
    await settle(ada, former, honest)
    world.later()
    assert(await verifies(ada, honest, anew))
    assert.deepEqual([isIn(honest, anew, cy), await invited(former)], [false, 0])
  })

  it('gives no role that the other history took back', async (t) => {
    const of = await scene(t, 'owner')
    const { ada, bob, cy, dee, id } = of
    await setRole(ada.device(), ada.account(), id, { member: cy.id, role: 'member' })
    const anew = await replaced(of)
    await settle(ada, dee, cy, bob)
    assert.deepEqual([roleOf(bob, anew, cy), roleOf(bob, anew, ada)], ['member', 'owner'])
  })

  it('does not add a member who was removed after the replacement was opened', async (t) => {
    const of = await scene(t)
    const { ada, bob, cy } = of
    await rotates(of.id)(ada)
    const anew = await replaced(of)
    await cy.approve()
    await removes(of)
    assert.match(
      await synced(bob),
      /"cy" left the connection .* was therefore not added\. If this member belongs/,
    )
    assert(!isIn(bob, anew, cy))
    assert.doesNotMatch(await synced(bob), /"cy"/)
    // Cy has approved: the user of Bob’s device has to decide.
    await bob.invite(anew, { user_id: cy.id })
    await synced(bob)
    assert.equal(roleOf(bob, anew, cy), 'member')
  })

  it('opens nothing if each other member left one of the histories, and reports what to do', async (t) => {
    const { world, ada, bob: before, cy, id } = await owned(t)
    const { user: bob } = await lost(before, id, (user) =>
      remove(user.device(), user.account(), id, ada.id),
    )
    await remove(ada.device(), ada.account(), id, cy.id)
    await synced(bob)
    world.later(10)
    await synced(bob)
    assert.equal(bob.state.replacements.inPlaceOf(id), null)
    const { message, details } = await noWords(bob.device(), bob.account(), id)
    assert.equal(details.state, 'roster_forked')
    assert.match(message, /no member to invite\. .* create a connection .* delete this one/)
  })

  it('returns as a member after another owner removed it there', async (t) => {
    const of = await scene(t)
    const { ada, bob } = of
    await rotates(of.id)(ada)
    const anew = await replaced(of)
    await settle(ada, bob)
    await remove(ada.device(), ada.account(), anew, bob.id)
    await bob.sync()
    await joinMembers(ada, anew, [bob])
    assert.equal(roleOf(ada, anew, bob), 'member')
  })
})

describe('a device that follows to a replacement', () => {
  /**
   * Bob’s device added Cy before Ada, who knows of no fork yet, removed Cy. Dee has synced the
   * removal.
   */
  async function returned(t: TestContext, cyIs?: 'owner') {
    const of = await scene(t, cyIs)
    const { ada, bob, cy, dee, id } = of
    await rotates(id)(ada)
    await dee.sync()
    const anew = await replaced(of)
    await cy.approve()
    await bob.sync()
    await cy.sync()
    await removes(of)
    return { ...of, anew }
  }

  it('suspends it while it has a member who was removed here, until an owner removes them there', async (t) => {
    const { world, ada, bob, cy, dee, anew } = await returned(t)
    await settle(ada, dee, bob)
    world.later()
    for (const user of [ada, dee, bob]) {
      assert.match(await synced(user), /"Bank".*"cy" came back through the fork/)
      assert.equal(await verifies(user, cy, anew), false)
      assert.equal(user.words(anew), null)
      await rejects('invalid_state', connections.code({ id: anew }, at(user)), {
        state: 'member_returned',
        says: /came back through the fork.*remove-member/,
      })
    }
    await remove(ada.device(), ada.account(), anew, cy.id)
    await settle(bob, dee)
    world.later()
    assert(await verifies(dee, bob, anew))
    // An owner may decide that the account belongs in it.
    await joinMembers(bob, anew, [cy])
    await settle(ada, dee)
    world.later()
    assert(await verifies(dee, cy, anew))
    assert(await verifies(ada, cy, anew))
  })

  it('suspends it while it has members added by such a member, too', async (t) => {
    const { world, ada, bob, cy, dee, anew } = await returned(t, 'owner')
    const eve = await world.person('eve')
    await joinMembers(cy, anew, [eve])
    await settle(ada, dee, bob)
    world.later()
    await remove(ada.device(), ada.account(), anew, cy.id)
    await settle(dee, bob)
    world.later()
    assert.equal(await verifies(dee, bob, anew), false)
    assert.match(await synced(dee), /"eve" .* was added by such a member/)
    await remove(bob.device(), bob.account(), anew, eve.id)
    await settle(dee)
    world.later()
    assert(await verifies(dee, bob, anew))
  })

  it('uses the history that its user approves to decide who left', async (t) => {
    const { world, bob, cy, dee, id, anew } = await returned(t)
    await settle(dee, bob)
    assert.equal(dee.words(anew), null)
    await connections.delete({ id: anew }, at(dee))
    // Bob wants Cy in it. His device also suspends the connection until then.
    await remove(bob.device(), bob.account(), anew, cy.id)
    world.later()
    await joinMembers(bob, anew, [cy])
    await bob.invite(anew, { user_id: dee.id })
    await synced(dee)
    assert.equal(await invited(dee), 1, 'the person is asked')
    await dee.approve()
    await settle(bob, dee)
    world.later()
    assert(await verifies(dee, cy, anew))
    assert.equal(dee.state.connections.get(id)?.hold, 'roster_forked')
  })

  it('suspends it while it has an owner who was made a member here', async (t) => {
    const of = await scene(t, 'owner')
    const { world, ada, bob, cy, dee, id } = of
    await rotates(id)(ada)
    const anew = await replaced(of)
    await cy.approve()
    await bob.sync()
    await setRole(ada.device(), ada.account(), id, { member: cy.id, role: 'member' })
    await settle(ada, dee, bob)
    world.later()
    assert.equal(roleOf(dee, anew, cy), 'owner')
    assert.equal(await verifies(dee, cy, anew), false)
    await setRole(ada.device(), ada.account(), anew, { member: cy.id, role: 'member' })
    await settle(dee, cy)
    world.later()
    assert(await verifies(dee, cy, anew))
  })

  it('follows no replacement of a connection that an owner had ended', async (t) => {
    const { ada, bob, cy, id } = await owned(t)
    const { entry } = await lost(bob, id, rotates(id))
    await remove(ada.device(), ada.account(), id, bob.id)
    await connections.delete({ id }, at(ada))
    await cy.sync()
    const { logs } = cy.state
    const { seq } = JSON.parse(Buffer.from(entry.split('.')[1]!, 'base64url').toString()) as {
      seq: number
    }
    const fork = [logs.read('roster', id)[seq]!, entry] as const
    const wanted = {
      name: 'Bank',
      invite: [{ user_id: cy.id }],
      preset_id: null,
      replaces: id,
      fork,
    }
    const act = { id: new Uint8Array(16).fill(7), at: ada.device().now() }
    const made = await openConnection(ada.device(), ada.account(), wanted, act)
    const [invitation] = (await cy.account().invitations.pending({})).received
    const [opening] = (await ada.account().rosters.read({ connection: made.id })).entries
    // No honest server delivers a hint from an account that has left the connection.
    const hint = {
      invitation: invitation!.id,
      entry: opening!,
      fork: [...fork] as [string, string],
    }
    const hinted = cy.restart(
      instead('duties', 'read', (honest) => async (of) => ({
        ...(await honest(of)),
        replacements: [hint],
      })),
    )
    assert.equal(await synced(hinted), '')
    assert.equal(await invited(cy), 1, 'the person decides')
    assert.deepEqual((await others(hinted, id)).length, 0)
    assert.equal(hinted.state.connections.get(id)?.hold, 'ended')
  })
})
