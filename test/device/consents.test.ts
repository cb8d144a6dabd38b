/**
 * Tests consents.
 * The account is added by a consent that this device signed, unless the user withdrew it.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { approveInvitation } from '../../src/device/connections/consents.ts'
import { dismiss, dismissed } from '../../src/device/connections/ignored-connections.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { at } from '../world/requests.ts'
import { type DeviceUser, connected, isIn, newWorld, verifies, worldOf } from '../world/world.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const DAY_MINUTES = 24 * 60

/**
 * Ada invites Bob, who approves; `takesIn` adds Bob through a server that repeats the approval.
 */
async function approved(t: TestContext) {
  const world = await newWorld(t)
  const [ada, bob] = [await world.person('ada'), await world.person('bob')]
  const id = await ada.connect()
  await ada.invite(id, { user_id: bob.id })
  await bob.approve()
  const { joins } = await ada.account().duties.read({})
  /** Adds Bob, although an honest server would have ended the invitation. */
  const acceptAndSync = async () => {
    const lied = ada.restart((account) => ({
      ...account,
      invitations: { ...account.invitations, list: async () => ({ received: [], sent: [] }) },
      duties: { read: async () => ({ joins, unsealed: [] }) },
    }))
    await lied.sync()
    return lied
  }
  return { world, ada, bob, id, acceptAndSync }
}

const remembered = ({ state }: DeviceUser) => state.consents.connections()

describe('a consent', () => {
  it('is deleted when the account was added', async (t) => {
    const { ada, bob, id, acceptAndSync } = await approved(t)
    assert.deepEqual(remembered(bob), [id])
    await acceptAndSync()
    await bob.sync()
    assert.deepEqual(remembered(bob), [])
    assert(await verifies(ada, bob, id))
  })

  it('older than 30 days makes the device leave', async (t) => {
    const { world, bob, id, acceptAndSync } = await approved(t)
    const lied = await acceptAndSync()
    world.later(30 * DAY_MINUTES + 1)
    const { error } = await bob.device().sync.run('request')
    assert.match(error ?? '', /withdrawn or is older than 30 days/)
    await lied.sync()
    assert.deepEqual([isIn(lied, id, bob), remembered(bob)], [false, []])
  })

  it('that was withdrawn makes the device leave, even if the account server ignores the withdrawal', async (t) => {
    const { bob, id, acceptAndSync } = await approved(t)
    const { received } = await bob.account().invitations.list({})
    const deaf = bob.restart(
      instead('invitations', 'decline', () => async () => ({ ...received[0]!, state: 'declined' })),
    )
    await invitations.decline({ id: received[0]!.id }, at(deaf))
    const lied = await acceptAndSync()
    assert.equal(isIn(lied, id, bob), true)
    await deaf.device().sync.run('request')
    await lied.sync()
    assert.equal(isIn(lied, id, bob), false)
  })

  it('declined on another device, according to the server: the user is asked, once', async (t) => {
    const { world, bob, id, acceptAndSync } = await approved(t)
    const phone = await world.further(bob, 'phone')
    const { received } = await phone.account().invitations.list({})
    // The account server adds Bob nevertheless: for Ada the invitation stays approved.
    const declined = { ...received[0]!, state: 'declined' as const }
    const seating = instead('invitations', 'decline', () => async () => declined)
    const telling = instead('invitations', 'list', (honest) => async (query) => {
      const { sent } = await honest(query)
      return { sent, received: query.state === 'declined' ? [declined] : [] }
    })
    await invitations.decline({ id: declined.id }, at(phone.restart(seating)))
    const lied = await acceptAndSync()
    assert.equal(isIn(lied, id, bob), true)
    const restarted = bob.restart(telling)
    const { error } = await restarted.device().sync.run('request')
    assert.match(
      error ?? '',
      /another device declined the invitation.* leave the connection: "countersignd connection leave/,
    )
    await lied.sync()
    assert.deepEqual([isIn(lied, id, bob), remembered(bob)], [true, []])
    await restarted.sync()
    assert(await verifies(lied, restarted, id))
  })

  it('is not withdrawn on a false report of the server that it was declined', async (t) => {
    const { ada, bob, id } = await approved(t)
    const { received } = await bob.account().invitations.list({})
    await ada.sync()
    const lying = bob.restart(
      instead('invitations', 'list', () => async ({ state }) => ({
        sent: [],
        received: state === 'declined' ? [{ ...received[0]!, state: 'declined' as const }] : [],
      })),
    )
    assert.match(
      (await lying.device().sync.run('request')).error ?? '',
      /According to the account server/,
    )
    await ada.sync()
    assert(isIn(ada, id, bob))
    assert(await verifies(ada, lying, id))
  })

  it('restores only the connection that it is for among those that the user deleted', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const given = await connected(ada, bob)
    dismiss(bob.state, given)
    const other = await ada.connect('Other')
    dismiss(bob.state, other)
    await ada.invite(other, { user_id: bob.id })
    const lying = bob.restart(
      instead('consents', 'give', (honest) => async (of) => ({
        ...(await honest(of)),
        connection_id: given,
      })),
    )
    const [invitation] = (await lying.account().invitations.pending({})).received
    const lied = approveInvitation(lying.device(), lying.account(), invitation!.id)
    await rejects('backend_error', lied, { state: 'other_invitation' })
    assert.deepEqual(new Set(dismissed(lying.state)), new Set([given, other]))
    await approveInvitation(bob.device(), bob.account(), invitation!.id)
    assert.deepEqual([...dismissed(bob.state)], [given])
  })

  it('is not withdrawn by declining an earlier invitation to the same connection', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await ada.connect()
    const phone = await world.further(bob, 'phone')
    await ada.invite(id, { user_id: bob.id })
    const { received } = await phone.account().invitations.pending({})
    await invitations.decline({ id: received[0]!.id }, at(phone))
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    await ada.sync()
    await bob.sync()
    assert(await verifies(ada, bob, id))
  })
})
