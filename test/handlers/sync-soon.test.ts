/**
 * Tests which operations another device answers: a sync follows them at once, in the background.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ID_PREFIX, newId } from '../../src/crypto/encoding/id.ts'
import { connections, members } from '../../src/handlers/connections.ts'
import type { HandlerContext } from '../../src/handlers/context.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { sync as syncHandlers } from '../../src/handlers/status.ts'
import { type Enrolled, enrolled } from '../device/enrolled.ts'
import { AppError } from '../../src/errors.ts'
import { contextOf } from '../world/requests.ts'
import { rejects } from '../rejects.ts'

const bob = { email: 'bob@example.org' }
const invited = newId('inv_', 0)
const inviter = newId(ID_PREFIX.account, 0)
const approved = {
  connection_id: newId(ID_PREFIX.connection, 0),
  from: { user_id: inviter, display_name: null, email: null },
  to: { user_id: null, display_name: null, email: null },
}
const create = (context: HandlerContext, invite: readonly { email: string }[]) =>
  connections.create({ body: { name: 'B', invite: [...invite] } }, context)

/** An operation, and how many syncs it requests. */
const ACTS: [name: string, act: (device: Enrolled) => Promise<unknown>, syncs: number][] = [
  ['a connection with an invitee', (device) => create(contextOf(device), [bob]), 1],
  ['a connection without others', (device) => create(contextOf(device), []), 0],
  [
    'an invitation to a connection',
    async (device) => members.add({ id: await device.connect(), body: bob }, contextOf(device)),
    1,
  ],
  [
    'an approved invitation',
    (device) => {
      const { connection_id: connection } = approved
      const consents = {
        wanted: async () => ({ connection, inviter, roster_head: 'A'.repeat(43) }),
        give: async () => approved as never,
      }
      const parts = { consents }
      return invitations.approve({ body: {}, id: invited }, contextOf(device, parts))
    },
    1,
  ],
  [
    'an approval that the account server rejects',
    (device) =>
      rejects('not_found', async () =>
        invitations.approve({ body: {}, id: invited }, contextOf(device)),
      ),
    0,
  ],
]

describe('number of syncs after an operation', () => {
  for (const [name, act, syncs] of ACTS)
    it(`${name}: ${syncs}`, async (t) => {
      const device = await enrolled(t)
      await act(device)
      assert.equal(device.soon.length, syncs)
    })
})

describe('a requested run', () => {
  it('begins after the running one, once for all requests meanwhile, and idle waits for it', async (t) => {
    const device = await enrolled(t)
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let begun = 0
    const { sync } = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          await gates[begun++]?.promise
          return device.account.connections.list(query)
        },
      },
    })
    const first = sync.run('timer')
    const anew = [sync.runAnew('request'), sync.runAnew('request')]
    const seen: string[] = []
    const idle = sync.idle().then(() => seen.push('idle'))
    gates[0]?.resolve()
    assert.equal((await first).trigger, 'timer')
    await new Promise(setImmediate)
    assert.deepEqual(seen, [], 'idle waits for the run that is to come')
    gates[1]?.resolve()
    const [one, other] = await Promise.all(anew)
    assert.equal(one, other)
    assert.equal(one?.trigger, 'request')
    await idle
    assert.deepEqual([begun, seen], [2, ['idle']])
    assert.equal((await sync.runAnew('request')).ok, true, 'at once where none is under way')
  })

  it('follows POST /sync, as a running sync may have missed earlier changes', async (t) => {
    const device = await enrolled(t)
    const listed = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    let lists = 0
    const far = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          const answer = await device.account.connections.list(query)
          lists += 1
          listed.resolve()
          await gate.promise
          return answer
        },
      },
    })
    const background = far.sync.run('timer')
    await listed.promise
    const asked = syncHandlers.run({}, contextOf(far))
    gate.resolve()
    assert.equal((await background).trigger, 'timer')
    assert.equal((await asked).last_sync?.trigger, 'request')
    assert.equal(lists, 2)
  })

  it('contains a failure in its report', async (t) => {
    const device = await enrolled(t)
    const away = () => Promise.reject(new AppError('backend_unavailable', 'Away.'))
    const { sync } = device.reopen({ connections: { ...device.account.connections, list: away } })
    void sync.run('timer')
    assert.deepEqual((await sync.runAnew('request')).error, 'Away.')
  })
})
