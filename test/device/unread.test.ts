/** Tests answers that are too large to be read: each affects only its own connection or log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { AppError } from '../../src/errors.ts'
import { connections } from '../../src/handlers/connections.ts'
import { at } from '../world/requests.ts'
import { connected, verifies, worldOf } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

function unread(): never {
  const cause = new Refusal('too_large', 'an answer of more than 16777216 bytes')
  throw new AppError('backend_error', 'The account server answers with more than …', { cause })
}

describe('an answer that is too large', () => {
  it('for one connection: the others continue, and it can be deleted', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const [good, bad] = [await connected(ada, bob), await connected(ada, cy)]
    for (const [user, id] of [
      [cy, bad],
      [bob, good],
    ] as const)
      await rotateNow(user.device(), user.account(), id)
    const there = ada.restart(
      instead(
        'rosters',
        'read',
        (read) => async (of) => (of.connection === bad ? unread() : read(of)),
      ),
    )
    const { ok, error } = await there.device().sync.run('request')
    assert.equal(ok, false)
    assert.match(error ?? '', new RegExp(`server for ${bad} was refused \\(too_large\\)`))
    world.later()
    assert(await verifies(there, bob, good))
    await connections.delete({ id: bad }, at(there))
    assert.equal((await there.device().sync.run('request')).ok, true)
  })

  it('for the own key log: connections are fetched all the same', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await rotateNow(bob.device(), bob.account(), id)
    const unreadable: (account: Account) => Account = instead(
      'keyLogs',
      'read',
      (read) => async (of) => (of.account === ada.id ? unread() : read(of)),
    )
    const there = ada.restart(unreadable)
    const { error } = await there.device().sync.run('request')
    assert.match(error ?? '', /The key log of this account.*was refused \(too_large\)/)
    world.later()
    assert(await verifies(there, bob, id))
  })
})
