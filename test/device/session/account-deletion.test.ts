/** Tests a deleted account: what this device deletes, and what its contacts see. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { openTokens } from '../../../src/auth/tokens.ts'
import {
  requestAccountDeletion,
  finishDeletion,
} from '../../../src/device/session/account-deletion.ts'
import {
  dropDeparted,
  noteDeparted,
  presentMembers,
} from '../../../src/device/logs/deleted-members.ts'
import { leaveOrEnd, remove, setRole } from '../../../src/device/connections/members.ts'
import { rememberedRoster } from '../../../src/device/logs/roster-cache.ts'
import { AppError } from '../../../src/errors.ts'
import { leaveConnection } from '../../../src/handlers/connections.ts'
import type { State } from '../../../src/state/state.ts'
import { newMeta } from '../meta.ts'
import {
  type DeviceUser,
  type World,
  connected,
  isIn,
  joinMembers,
  three,
  verifies,
  worldOf,
} from '../../world/world.ts'
import { rejects } from '../../rejects.ts'

const membersOf = async (user: DeviceUser, id: string) =>
  (await user.account().connections.read({ id })).members.map(({ user_id }) => user_id ?? '')
const rosterOf = ({ state }: DeviceUser, id: string) =>
  rememberedRoster(state, id)?.roster ?? assert.fail('no roster')
const opsOf = (user: DeviceUser, id: string) =>
  rosterOf(user, id).entries.map((entry) => {
    const payload = Buffer.from(entry.split('.')[1]!, 'base64url').toString()
    return (JSON.parse(payload) as { op: string }).op
  })
const holdOf = ({ state }: DeviceUser, id: string) => state.connections.get(id)?.hold

/** The event of the deletion, which names no account. */
const EVENT = /^events .*"type":"session\.ended",.*"data":"{\\"reason\\":\\"deleted\\"}"}$/

/** Returns every row of a state, as text, without the event of the deletion and its number. */
function rowsOf({ db }: Pick<State, 'db'>): string[] {
  const tables = db
    .prepare("select name from sqlite_schema where type = 'table' and name <> 'sqlite_sequence'")
    .all()
  return tables
    .flatMap(({ name }) =>
      db
        .prepare(`select * from ${String(name)}`)
        .all()
        .map((row) => `${String(name)} ${JSON.stringify(row)}`),
    )
    .filter((row) => !EVENT.test(row))
}

/** Checks that the account server stores nothing of a connection without members. */
function isDeleted({ file }: Pick<World, 'file'>, id: string): void {
  const db = new DatabaseSync(file, { readOnly: true })
  const found = db.prepare('select 1 from connections where id = ?').all(id)
  db.close()
  assert.deepEqual(found, [])
}

/** Finishes the deletion as the daemon does at a start. */
const finish = ({ state, keychain, deviceSession }: DeviceUser) =>
  finishDeletion({ state, keychain, deviceSession, log: () => undefined, now: () => 0 })

const away = () => Promise.reject(new AppError('backend_unavailable', 'It is away.'))
/** Deletes the account and loses the answer. */
const withoutAnswer = (account: Account): Account => ({
  ...account,
  account: {
    delete: async (input) => {
      await account.account.delete(input)
      return away()
    },
  },
})

describe('a connection with one other', () => {
  it('shows the deleted member, accepts no words of theirs, and can be deleted', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    world.later()
    const words = ada.words(id)
    const adaId = ada.id
    await ada.flow.deleteAccount()
    await bob.sync()
    assert.deepEqual(await membersOf(bob, id), [bob.id])
    const { verified, conclusive, reasons } = await bob.hears(words)
    assert.deepEqual([verified, conclusive, reasons], [false, true, []])
    assert.equal(rosterOf(bob, id).epoch, 2)
    assert.notEqual(bob.words(id), null)
    assert(!JSON.stringify(bob.state.connections.get(id)).includes(adaId))
    await bob.sync()
    assert.equal(rosterOf(bob, id).epoch, 2, 'one new secret is enough')
    await leaveConnection(id, bob.account(), bob.device())
    assert.deepEqual(opsOf(bob, id).slice(-1), ['leave'], 'by a signature, which stays')
    isDeleted(world, id)
    await bob.sync()
    assert.deepEqual(bob.state.connections.ids(), [])
  })

  it('until the other syncs that, other connections of theirs are not affected', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    await connected(ada, bob)
    const other = await connected(cy, bob)
    await ada.flow.deleteAccount()
    for (const user of [cy, bob]) await user.sync()
    world.later()
    assert(await verifies(bob, cy, other))
    assert(await verifies(cy, bob, other))
  })
})

