/**
 * Tests a roster that is stored with a new epoch, while the connection and its secret on this
 * device are of the epoch before, because a request failed in between.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { leaveOrEnd, rotateNow } from '../../../src/device/connections/members.ts'
import { judgeHolds } from '../../../src/device/logs/connection-record.ts'
import { rejects } from '../../rejects.ts'
import { away, instead } from '../../world/interceptor.ts'
import { honest } from '../../world/lies.ts'
import { three, verifies } from '../../world/world.ts'

it('the secret of the epoch before makes and checks no words of the new epoch', async (t) => {
  const { world, ada, bob, cy, id } = await three(t)
  await rotateNow(ada.device(), ada.account(), id)
  let reads = 0
  const cut = bob.restart(
    instead('rosters', 'read', (read) => (of) => (reads++ === 0 ? read(of) : away())),
  )
  await rejects('backend_unavailable', leaveOrEnd(cut.device(), cut.account(), id))
  // This happens when the user confirms Cy's keys, or a device of Cy is revoked.
  judgeHolds(cut.device(), cy.id)
  assert.equal(cut.words(id), null)
  const { verified, conclusive, reasons } = await cut.hears(ada.words(id))
  assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
  const back = await honest(cut)
  world.later()
  assert(await verifies(back, ada, id))
  assert(await verifies(ada, back, id))
})
