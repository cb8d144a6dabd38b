/**
 * Tests a change of the active organisation.
 * Pending data of this device is sent for the active organisation before another one becomes
 * active.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { AppError } from '../../src/errors.ts'
import { context } from '../../src/handlers/account.ts'
import { type Enrolled, enrolled } from '../device/enrolled.ts'
import { contextOf } from '../world/requests.ts'

const WRONG = 'matador carload recede'

/** Returns a device with its account active in an organisation of its own, and that one’s id. */
async function setUp(t: TestContext) {
  const device = await enrolled(t)
  const { id } = await device.account.organisations.create({ body: { name: 'Acme' } })
  await device.account.context.activeOrg({ body: { organisation_id: id } })
  device.clock.ms += 1
  return { device, id }
}

const use = (of: Enrolled, organisation_id: string | null, parts: Partial<Account> = {}) =>
  context.activeOrg({ body: { organisation_id } }, contextOf(of, parts))
const events = async ({ account }: Enrolled, organisation_id: string) => {
  await account.context.activeOrg({ body: { organisation_id } })
  return (await account.orgActivity.list({})).items.map(({ event }) => event)
}

describe('the active organisation', () => {
  it('verifications made in it are recorded there, although another is active when the log is pushed', async (t) => {
    const { device, id } = await setUp(t)
    await device.connect()
    await device.verifier.verify(WRONG, null)
    assert.equal((await use(device, null)).active_organisation, undefined)
    assert.equal(device.state.verifications.unpushed(9).length, 0)

    device.clock.ms += 1
    await device.verifier.verify(WRONG, null)
    await use(device, id)
    assert.deepEqual(await events(device, id), ['verification_failed', 'connection_created'])
  })

  it('verifications made before it was chosen are not recorded, although it is active when the log is pushed', async (t) => {
    const { device, id } = await setUp(t)
    await use(device, null)
    await device.connect()
    await device.verifier.verify(WRONG, null)
    device.clock.ms += 1
    await device.account.context.activeOrg({ body: { organisation_id: id } })
    await device.sync.run('request')
    assert.deepEqual(await events(device, id), [])
  })

  it('a rejected log does not prevent a change of it', async (t) => {
    const { device } = await setUp(t)
    const push = async () => {
      throw new AppError('internal', 'no')
    }
    const full = device.reopen({ verifications: { push } })
    await full.verifier.verify(WRONG, null)
    assert.equal((await use(full, null)).active_organisation, undefined)
    assert.equal(full.state.verifications.unpushed(9).length, 1)
    assert.deepEqual(
      full.logged.map(({ event }) => event),
      ['not handed over'],
    )
  })

  it('a machine token does not push the verification log of the daemon’s account', async (t) => {
    const { device } = await setUp(t)
    await device.verifier.verify(WRONG, null)
    const caller = { token: 'tok_2', scope: 'full', machine: device.account } as const
    await context.activeOrg({ body: { organisation_id: null } }, contextOf(device, {}, { caller }))
    assert.equal(device.state.verifications.unpushed(9).length, 1)
  })
})