describe('a group', () => {
  it('with another owner: the deleted account leaves by a signed entry, and the group continues', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    for (const user of [bob, cy]) await user.sync()
    const words = ada.words(id)
    await ada.flow.deleteAccount()
    for (const user of [bob, cy]) await user.sync()
    assert.deepEqual(opsOf(bob, id).slice(-2), ['leave', 'rotate'])
    assert.equal((await cy.hears(words)).verified, false)
    assert.deepEqual((await membersOf(cy, id)).toSorted(), [bob.id, cy.id].toSorted())
    world.later()
    assert(await verifies(bob, cy, id))
    // A new device checks the history from its first entry on, which the deleted account signed.
    const tablet = await world.further(cy, 'tablet')
    for (const user of [tablet, bob, cy, tablet]) await user.sync()
    world.later()
    assert(await verifies(bob, tablet, id))
    const dan = await world.person('dan')
    await joinMembers(bob, id, [dan])
    world.later()
    assert(await verifies(dan, cy, id))
  })

  it('after the deletion of its only owner: the others rotate, and the group stays among them', async (t) => {
    const { world, ada, bob, cy, id } = await three(t)
    const words = ada.words(id)
    await ada.flow.deleteAccount()
    for (const user of [cy, bob, cy]) await user.sync()
    assert.deepEqual(opsOf(bob, id).slice(-1), ['rotate'])
    for (const user of [bob, cy]) {
      assert.equal(holdOf(user, id), null)
      assert.equal((await user.hears(words)).verified, false)
      assert.deepEqual((await membersOf(user, id)).toSorted(), [bob.id, cy.id].toSorted())
    }
    world.later()
    assert(await verifies(bob, cy, id))
    assert(await verifies(cy, bob, id))
    const tablet = await world.further(cy, 'tablet')
    for (const user of [tablet, bob, cy, tablet]) await user.sync()
    world.later()
    assert(await verifies(bob, tablet, id))
    // No account is left that may change the members.
    await rejects('forbidden', remove(bob.device(), bob.account(), id, cy.id), {
      says: /Only an owner/,
    })
    await leaveOrEnd(bob.device(), bob.account(), id)
    await cy.sync()
    await leaveOrEnd(cy.device(), cy.account(), id)
    isDeleted(world, id)
  })

  it('not left by a signed entry: an owner can remove the deleted account, and is the last owner', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await bob.sync()
    const gone = { id: ada.id }
    await ada.account().account.delete({})
    for (const user of [bob, cy]) await user.sync()
    assert(isIn(bob, id, gone as DeviceUser), 'nobody is removed on the word of the server')
    for (const give of [
      () => leaveOrEnd(bob.device(), bob.account(), id),
      () => setRole(bob.device(), bob.account(), id, { member: bob.id, role: 'member' }),
    ])
      await rejects('invalid_state', give, { state: 'last_owner', says: /only owner/ })
    await rejects(
      'not_found',
      setRole(bob.device(), bob.account(), id, { member: gone.id, role: 'member' }),
    )
    await remove(bob.device(), bob.account(), id, gone.id)
    for (const user of [bob, cy]) {
      await user.sync()
      assert(!isIn(user, id, gone as DeviceUser))
      assert.equal(holdOf(user, id), null)
    }
  })

  it('with a member deleted during another’s rotation: the device retries without that member', async (t) => {
    const { ada, bob, cy, id } = await three(t)
    await setRole(ada.device(), ada.account(), id, { member: bob.id, role: 'owner' })
    await bob.sync()
    const account = ada.account()
    const racing = bob.restart((of) => ({
      ...of,
      rosters: {
        ...of.rosters,
        append: async (input) => {
          // Runs between what Bob’s device fetched and what it sends.
          await account.account.delete({}).catch(() => undefined)
          return of.rosters.append(input)
        },
      },
    }))
    await remove(racing.device(), racing.account(), id, cy.id)
    assert.deepEqual(await membersOf(bob, id), [bob.id])
    await racing.sync()
    assert.equal(holdOf(racing, id), null)
  })
})

