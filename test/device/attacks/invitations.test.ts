/**
 * Tests that an invitation adds only the account that the user invited.
 * That holds for any answers of the account server, as long as the user has not withdrawn the
 * invitation.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Invitation } from '../../../src/api/rest/invitations.ts'
import { openConnection } from '../../../src/device/connections/connections.ts'
import { AppError } from '../../../src/errors.ts'
import { invitations } from '../../../src/handlers/invitations.ts'
import { members } from '../../../src/handlers/connections.ts'
import { at } from '../../world/requests.ts'
import { gate } from '../enrolled.ts'
import {
  type DeviceUser,
  connected,
  consentFor,
  isIn,
  sayingApproved,
  verifies,
  worldOf,
} from '../../world/world.ts'
import { rejects } from '../../rejects.ts'
import { away, instead } from '../../world/interceptor.ts'

const MAIL = 'cy@example.org'

async function two(t: TestContext) {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  return { world, ada, bob, cy, id: await connected(ada, bob) }
}

/** Checks that nothing is signed if the account server reports an approval by Cy. */
async function takesNobodyIn(ada: DeviceUser, id: string, cy: DeviceUser, email: string | null) {
  const consent = await consentFor(cy, ada, id)
  const lied = ada.restart(sayingApproved(id, cy, consent, email))
  await lied.sync()
  assert.equal(isIn(lied, id, cy), false)
}

const withdraw = ({ id }: Invitation, user: DeviceUser) => invitations.withdraw({ id }, at(user))

const refused = async () => {
  throw new AppError('invalid_state', 'No.', { details: { state: 'approved' } })
}

describe('an invitation that was taken back adds no member', () => {
  it('to a mailbox, removed by the id of its invitation', async (t) => {
    const { ada, cy, id } = await two(t)
    const { id: mid } = await ada.invite(id, { email: MAIL })
    await members.remove({ id, mid }, at(ada))
    assert.deepEqual(ada.state.invites.all(), [])
    await takesNobodyIn(ada, id, cy, MAIL)
    await rejects('not_found', members.remove({ id, mid }, at(ada)))
  })

  it('if the account server answers with another invitation', async (t) => {
    const { ada, bob, cy, id } = await two(t)
    const made = await ada.invite(id, { user_id: cy.id })
    const to = { ...made.to, user_id: bob.id, email: null }
    const lied = ada.restart(
      instead('invitations', 'withdraw', () => async () => ({ ...made, state: 'withdrawn', to })),
    )
    await withdraw(made, lied)
    await takesNobodyIn(ada, id, cy, null)
  })

  it('if the account server is unreachable, so that the result is unknown', async (t) => {
    const { ada, cy, id } = await two(t)
    const made = await ada.invite(id, { user_id: cy.id })
    const cut = ada.restart(instead('invitations', 'withdraw', () => away))
    await rejects('backend_unavailable', withdraw(made, cut))
    await takesNobodyIn(ada, id, cy, null)
  })

  for (const by of ['account', 'mailbox'] as const)
    it(`made together with its connection, by ${by}`, async (t) => {
      const { world, ada, cy } = await worldOf(t, 'ada', 'cy')
      const invite = [by === 'account' ? { user_id: cy.id } : { email: MAIL }]
      const act = { id: randomBytes(16), at: world.clock.ms }
      const { id } = await openConnection(
        ada.device(),
        ada.account(),
        { name: 'Bank', invite },
        act,
      )
      const { sent } = await ada.account().invitations.list({})
      for (const made of sent) await withdraw(made, ada)
      assert.equal(sent.length, 1)
      await takesNobodyIn(ada, id, cy, by === 'account' ? null : MAIL)
    })

  it('to a mailbox, if its account is removed by the account id after the approval', async (t) => {
    const { ada, cy, id } = await two(t)
    await ada.invite(id, { email: MAIL })
    await cy.approve()
    await members.remove({ id, mid: cy.id }, at(ada))
    await takesNobodyIn(ada, id, cy, MAIL)
  })
})

describe('an invitation stays valid', () => {
  for (const [how, take] of [
    ['withdraw it', withdraw],
    [
      'remove the invitee',
      ({ connection_id: id }: Invitation, ada: DeviceUser, cy: DeviceUser) =>
        members.remove({ id, mid: cy.id }, at(ada)),
    ],
  ] as const)
    it(`if the account server refused to ${how}`, async (t) => {
      const { world, ada, cy, id } = await two(t)
      const made = await ada.invite(id, { email: MAIL })
      await cy.approve()
      const far = ada.restart((account) =>
        instead(
          'invitations',
          'withdraw',
          () => refused,
        )(instead('members', 'remove', () => refused)(account)),
      )
      await rejects('invalid_state', take(made, far, cy), { state: 'approved' })
      await ada.sync()
      await cy.sync()
      world.later()
      assert(await verifies(ada, cy, id))
    })

  it('if the account server refused to remove the invitee by account id', async (t) => {
    const { ada, cy, id } = await two(t)
    await ada.invite(id, { user_id: cy.id })
    const refused = { code: 'invalid_state' } as const
    const far = ada.restart(
      instead('members', 'remove', () => () => Promise.reject(new AppError(refused.code, 'No.'))),
    )
    await assert.rejects(members.remove({ id, mid: cy.id }, at(far)), refused)
    await cy.approve()
    await ada.sync()
    assert(isIn(ada, id, cy))
  })

  it('if it was made while a list with an earlier, ended invitation was on its way', async (t) => {
    const { world, ada, cy, id } = await two(t)
    const first = await ada.invite(id, { user_id: cy.id })
    await cy.account().invitations.decline({ id: first.id })
    const [asked, go] = [gate(), gate()]
    const slow = ada.restart(
      instead('invitations', 'list', (list) => async (of) => {
        const answer = await list(of)
        asked.resolve()
        await go.promise
        return answer
      }),
    )
    const running = slow.device().sync.run('timer')
    await asked.promise
    await slow.invite(id, { user_id: cy.id })
    go.resolve()
    await running
    await cy.approve()
    await slow.sync()
    await cy.sync()
    world.later()
    assert(await verifies(slow, cy, id))
  })

  it('if a sync received an earlier, ended invitation while this one was made', async (t) => {
    const { ada, cy, id } = await two(t)
    const first = await ada.invite(id, { user_id: cy.id })
    await cy.account().invitations.decline({ id: first.id })
    const slow: DeviceUser = ada.restart(
      instead('members', 'add', (add) => async (of) => {
        await slow.sync()
        return add(of)
      }),
    )
    await slow.invite(id, { user_id: cy.id })
    await cy.approve()
    await slow.sync()
    assert(isIn(slow, id, cy))
  })
})
