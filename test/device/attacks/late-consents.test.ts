/**
 * Tests consents by revoked devices.
 * A revoked device can still sign a consent at a place of the key log before its revocation, and
 * an owner can add the account at that place. Validation cannot distinguish this from a consent
 * that came in time, so the account’s other devices leave.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { leaveOrEnd, rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { membersOf, showingLog } from '../../world/lies.ts'
import { type DeviceUser, isIn, newWorld, verifies } from '../../world/world.ts'
import { away, instead } from '../../world/interceptor.ts'

/** Returns Eve with a phone, which approves an invitation of Ada’s. */
async function approvedByPhone(t: TestContext) {
  const world = await newWorld(t)
  const [ada, eve] = [await world.person('ada'), await world.person('eve')]
  const phone = await world.further(eve, 'phone')
  for (const user of [eve, phone]) await user.sync()
  const id = await ada.connect()
  await ada.invite(id, { user_id: eve.id })
  await phone.approve()
  const { joins } = await ada.account().duties.read({})
  const { seq } = await eve.device().identity.keyLog()
  /** Ada adds Eve at the place of Eve’s key log before the revocation. */
  const acceptAndSync = async () => {
    const knowing = showingLog(eve.id, (log) => ({
      ...log,
      entries: log.entries.slice(0, seq + 1),
    }))
    const lied = ada.restart((account) => ({
      ...knowing(account),
      invitations: { ...account.invitations, list: async () => ({ received: [], sent: [] }) },
      duties: { read: async () => ({ joins, unsealed: [] }) },
    }))
    await lied.device().sync.run('request')
    assert(isIn(lied, id, eve), 'Ada took Eve in')
    return ada.restart((account) => account)
  }
  return { world, ada, eve, phone, id, acceptAndSync }
}

/** Runs a sync that must succeed; returns its report. */
async function failure(user: DeviceUser): Promise<string> {
  const { ok, error } = await user.device().sync.run('request')
  assert(ok, error ?? '')
  return error ?? ''
}

/** Returns the ops that an account signed in a connection. */
async function opsOf(
  reader: DeviceUser,
  { id: actor }: DeviceUser,
  connection: string,
): Promise<unknown[]> {
  const { entries } = await reader.account().rosters.read({ connection })
  return entries
    .map(membersOf)
    .filter((entry) => entry['actor'] === actor)
    .map(({ op }) => op)
}

const LEFT =
  /by an approval of dev_\w{26}, a device that is revoked, so this device leaves the connection/

const cut = (account: Account): Account => instead('rosters', 'append', () => away)(account)

describe('an account that is added by a consent of a device that it had revoked', () => {
  it('leaves, reports that, and signs nothing else', async (t) => {
    const { ada, eve, phone, id, acceptAndSync } = await approvedByPhone(t)
    await eve.revoke(phone.deviceId)
    const after = await acceptAndSync()
    assert.match(await failure(eve), LEFT)
    assert.deepEqual(await opsOf(ada, eve, id), ['leave'])
    assert.equal(eve.words(id), null)
    assert.equal(await failure(eve), '')
    await after.sync()
    assert(!isIn(after, id, eve))
  })

  it('signs nothing while it cannot leave, and leaves later', async (t) => {
    const { ada, eve, phone, id, acceptAndSync } = await approvedByPhone(t)
    await eve.revoke(phone.deviceId)
    await acceptAndSync()
    await eve.restart(cut).device().sync.run('request')
    assert.deepEqual(await opsOf(ada, eve, id), [])
    assert.match(await failure(eve.restart((account) => account)), LEFT)
    assert.deepEqual(await opsOf(ada, eve, id), ['leave'])
  })

  it('leaves also if it learns of both at once, and no remaining device has signed', async (t) => {
    const { world, ada, eve, phone, id } = await approvedByPhone(t)
    const laptop = await world.further(eve, 'desk')
    await laptop.sync()
    await ada.sync()
    const deaf = eve.restart(cut)
    await deaf.sync()
    await deaf.revoke(phone.deviceId)
    assert.match(await failure(laptop), LEFT)
    assert.deepEqual(await opsOf(ada, eve, id), ['leave'])
  })

  it('that is the only owner reports the options of the user, and signs nothing', async (t) => {
    const { world, ada, eve, phone, id, acceptAndSync } = await approvedByPhone(t)
    const cy = await world.person('cy')
    await ada.invite(id, { user_id: cy.id })
    await cy.approve()
    await eve.revoke(phone.deviceId)
    const after = await acceptAndSync()
    await after.sync()
    await setRole(after.device(), after.account(), id, { member: eve.id, role: 'owner' })
    await leaveOrEnd(after.device(), after.account(), id)
    const error = await failure(eve)
    assert.match(error, LEFT)
    assert.match(error, /You are the only owner/)
    assert.deepEqual(await opsOf(eve, eve, id), [])
  })

  it('joins again by an approval of a device in its log', async (t) => {
    const { world, eve, phone, id, acceptAndSync } = await approvedByPhone(t)
    await eve.revoke(phone.deviceId)
    const after = await acceptAndSync()
    await failure(eve)
    world.later()
    await after.sync()
    await after.invite(id, { user_id: eve.id })
    await eve.approve()
    await after.sync()
    await eve.sync()
    world.later()
    assert(await verifies(after, eve, id))
  })

  it('stays if the user signs for the connection before the device could leave', async (t) => {
    const { eve, phone, id, acceptAndSync } = await approvedByPhone(t)
    await eve.revoke(phone.deviceId)
    await acceptAndSync()
    await eve.restart(cut).device().sync.run('request')
    const again = eve.restart((account) => account)
    await rotateNow(again.device(), again.account(), id)
    assert.equal(await failure(again), '')
    assert(isIn(again, id, eve))
  })
})

describe('an account stays in a connection', () => {
  it('that added it before it revoked the consenting device', async (t) => {
    const { world, ada, eve, phone, id } = await approvedByPhone(t)
    await ada.sync()
    await eve.sync()
    await eve.revoke(phone.deviceId)
    await eve.sync()
    await ada.sync()
    world.later()
    assert(await verifies(ada, eve, id))
  })

  it('that another device learns of together with the revocation, once a remaining device signed', async (t) => {
    const { world, ada, eve, phone, id } = await approvedByPhone(t)
    const laptop = await world.further(eve, 'desk')
    await laptop.sync()
    await ada.sync()
    await eve.sync()
    await eve.revoke(phone.deviceId)
    await laptop.sync()
    assert(isIn(laptop, id, eve))
    assert.deepEqual(await opsOf(ada, eve, id), ['rotate'])
  })

  it('that a device first sees at its first sync, however old it is', async (t) => {
    const { world, ada, eve, phone, id } = await approvedByPhone(t)
    await ada.sync()
    await phone.sync()
    const deaf = eve.restart(cut)
    await deaf.sync()
    await deaf.revoke(phone.deviceId)
    // Another member creates the new secret of the connection.
    await ada.sync()
    world.later(11)
    await ada.sync()
    const laptop = await world.further(
      eve.restart((account) => account),
      'desk',
    )
    assert.equal(await failure(laptop), '')
    assert(isIn(laptop, id, eve))
    assert.deepEqual(await opsOf(ada, eve, id), [])
  })
})
