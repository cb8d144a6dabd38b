/**
 * Tests that an approval is for the inviter and the connection that the user could read.
 * The account server cannot name others afterwards.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Invitation } from '../../src/api/rest/invitations.ts'
import { AppError } from '../../src/errors.ts'
import { type HandlerContext, contextOf } from '../../src/handlers/context.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { at } from '../world/requests.ts'
import { type DeviceUser, isIn, worldOf } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

const DAY_MINUTES = 24 * 60

/**
 * Ada and Eve each invite Bob to a connection of theirs; `trap` is the content of Eve’s
 * invitation.
 */
async function invited(t: TestContext) {
  const { world, ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
  const id = await ada.connect()
  const { id: invitation } = await ada.invite(id, { user_id: bob.id })
  const trap = { connection: await eve.connect('Trap'), inviter: eve.id }
  return { world, ada, bob, eve, id, invitation, trap }
}

type Trap = Awaited<ReturnType<typeof invited>>['trap']

const wanting = (trap: Partial<Trap>) =>
  instead('consents', 'wanted', (honest) => async (of) => ({ ...(await honest(of)), ...trap }))

/** Returns the invitation as the account server lists it when it names the trap. */
const asTrap = (one: Invitation, { connection, inviter }: Trap): Invitation => ({
  ...one,
  connection_id: connection,
  from: { ...one.from, user_id: inviter },
})

/** An account server with changed lists, which asks for consents to the trap. */
const listing =
  (change: (all: readonly Invitation[]) => Invitation[], trap: Partial<Trap> = {}) =>
  (account: Account): Account => {
    const changed = instead('invitations', 'list', (honest) => async (of) => {
      const { received, sent } = await honest(of)
      return { received: change(received), sent }
    })(account)
    return wanting(trap)(changed)
  }

const list = (user: DeviceUser) => invitations.list({}, at(user))
const approve = (user: DeviceUser, id: string) => invitations.approve({ id, body: {} }, at(user))
const consents = ({ state }: DeviceUser) => state.consents.connections()

/** An account server that lists many others of the trap, and neither of the honest ones. */
const flooding = (trap: Trap, count: number, from = 0) =>
  listing((all) =>
    Array.from({ length: count }, (_, n) => ({
      ...asTrap(all[0]!, trap),
      // Higher than each id that an honest server makes now.
      id: `inv_7${String(from + n).padStart(25, '0')}`,
      state: 'pending' as const,
    })),
  )

/** Returns the context of a request from another program. */
const byAnother = (user: DeviceUser): HandlerContext => {
  const { home, caller } = at(user)
  const token = 'tok_2'
  return contextOf(home, { ...caller!, token }, { token: 'csd_', accept: '' }, null)
}

const isOther = (error: unknown) => {
  assert(error instanceof AppError)
  assert.deepEqual([error.code, error.details.state], ['backend_error', 'other_invitation'])
  return true
}

describe('an invitation that was listed', () => {
  for (const member of ['inviter', 'connection', 'both'] as const)
    it(`is not approved for another one (${member}), also after a restart`, async (t) => {
      const { ada, bob, id, invitation, trap } = await invited(t)
      await list(bob)
      const change = member === 'both' ? trap : { [member]: trap[member] }
      const lied = bob.restart(wanting(change))
      await assert.rejects(approve(lied, invitation), isOther)
      assert.deepEqual(consents(lied), [])
      await approve(
        bob.restart((account) => account),
        invitation,
      )
      await ada.sync()
      assert(isIn(ada, id, bob))
    })

  it('is not approved if only invitations that await an answer were listed', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    await invitations.pending({}, at(bob))
    await assert.rejects(approve(bob.restart(wanting(trap)), invitation), isOther)
  })

  it('is not approved after another list named others, in either order', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    const trapped = (all: readonly Invitation[]) => all.map((one) => asTrap(one, trap))
    // No user may have read the first list.
    await list(bob.restart(listing(trapped)))
    await list(bob.restart((account) => account))
    for (const wanted of [trap, {}])
      await assert.rejects(approve(bob.restart(wanting(wanted)), invitation), isOther)
    assert.deepEqual(consents(bob), [])
  })

  it('is not approved if it was listed without an inviter', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    const unnamed = (all: readonly Invitation[]) =>
      all.map((one) => ({ ...one, from: { ...one.from, user_id: null } }))
    const lied = bob.restart(listing(unnamed, trap))
    await list(lied)
    await assert.rejects(approve(lied, invitation), isOther)
    assert.deepEqual(consents(lied), [])
  })

  it('is not approved for another one if the list arrived during the approval', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    const asked = Promise.withResolvers<void>()
    const listed = Promise.withResolvers<void>()
    const slow = bob.restart(
      instead('consents', 'wanted', (honest) => async (of) => {
        asked.resolve()
        await listed.promise
        return { ...(await honest(of)), ...trap }
      }),
    )
    const approving = approve(slow, invitation)
    await asked.promise
    await list(slow)
    listed.resolve()
    await assert.rejects(approving, isOther)
    assert.deepEqual(consents(slow), [])
  })

  it('is not approved if one list has it twice', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    const twice = listing((all) => [...all.map((one) => asTrap(one, trap)), ...all], trap)
    const lied = bob.restart(twice)
    await list(lied)
    await assert.rejects(approve(lied, invitation), isOther)
  })

  it('is stored as long as it is listed as open, and a month after', async (t) => {
    const { world, bob, invitation } = await invited(t)
    const listed = (user: DeviceUser) => user.state.listedInvitations.get(invitation) !== null
    const open = bob.restart(listing((all) => all.map((one) => ({ ...one, state: 'pending' }))))
    for (let month = 0; month < 3; month++) {
      await list(open)
      world.later(31 * DAY_MINUTES)
    }
    assert(listed(open))
    world.later(2 * DAY_MINUTES)
    const other = `${invitation.slice(0, -1)}${invitation.endsWith('0') ? '1' : '0'}`
    await list(
      bob.restart(listing((all) => all.map((one) => ({ ...one, id: other, state: 'pending' })))),
    )
    assert(!listed(bob))
  })
})

