/**
 * Tests entries that an account server shows while this device signs.
 * The device detects two histories, and loses nothing that it made meanwhile.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { readEnvelope } from '../../../src/crypto/envelope-form.ts'
import { Refusal } from '../../../src/crypto/refusal.ts'
import { remove, rotateNow, setRole } from '../../../src/device/connections/members.ts'
import { AppError } from '../../../src/errors.ts'
import { gate } from '../enrolled.ts'
import { type DeviceUser, connected, joinMembers, verifies, worldOf } from '../../world/world.ts'
import { rejects } from '../../rejects.ts'
import { instead, restless } from '../../world/interceptor.ts'

type Appended = Parameters<Account['rosters']['append']>[0]['body']

const acknowledged = async () => ({ seq: 4, head: 'A'.repeat(43) })

const isSealedTo = (device: string) => (envelope: string) =>
  readEnvelope(envelope).recipient === device

/** Makes an entry of Bob, an owner, that the account server hides from all other accounts. */
async function hiddenEntry(
  t: TestContext,
  sign: (bob: DeviceUser, id: string, cy: DeviceUser) => unknown,
) {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  const id = await ada.connect()
  await joinMembers(ada, id, [bob, cy])
  await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
  await bob.sync()
  const stored = gate<Appended>()
  const hiding = bob.restart(
    instead('rosters', 'append', () => async ({ body }) => {
      stored.resolve(body)
      return acknowledged()
    }),
  )
  await sign(hiding, id, cy)
  return { world, ada, bob: hiding, cy, id, hidden: await stored.promise }
}

/**
 * Restarts Ada’s device with a server that deceives it.
 * While its next entry is on the way, the server shows a sync the hidden entry in its place.
 * @returns also the entry that the device signed
 */
async function deceived({ ada, id, hidden }: { ada: DeviceUser; id: string; hidden: Appended }) {
  const known = await ada.account().rosters.read({ connection: id })
  const { envelopes } = await ada.account().envelopes.read({ connection: id })
  const own = gate<string>()
  let shows = false
  const lied: DeviceUser = ada.restart((account) => ({
    ...restless(account),
    rosters: {
      ...account.rosters,
      read: async () => (shows ? { ...known, entries: [...known.entries, hidden.entry] } : known),
      append: async ({ body }) => {
        own.resolve(body.entry)
        shows = true
        await lied.device().sync.run('timer')
        return acknowledged()
      },
    },
    envelopes: {
      ...account.envelopes,
      read: async () => ({
        envelopes: [...envelopes, ...hidden.envelopes.filter(isSealedTo(ada.deviceId))],
      }),
    },
  }))
  return { lied, own: own.promise }
}

/**
 * Checks that both histories are stored and that no member verifies here, now or after a restart.
 */
async function isForked(
  user: DeviceUser,
  { bob, cy, id }: { bob: DeviceUser; cy: DeviceUser; id: string },
  entries: readonly string[],
) {
  const { state } = user
  const stored = [
    state.logs.head('roster', id)?.entry,
    ...state.forks.read(id).map(({ entry }) => entry),
  ]
  assert.deepEqual(new Set(stored), new Set(entries))
  for (const here of [user, user.restart()]) {
    assert.equal(here.words(id), null)
    for (const speaker of [bob, cy]) {
      const { verified, conclusive, reasons } = await here.hears(speaker.words(id))
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['roster_forked']])
    }
  }
}

const isFork = (error: unknown) => {
  assert(error instanceof AppError && error.cause instanceof Refusal, String(error))
  assert.deepEqual([error.code, error.cause.reason], ['backend_error', 'roster_forked'])
  return true
}

describe('a fork around the device’s own entry is detected, and a removed member’s words do not verify', () => {
  for (const [what, sign] of [
    [
      'a change of a role',
      (bob: DeviceUser, id: string, cy: DeviceUser) =>
        setRole(bob.device(), bob.account(), id, { member: cy.id, role: 'owner' }),
    ],
    ['a rotation', (bob: DeviceUser, id: string) => rotateNow(bob.device(), bob.account(), id)],
  ] as const)
    it(`Bob signed ${what}, and a sync receives that entry while the removal of Bob is being sent`, async (t) => {
      const forking = await hiddenEntry(t, sign)
      const { world, bob, id, hidden } = forking
      const { lied, own } = await deceived(forking)
      await assert.rejects(remove(lied.device(), lied.account(), id, bob.id), isFork)
      const { error } = await lied.device().sync.run('request')
      assert.match(error ?? '', /was replaced by a new connection/)
      world.later()
      await isForked(lied, forking, [await own, hidden.entry])
    })
})

describe('a rotated secret', () => {
  it('is kept although the device was sealing the secret before it to another device meanwhile', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const unsealed = [{ connection: id, devices: [(await world.further(bob, 'tablet')).deviceId] }]
    await ada.sync()
    const [asked, go] = [gate(), gate()]
    let hands = false
    const busy = ada.restart((account) => ({
      ...account,
      duties: {
        read: async () => {
          hands = true
          return { joins: [], unsealed }
        },
      },
      rosters: {
        ...account.rosters,
        read: async (of) => {
          const answer = await account.rosters.read(of)
          if (!hands) return answer
          hands = false
          asked.resolve()
          await go.promise
          return answer
        },
      },
    }))
    const running = busy.device().sync.run('request')
    await asked.promise
    await rotateNow(busy.device(), busy.account(), id)
    go.resolve()
    await running
    await bob.sync()
    world.later()
    assert(await verifies(busy, bob, id))
    assert(await verifies(bob, busy, id))
  })

  it('cannot come from a removed member who is not aware of the removal: not_found', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await remove(ada.device(), ada.account(), id, bob.id)
    await rejects('not_found', rotateNow(bob.device(), bob.account(), id))
  })
})
