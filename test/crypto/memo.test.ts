/** Tests the cache of verified entries: they are not verified again, and its size is limited. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ed25519 } from '../../src/crypto/ed25519.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { memo } from '../../src/crypto/encoding/memo.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { verifyRoster } from '../../src/crypto/logs/roster.ts'
import { newConnection, newDevice, newPerson, opening, rosterEntry } from './builders.ts'

test('a good result is stored, and a bad one is computed again', () => {
  const looked: string[] = []
  const good = memo(2)
  const isKnown = (name: string) => good(name, () => looked.push(name) > 0 && name !== 'bad')
  const asked = ['a', 'bad', 'a', 'bad', 'b', 'a', 'b']
  assert.deepEqual(asked.map(isKnown), [true, false, true, false, true, true, true])
  assert.deepEqual(looked, ['a', 'bad', 'bad', 'b'])
})

test('the oldest result is deleted beyond the limit', () => {
  const looked: string[] = []
  const good = memo(2)
  for (const name of ['a', 'b', 'c', 'c', 'b', 'a', 'b', 'c']) good(name, () => !!looked.push(name))
  assert.deepEqual(looked, ['a', 'b', 'c', 'a', 'b', 'c'])
})

test('a roster that was verified before is verified without its signatures', (t) => {
  const device = newDevice()
  const person = newPerson(device)
  const keyLogs = new Map([[person.account, person.log]])
  const connection = newConnection()
  const k = new Uint8Array(32)
  const nothing = { connection, seq: -1, head: new Uint8Array(32), epoch: 1 }
  const first = { op: 'open', k_commit: keyCommitment(connection, 1, k) }
  const entries = [rosterEntry(nothing, person, device, first)]
  for (let seq = 1; seq < 60; seq++) {
    const head = entryHash(entries.at(-1)!)
    const before = { connection, seq: seq - 1, head, epoch: seq }
    entries.push(rosterEntry(before, person, device, { op: 'rotate', ...opening(before, k) }))
  }
  const verified = t.mock.method(ed25519, 'verify')
  const verify = () => {
    verified.mock.resetCalls()
    verifyRoster(connection, entries, keyLogs)
    return verified.mock.callCount()
  }
  assert.ok(verify() >= entries.length)
  assert.equal(verify(), 0)
})