describe('an invitation beyond the number that a device stores', () => {
  const MANY = 10_000
  const honest = (account: Account) => account
  const isReadAgain = (error: unknown) => {
    assert(error instanceof AppError)
    assert.deepEqual([error.code, error.details.state], ['invalid_state', 'read_again'])
    return true
  }
  const approveByAnother = (user: DeviceUser, id: string) =>
    invitations.approve({ id, body: {} }, byAnother(user))

  it('is not approved for another one after its record was deleted', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    await list(bob)
    await invitations.list({}, byAnother(bob.restart(flooding(trap, MANY))))
    const lied = bob.restart(wanting(trap))
    await assert.rejects(approve(lied, invitation), isReadAgain)
    assert.deepEqual(consents(lied), [])
  })

  it('is approved at the second attempt, after an error that names connection and inviter', async (t) => {
    const { ada, bob, id, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY)))
    const back = bob.restart(honest)
    await assert.rejects(approve(back, invitation), (error: unknown) => {
      assert(isReadAgain(error))
      const { message } = error as AppError
      assert(message.includes(id) && message.includes(ada.id), message)
      return true
    })
    assert.equal((await approve(back, invitation)).from.user_id, ada.id)
  })

  it('is approved at the second attempt after it was listed again, and stays among many others of that day', async (t) => {
    const { world, ada, bob, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY)))
    await list(bob.restart(honest))
    world.later(1)
    await list(bob.restart(flooding(trap, MANY - 1, MANY)))
    const lied = bob.restart(wanting(trap))
    await assert.rejects(approve(lied, invitation), isReadAgain)
    await assert.rejects(approve(lied, invitation), isOther)
    const { from } = await approve(bob.restart(honest), invitation)
    assert.equal(from.user_id, ada.id)
  })

  it('is not deleted by a list that has it', async (t) => {
    const { ada, bob, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY - 1)))
    const others = flooding(trap, 1, MANY)
    await list(
      bob.restart((account) => ({
        ...account,
        invitations: {
          ...account.invitations,
          list: async (of) => {
            const [one, many] = await Promise.all([
              account.invitations.list(of),
              others(account).invitations.list(of),
            ])
            return { received: [...many.received, ...one.received], sent: [] }
          },
        },
      })),
    )
    await assert.rejects(approve(bob.restart(wanting(trap)), invitation), isOther)
    const { from } = await approve(bob.restart(honest), invitation)
    assert.equal(from.user_id, ada.id)
  })

  it('is not approved unread if a list for another program named others since', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY)))
    const trapped = listing((all) => all.map((one) => asTrap(one, trap)), trap)
    const lied = bob.restart(trapped)
    await invitations.list({}, byAnother(lied))
    await assert.rejects(approve(lied, invitation), isReadAgain)
    assert.deepEqual(consents(lied), [])
  })

  it('is approved at the second attempt while a program lists repeatedly', async (t) => {
    const { ada, bob, invitation, trap } = await invited(t)
    await list(bob.restart(flooding(trap, MANY + 1)))
    const back = bob.restart(honest)
    await list(back)
    await invitations.list({}, byAnother(back))
    await assert.rejects(approve(back, invitation), isReadAgain)
    await invitations.list({}, byAnother(back))
    assert.equal((await approve(back, invitation)).from.user_id, ada.id)
  })

  it('is not approved unread if a program with the rights of the command line listed others', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY)))
    const lied = bob.restart(listing((all) => all.map((one) => asTrap(one, trap)), trap))
    await list(lied)
    await assert.rejects(approve(lied, invitation), isReadAgain)
    assert.deepEqual(consents(lied), [])
  })

  it('that another program read is approved at the second attempt', async (t) => {
    const { ada, bob, invitation, trap } = await invited(t)
    await list(bob)
    await list(bob.restart(flooding(trap, MANY)))
    const back = bob.restart(honest)
    await list(back)
    await assert.rejects(approveByAnother(back, invitation), isReadAgain)
    assert.equal((await approveByAnother(back, invitation)).from.user_id, ada.id)
  })

  it('is approved at once after the longest lifetime of an invitation', async (t) => {
    const { world, ada, bob, trap } = await invited(t)
    await list(bob.restart(flooding(trap, MANY + 1)))
    world.later(33 * DAY_MINUTES)
    const later = await ada.invite(await ada.connect('Later'), { user_id: bob.id })
    const { from } = await approve(bob.restart(honest), later.id)
    assert.equal(from.user_id, ada.id)
  })
})