it('an account that is deleted while it is added is not added, and nothing else is affected', async (t) => {
  const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
  const id = await bob.connect()
  await joinMembers(bob, id, [cy])
  await bob.invite(id, { user_id: ada.id })
  await ada.approve()
  const account = ada.account()
  let asked = 0
  const racing = bob.restart((of) => ({
    ...of,
    rosters: {
      ...of.rosters,
      append: async (input) => {
        if (++asked > 1) return of.rosters.append(input)
        await account.account.delete({})
        throw new AppError('conflict', 'It was deleted a moment ago.')
      },
    },
  }))
  // The device decides again, is refused, and reports it once.
  const { error } = await racing.device().sync.run('request')
  assert.match(error ?? '', new RegExp(id))
  await racing.sync()
  assert.equal(asked, 2)
  assert.equal(holdOf(racing, id), null)
  assert.deepEqual((await membersOf(racing, id)).toSorted(), [bob.id, cy.id].toSorted())
  world.later()
  assert(await verifies(cy, racing, id))
})

describe('deleted members in answers of the account server', () => {
  /** A roster of three in an epoch, the input of these cases. */
  const roster = { connection: 'con_1', epoch: 3, members: ['a', 'b', 'c'], rotationPending: false }
  const cases: [name: string, said: [string, number][], members: string, due: boolean][] = [
    ['none', [], 'abc', false],
    ['one, in this epoch', [['b', 3]], 'ac', true],
    ['one, before the epoch began', [['b', 2]], 'ac', false],
    ['one, in a later epoch: one rotation is enough', [['b', 9]], 'ac', true],
    ['two', [['b', 2], ['c', 3]], 'a', true], // prettier-ignore
    ['the own account, which is handled elsewhere', [['a', 3]], 'abc', false],
    ['an account that is no longer a member', [['z', 3]], 'abc', false],
  ]
  const rosterIn = (epoch: number) =>
    ({
      ...roster,
      epoch,
      members: roster.members.map((account) => ({ account })),
    }) as unknown as Parameters<typeof presentMembers>[1]
  const seen = (state: Parameters<typeof presentMembers>[0], epoch = 3) => {
    const { members, rotationPending } = presentMembers(state, rosterIn(epoch))
    return [members.map(({ account }) => account).join(''), rotationPending]
  }
  for (const [name, reported, members, due] of cases)
    it(name, () => {
      const { meta, rows } = newMeta()
      const state = { meta }
      noteDeparted(state, rosterIn(3), new Map(reported), 'a')
      assert.deepEqual(seen(state), [members, due])
      // Reported again for a later epoch, it requires nothing new.
      noteDeparted(state, rosterIn(4), new Map(reported.map(([of]) => [of, 99])), 'a')
      assert.deepEqual(seen(state, 4), [members, false])
      noteDeparted(state, rosterIn(4), new Map(), 'a')
      assert.deepEqual(seen(state, 4), ['abc', false])
      dropDeparted(state, roster.connection)
      assert.equal(rows.size, 0)
    })

  it('taken back and reported again: two more rotations, and then no more', () => {
    const state = { meta: newMeta().meta }
    const due: boolean[] = []
    for (let epoch = 3; epoch < 9; epoch++) {
      noteDeparted(state, rosterIn(epoch), new Map([['b', 99]]), 'a')
      const [members, isDue] = seen(state, epoch)
      assert.equal(members, 'ac', 'nothing is sealed to them all the same')
      due.push(isDue === true)
      noteDeparted(state, rosterIn(epoch), new Map(), 'a')
      assert.deepEqual(seen(state, epoch), ['abc', false])
    }
    assert.deepEqual(due, [true, true, true, false, false, false])
  })

  it('are deleted when this account leaves', async (t) => {
    const { ada, bob, id } = await three(t)
    await ada.flow.deleteAccount()
    await bob.sync()
    const noted = () => rowsOf(bob.state).filter((row) => row.includes(`departed ${id}`))
    assert.equal(noted().length, 1)
    await leaveConnection(id, bob.account(), bob.device())
    assert.deepEqual(noted(), [])
  })
})

