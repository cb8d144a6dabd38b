/**
 * Tests two owners who act at the same moment, with their requests interleaved in every way.
 * One request is first; the device of the other one decides again.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { it, type TestContext } from 'node:test'
import fc from 'fast-check'
import type { Account } from '../../src/api/port.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import type { LocalDevice } from '../../src/device/device.ts'
import { inviteMembers } from '../../src/device/connections/invites.ts'
import { leaveOrEnd, remove, rotateNow, setRole } from '../../src/device/connections/members.ts'
import { AppError } from '../../src/errors.ts'
import { openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { T0 } from './bench.ts'
import { deviceOf, people, type Participant } from './session/sessions.ts'

type Groups = Record<string, Record<string, (input: unknown) => Promise<unknown>>>

/** Returns the account; each call waits until the scheduler runs it. */
function scheduled(account: Account, scheduler: fc.Scheduler): Account {
  const groups = Object.entries(account as unknown as Groups).map(([group, rows]) => [
    group,
    Object.fromEntries(
      Object.entries(rows).map(([name, call]) => [name, scheduler.scheduleFunction(call)]),
    ),
  ])
  return Object.fromEntries(groups) as Account
}

const ACTS = ['rotate', 'remove', 'demote', 'leave', 'add', 'sync'] as const
type Act = (typeof ACTS)[number]

async function act(
  what: Act,
  on: LocalDevice,
  account: Account,
  of: { connection: string; other: string; third: string; fourth: string },
) {
  const { connection, other, third, fourth } = of
  if (what === 'rotate') await rotateNow(on, account, connection)
  if (what === 'remove') await remove(on, account, connection, third)
  if (what === 'demote') await setRole(on, account, connection, { member: other, role: 'member' })
  if (what === 'leave') await leaveOrEnd(on, account, connection)
  if (what === 'add') await inviteMembers(on, account, connection, { user_id: fourth })
  if (what === 'add' || what === 'sync') await on.sync.run('request')
}

it('any two operations of two owners, in any order of their requests', async (t: TestContext) => {
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.constantFrom(...ACTS),
      fc.constantFrom(...ACTS),
      async (scheduler, one, two) => {
        const folders = [0, 1, 2, 3].map(() => openState(freshFolder(t)))
        try {
          const { server, participants } = await people(folders, [1, 1, 1, 1])
          const [ada, bob, cy, dee] = participants as [
            Participant,
            Participant,
            Participant,
            Participant,
          ]
          const [a, b, c, d] = [ada, bob, cy, dee].map(
            (participant) => participant.identity.account,
          ) as [string, string, string, string]
          const act0 = { id: randomBytes(16), at: T0 }
          const { id: connection } = await openConnection(
            ada.device,
            ada.account,
            { name: 'Bank', invite: [] },
            act0,
          )
          for (const user_id of [b, c])
            await inviteMembers(ada.device, ada.account, connection, { user_id })
          await ada.device.sync.run('request')
          await setRole(ada.device, ada.account, connection, { member: b, role: 'owner' })
          for (const participant of [bob, cy]) await participant.device.sync.run('request')

          const at = (participant: typeof ada, what: Act, other: string) => {
            const account = scheduled(participant.account, scheduler)
            const on = deviceOf(participant, account)
            return act(what, on, account, { connection, other, third: c, fourth: d })
          }
          const both = Promise.allSettled([at(ada, one, b), at(bob, two, a)])
          await scheduler.waitFor(both)
          for (const result of await both)
            if (result.status === 'rejected')
              assert(result.reason instanceof AppError, String(result.reason))

          const after = participants.map((participant) => ({
            ...participant,
            device: deviceOf(participant, participant.account),
          }))
          for (let round = 0; round < 3; round++)
            for (const { device } of after)
              assert.equal((await device.sync.run('request')).error, null)
          const roster = server.rosters.get(connection)
          if (roster === undefined) return
          assert([...roster.roles.values()].includes('owner'), 'somebody is still an owner')
          const members = after.filter(({ identity }) => roster.roles.has(identity.account))
          const words = members.map(({ device }) => device.vault.get(connection)?.toString())
          assert.equal(new Set(words).size, 1)
          for (const { device, state } of members) {
            assert.notEqual(device.codes.toSay(connection, T0), null)
            assert.deepEqual(state.logs.read('roster', connection), roster.entries)
          }
          for (const { device, identity } of after)
            if (!roster.roles.has(identity.account))
              assert.equal(device.vault.has(connection), false)
        } finally {
          for (const state of folders) state.close()
        }
      },
    ),
    { numRuns: 100 },
  )
})
