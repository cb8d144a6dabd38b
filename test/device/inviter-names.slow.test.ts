/** Tests how often the account server is asked for the signed names of inviters. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { AppError } from '../../src/errors.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { at } from '../world/requests.ts'
import { type DeviceUser, newWorld } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

const list = (user: DeviceUser) => invitations.list({}, at(user))

/**
 * Returns Bob, invited by people without a signed name; `asked` are the look-ups of his device.
 */
async function invited(t: TestContext, count: number) {
  const world = await newWorld(t)
  const bob = await world.person('bob')
  const inviters: DeviceUser[] = []
  for (let n = 0; n < count; n++) {
    const inviter = await world.person(`ada${n}`)
    await inviter.invite(await inviter.connect(), { user_id: bob.id })
    inviters.push(inviter)
  }
  const asked: string[] = []
  const load = { now: 0, most: 0 }
  const counting = bob.restart(
    instead('keyLogs', 'read', (honest) => async (of) => {
      asked.push(of.account)
      load.most = Math.max(load.most, ++load.now)
      await new Promise(setImmediate)
      load.now--
      return honest(of)
    }),
  )
  return { world, bob: counting, inviters, asked, load }
}

describe('the names of inviters who signed none', () => {
  it('are looked up once in 15 minutes, four at a time', async (t) => {
    const { world, bob, inviters, asked, load } = await invited(t, 6)
    for (let n = 0; n < 3; n++) await list(bob)
    assert.deepEqual(asked.toSorted(), inviters.map(({ id }) => id).toSorted())
    assert.equal(load.most, 4)
    world.later(14)
    await list(bob)
    assert.equal(asked.length, 6)
    world.later(1)
    await list(bob)
    assert.equal(asked.length, 12)
  })

  it('are looked up once for concurrent requests, which all wait', async (t) => {
    const { bob, inviters, asked } = await invited(t, 2)
    await inviters[0]!.sync()
    const lists = await Promise.all([list(bob), list(bob), invitations.pending({}, at(bob))])
    assert.equal(asked.length, 2)
    for (const { received } of lists)
      assert.deepEqual(
        received.map(({ from }) => [from.display_name, from.name_source]),
        [
          ['ada1', 'server'],
          ['ada0', 'self'],
        ],
      )
  })

  it('are known after a sync fetched them, without another look-up', async (t) => {
    const { world, bob, inviters } = await invited(t, 1)
    const [ada] = inviters as [DeviceUser]
    await list(bob)
    await bob.approve()
    await ada.sync()
    await bob.sync()
    world.later(1)
    const { received } = await list(bob)
    assert.equal(received[0]?.from.name_source, 'self')
  })

  it('are looked up again if the account server did not answer', async (t) => {
    const { bob, inviters, asked } = await invited(t, 1)
    await inviters[0]!.sync()
    let isAway = true
    const away = bob.restart((account) =>
      instead('keyLogs', 'read', (honest) => async (of) => {
        asked.push(of.account)
        if (isAway) throw new AppError('backend_timeout', 'The account server did not answer.')
        return honest(of)
      })(account),
    )
    const source = async () => (await list(away)).received[0]?.from.name_source
    assert.equal(await source(), 'server')
    isAway = false
    assert.equal(await source(), 'self')
    assert.equal(asked.length, 2)
  })
})