describe('this device', () => {
  async function full(t: TestContext) {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await connected(bob, ada)
    const { keychain, state } = ada
    world.later()
    assert(await verifies(ada, bob, id))
    const tokens = openTokens({
      keychain,
      rows: state.tokens,
      now: () => world.clock.ms,
      commandLineToken: () => '',
      account: () => ada.deviceSession.identity()?.account ?? null,
    })
    const tokenIds = [1, 2].map(() => tokens.mint({ name: 'x', scope: 'write' }).id)
    const entries = ['vault', 'session', 'device', ...tokenIds.map((one) => `token/${one}`)]
    return { world, ada, bob, id, entries, device: ada.device() }
  }
  const entriesIn = ({ keychain }: DeviceUser, entries: readonly string[]) =>
    entries.filter((entry) => keychain.get(entry) !== null)
  const isEmpty = (user: DeviceUser, entries: readonly string[]) => {
    assert.deepEqual(entriesIn(user, entries), [])
    // The highest position of the clock, which identifies no account.
    const left = rowsOf(user.state).filter((row) => !row.startsWith('replays_highest '))
    assert.deepEqual(left, [])
    assert.equal(user.deviceSession.identity(), null)
  }

  it('stores nothing after the deletion: no row, no key, no token', async (t) => {
    const { ada, entries } = await full(t)
    assert.deepEqual(entriesIn(ada, entries), entries)
    await ada.flow.deleteAccount()
    isEmpty(ada, entries)
    await rejects('not_signed_in', ada.flow.deleteAccount())
    assert.equal((await ada.flow.read()).state, 'signed_out')
  })

  it('keeps everything while the server is unreachable, also halfway', async (t) => {
    const { ada, entries, id } = await full(t)
    const cut: ((account: Account) => Partial<Account>)[] = [
      () => ({ deletion: { read: away } }),
      ({ connections }) => ({ connections: { ...connections, list: away } }),
      ({ rosters }) => ({ rosters: { ...rosters, read: away } }),
      () => ({ account: { delete: away } }),
    ]
    for (const parts of cut) {
      const user = ada.restart((account) => ({ ...account, ...parts(account) }))
      await rejects('backend_unavailable', user.flow.deleteAccount(), {
        says: /nothing was deleted on this device: It is away/,
      })
      assert.deepEqual(entriesIn(user, entries), entries)
      assert.notEqual(user.state.connections.get(id), null)
    }
    const later = ada.restart()
    assert.equal(await finish(later), false)
    await later.sync()
    await later.flow.deleteAccount()
    isEmpty(later, entries)
  })

  for (const [name, forget] of [
    ['a repetition', (user: DeviceUser) => user.flow.deleteAccount()],
    ['the next start', finish],
  ] as const)
    it(`with a deletion that lost its answer: ${name} deletes the local data`, async (t) => {
      const { ada, entries } = await full(t)
      await rejects('backend_unavailable', ada.restart(withoutAnswer).flow.deleteAccount(), {
        says: /Delete the account again/,
      })
      assert.deepEqual(entriesIn(ada, entries), entries)
      const again = ada.restart()
      await forget(again)
      isEmpty(again, entries)
    })

  it('with a deletion that lost its answer, and a sync before it: the next start deletes the local data', async (t) => {
    const { ada, entries } = await full(t)
    const user: DeviceUser = ada.restart((account) => ({
      ...account,
      account: {
        delete: async (input) => {
          await user.device().sync.run('timer')
          return withoutAnswer(account).account.delete(input)
        },
      },
    }))
    await rejects('backend_unavailable', user.flow.deleteAccount())
    const again = ada.restart()
    assert.equal(await finish(again), true)
    isEmpty(again, entries)
  })

  it('with a deletion that a later sync refutes: the end of the session deletes nothing', async (t) => {
    const { world, ada, entries } = await full(t)
    const user = ada.restart((account) => ({ ...account, account: { delete: away } }))
    await rejects('backend_unavailable', user.flow.deleteAccount())
    world.later(6)
    await user.device().sync.run('timer')
    const ended = () => Promise.reject(new AppError('not_signed_in', 'It has ended.'))
    const later = ada.restart((account) => ({ ...account, deletion: { read: ended } }))
    assert.equal(await finish(later), false)
    assert.deepEqual(entriesIn(later, entries), entries)
  })

  it('awaiting approval cannot delete the account', async (t) => {
    const { world, ada } = await full(t)
    const waiting = await world.waiting(ada, 'tablet')
    await rejects('invalid_state', waiting.flow.deleteAccount(), {
      state: 'awaiting_approval',
      says: /waits for its approval/,
    })
  })

  it('with a deletion and a rejected retry: the account is deleted', async (t) => {
    const { ada, entries } = await full(t)
    const user = ada.restart((account) => ({
      ...account,
      account: {
        delete: async (input) => {
          await account.account.delete(input)
          throw new AppError('not_signed_in', 'It has ended.')
        },
      },
    }))
    await user.flow.deleteAccount()
    isEmpty(user, entries)
  })

  it('with a failing keychain: the remaining data is deleted before the next sign-in', async (t) => {
    const { ada, entries } = await full(t)
    const { keychain } = ada
    const locked = { ...keychain, delete: () => assert.fail('locked') }
    const { deviceSession, state } = ada
    const failing = { ...ada, keychain: locked }
    await assert.rejects(
      requestAccountDeletion(
        { state, keychain: failing.keychain, deviceSession, now: () => 0, log: () => undefined },
        ada.device(),
      ),
      /locked/,
    )
    assert.deepEqual(entriesIn(ada, entries), entries)
    const again = ada.restart()
    await finish(again)
    isEmpty(again, entries)
  })

  it('with a session that ended otherwise deletes nothing, here and at the server', async (t) => {
    const { ada, entries } = await full(t)
    const ended = () => Promise.reject(new AppError('not_signed_in', 'It has ended.'))
    const user = ada.restart((account) => ({ ...account, deletion: { read: ended } }))
    await rejects('not_signed_in', user.flow.deleteAccount(), { says: /has ended/ })
    assert.equal(await finish(user), false)
    assert.deepEqual(entriesIn(ada, entries), entries)
  })

  it('with a rejected deletion leaves no connection before', async (t) => {
    const { world, ada, bob, entries, id } = await full(t)
    const refused = () =>
      Promise.reject(new AppError('invalid_state', 'Not so.', { details: { state: 'last_owner' } }))
    const user = ada.restart((account) => ({ ...account, deletion: { read: refused } }))
    await rejects('invalid_state', user.flow.deleteAccount(), {
      state: 'last_owner',
      says: /Not so/,
    })
    assert.deepEqual(entriesIn(ada, entries), entries)
    for (const one of [ada, bob]) await one.sync()
    world.later()
    assert(await verifies(bob, ada, id))
  })

  it('after another device deleted the account: reports that, and nothing verifies as recent', async (t) => {
    const { world, ada } = await full(t)
    const tablet = await world.further(ada, 'tablet')
    await tablet.sync()
    await ada.flow.deleteAccount()
    const report = await tablet.device().sync.run('request')
    assert.equal(report.ok, false)
    assert.match(report.error ?? '', /was deleted/)
    assert.match(tablet.device().sync.refused() ?? '', /countersignd logout --forget/)
  })
})
