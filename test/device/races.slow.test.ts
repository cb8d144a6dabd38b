/**
 * Tests events between a request and its answer: in this process, at another member, or in a
 * crash.
 * The result equals that of one after the other.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { remove, rotateNow, setRole } from '../../src/device/connections/members.ts'
import { AppError } from '../../src/errors.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../world/requests.ts'
import { gate } from './enrolled.ts'
import {
  type DeviceUser,
  connected,
  consentFor,
  newWorld,
  joinMembers,
  verifies,
  three,
} from '../world/world.ts'

/** Returns the account; work runs after an entry was accepted. */
const afterAppend =
  (work: (calls: number) => Promise<unknown>) =>
  (account: Account): Account => {
    let calls = 0
    return {
      ...account,
      rosters: {
        ...account.rosters,
        append: async (of) => {
          const answer = await account.rosters.append(of)
          calls += 1
          await work(calls)
          return answer
        },
      },
    }
  }

describe('words of a removed member do not verify', () => {
  it('although another owner removed them between the device’s entry and its read', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await bob.sync()
    const busy = ada.restart(
      afterAppend(async () => {
        await cy.sync()
        await remove(bob.device(), bob.account(), id, cy.id)
      }),
    )
    await rotateNow(busy.device(), busy.account(), id)
    world.later()
    await busy.sync()
    assert.equal((await busy.hears(cy.words(id))).verified, false)
  })

  it('although the answer to an earlier removal came after theirs', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const dee = await world.person('dee')
    await joinMembers(ada, id, [dee])
    const [first, second] = [gate(), gate()]
    const slow = ada.restart(
      afterAppend(async (calls) => {
        if (calls > 1) return
        await cy.sync()
        first.resolve()
        await second.promise
      }),
    )
    const bobs = remove(slow.device(), slow.account(), id, bob.id)
    await first.promise
    await remove(slow.device(), slow.account(), id, cy.id)
    second.resolve()
    await bobs
    world.later()
    await slow.sync()
    await dee.sync()
    assert.equal((await slow.hears(cy.words(id))).verified, false)
    assert(await verifies(slow, dee, id))
  })

  it('although a sync with their envelope ended later', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const laptop = await world.further(ada, 'laptop')
    await bob.sync()
    const [asked, go] = [gate(), gate()]
    const slow = laptop.restart((account) => ({
      ...account,
      envelopes: {
        ...account.envelopes,
        read: async (of) => {
          const answer = await account.envelopes.read(of)
          asked.resolve()
          await go.promise
          return answer
        },
      },
    }))
    const running = slow.device().sync.run('request')
    await asked.promise
    await remove(slow.device(), slow.account(), id, cy.id)
    go.resolve()
    await running
    world.later()
    assert.equal((await slow.hears(cy.words(id))).verified, false)
  })

  it('although the read after the removal failed, also after a restart', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const cut = ada.restart((account) => ({
      ...account,
      connections: {
        ...account.connections,
        read: () => Promise.reject(new AppError('backend_unavailable', 'Away.')),
      },
    }))
    await assert.rejects(remove(cut.device(), cut.account(), id, cy.id))
    assert.equal((await cut.hears(cy.words(id))).verified, false)
    await bob.sync()
    world.later()
    const again = cut.restart((account) => account)
    assert(await verifies(again, bob, id))
    assert(await verifies(bob, again, id))
  })
})

describe('a removed member returns only by a new invitation', () => {
  const isOut = async (user: DeviceUser, id: string) => {
    await user.device().sync.run('request')
    assert.equal(user.device().vault.has(id), false)
    assert.equal(user.words(id), null)
  }

  it('not by another, earlier invitation', async (t) => {
    const world = await newWorld(t)
    const [ada, cy] = [await world.person('ada'), await world.person('cy')]
    const id = await ada.connect()
    await ada.invite(id, { email: 'cy@example.org' })
    await joinMembers(ada, id, [cy])
    await remove(ada.device(), ada.account(), id, cy.id)
    // The real account server ends that invitation. This one reports it as approved and accepts
    // every entry.
    const consent = await consentFor(cy, ada, id)
    const joins = [{ connection: id, account: cy.id, email: 'cy@example.org', consent }]
    let entries = 0
    const lied = ada.restart((account) => ({
      ...account,
      invitations: { ...account.invitations, list: async () => ({ received: [], sent: [] }) },
      duties: { read: async () => ({ joins, unsealed: [] }) },
      rosters: {
        ...account.rosters,
        append: async () => ({ seq: ++entries, head: 'A'.repeat(43) }),
      },
    }))
    await lied.sync()
    assert.equal(entries, 0)
  })

  it('not by a confirmation of their keys that was cut off', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await trustCards.create({ body: { user_id: cy.id } }, at(ada))
    const anew = await world.reset('cy')
    await ada.sync()
    await bob.sync()
    await trustCards.list({ limit: 50 }, at(ada))
    const cut = ada.restart((account) => ({
      ...account,
      rosters: {
        ...account.rosters,
        append: () => Promise.reject(new AppError('backend_unavailable', 'Away.')),
      },
    }))
    await confirmAt(cut, cy.id)
    await remove(bob.device(), bob.account(), id, cy.id)
    await cut.restart((account) => account).sync()
    await isOut(anew, id)
  })
})

describe('an ended invitation adds no account that the account server names', () => {
  for (const [how, email] of [
    ['refused', 'ada@example.org'],
    ['declined', 'zoe@example.org'],
    ['long ago', 'zoe@example.org'],
    ['withdrawn on another device', 'zoe@example.org'],
  ] as const)
    it(how, async (t) => {
      const world = await newWorld(t)
      const [ada, bob, eve] = [
        await world.person('ada'),
        await world.person('bob'),
        await world.person('eve'),
      ]
      const laptop = await world.further(ada, 'laptop')
      const id = await connected(ada, bob)
      const made = await ada.invite(id, { email }).catch(() => null)
      assert.equal(made === null, how === 'refused')
      if (how === 'declined') {
        const zoe = await world.person('zoe')
        await zoe.account().invitations.decline({ id: made?.id ?? '' })
      }
      if (how === 'long ago') world.later(60 * 24 * 16)
      if (how === 'withdrawn on another device')
        await invitations.withdraw({ id: made?.id ?? '' }, at(laptop))
      await ada.sync()
      const consent = await consentFor(eve, ada, id)
      const joins = [{ connection: id, account: eve.id, email, consent }]
      const lied = ada.restart((account) => ({
        ...account,
        duties: { read: async () => ({ joins, unsealed: [] }) },
        rosters: { ...account.rosters, append: () => assert.fail('something was signed') },
      }))
      await lied.sync()
    })
})

describe('keys that change meanwhile', () => {
  it('of the own account, during other fetches: the device signs by the log that it checked', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    const id = await connected(ada, bob)
    await world.further(bob, 'tablet')
    let fetched = false
    const busy = ada.restart((account) => ({
      ...account,
      keyLogs: {
        ...account.keyLogs,
        read: async (of) => {
          const answer = await account.keyLogs.read(of)
          if (!fetched && of.account === bob.id) {
            fetched = true
            await world.further(ada, 'phone')
          }
          return answer
        },
      },
    }))
    assert.equal((await rotateNow(busy.device(), busy.account(), id)).epoch, 2)
  })
})