describe('an invitation that was not listed', () => {
  it('is approved for the connection and inviter that the server names, and the answer contains both', async (t) => {
    const { ada, bob, id, invitation } = await invited(t)
    await ada.sync()
    const { connection_id, from } = await approve(bob, invitation)
    assert.deepEqual(
      [connection_id, from.user_id, from.display_name, from.name_source],
      [id, ada.id, 'ada', 'self'],
    )
  })

  it('is approved again only for the same connection and inviter', async (t) => {
    const { bob, invitation, trap } = await invited(t)
    await approve(bob, invitation)
    await assert.rejects(approve(bob.restart(wanting(trap)), invitation), isOther)
    assert.equal((await approve(bob, invitation)).state, 'approved')
  })

  it('is withdrawn if the answer to the consent names another inviter', async (t) => {
    const { ada, bob, id, invitation, trap } = await invited(t)
    const lied = bob.restart(
      instead('consents', 'give', (honest) => async (of) => asTrap(await honest(of), trap)),
    )
    await assert.rejects(approve(lied, invitation), isOther)
    await ada.sync()
    assert(isIn(ada, id, bob))
    const { error } = await lied.device().sync.run('request')
    assert.match(error ?? '', /withdrawn/)
    await ada.sync()
    assert(!isIn(ada, id, bob))
  })
})
