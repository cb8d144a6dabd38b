/** `rotate`: a new secret at once, for every member that syncs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { newCliFixture, joinMembers } from './cli-fixture.ts'

test('rotate: words of the old secret no longer verify, and those of the new one do after a sync', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  const { words: before } = await ada.json('code', id)

  // Any member may rotate.
  const { code, out, err } = await bob.on(['rotate', id])
  assert.deepEqual([code, out], [EXIT.ok, ''])
  assert.match(
    err,
    /^".+" has a new secret \(epoch 2\)\. The other members get it within seconds if their devices are connected, or else at their next sync\./,
  )
  assert.equal((await bob.on(['verify'], { input: before })).code, EXIT.notVerified)
  await ada.good(['sync'])
  const { words: after } = await ada.json('code', id)
  assert.notEqual(after, before)
  assert.equal((await bob.on(['verify'], { input: after })).code, EXIT.ok)
  const { epoch, id: same } = await ada.json('rotate', id)
  assert.deepEqual([epoch, same], [3, id])
})
