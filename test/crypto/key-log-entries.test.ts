/**
 * Tests the entries that a device adds to the key log of its account, over any history of
 * devices.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { verifyKeyLog, type KeyLog } from '../../src/crypto/logs/key-log.ts'
import { addDevice, resetLog, revokeDevice } from '../../src/crypto/logs/key-log-entries.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { logEntry, newDevice, type TestDevice } from './builders.ts'
import { firstOf } from './keys.ts'

const at = 1767225600
const [first, second, third] = [newDevice(), newDevice(), newDevice()]
const named = ({ id, keys }: TestDevice) => ({ id, keys: publicKeys(keys) })
const self = ({ id, keys }: TestDevice) => ({ device: id, keys, at })
const as = ({ id, kid, keys }: TestDevice) => ({ by: id, kid, seed: keys.sign.secret, at })

const { account, entry: begin } = firstOf(first.id, first.keys, at)
const one = verifyKeyLog(account, [begin])
const followed = (log: KeyLog, entry: string) =>
  verifyKeyLog(log.account, [...log.entries, entry], log)
const two = followed(one, addDevice({ log: one, device: named(second), ...as(first) }))

describe('an entry of a device', () => {
  test('matches the document', () => {
    const { entries } = two
    assert.equal(entries[1], logEntry(account, [entries[0]!], 'add', second, first))
    const revoked = revokeDevice({ log: two, device: first.id, ...as(second) })
    assert.equal(revoked, logEntry(account, entries, 'revoke', first, second))
    const reset = resetLog({ log: two, ...self(third) })
    assert.equal(reset, logEntry(account, entries, 'reset', third, third))
  })

  const gone = followed(two, revokeDevice({ log: two, device: first.id, ...as(second) }))
  const none = followed(gone, revokeDevice({ log: gone, device: second.id, ...as(second) }))
  test('can revoke the last device, and a reset follows', () => {
    assert.deepEqual(none.active, [])
    const anew = followed(none, resetLog({ log: none, ...self(third) }))
    assert.deepEqual([anew.generation, anew.active.map(({ id }) => id)], [2, [third.id]])
  })

  const add = (log: KeyLog, change: object) => () =>
    addDevice({ log, device: named(third), ...as(first), ...change })
  const revoke = (log: KeyLog, device: string, by: TestDevice) => () =>
    revokeDevice({ log, device, ...as(by) })
  const keys = publicKeys(third.keys)
  const table: [string, () => string, RefusalReason][] = [
    ['added by an unknown device', add(one, as(second)), 'unknown_signer'],
    ['added by a revoked device', add(gone, {}), 'revoked_signer'],
    ['added when no device is left', add(none, as(second)), 'revoked_signer'],
    ['under another kid', add(two, { kid: second.kid }), 'kid_mismatch'],
    ['under another key', add(two, { seed: second.keys.sign.secret }), 'bad_signature'],
    ['under a short seed', add(two, { seed: new Uint8Array(31) }), 'bad_length'],
    ['at a negative time', add(two, { at: -1 }), 'bad_value'],
    ['a repeated id', add(two, { device: { id: second.id, keys } }), 'duplicate_device'],
    [
      'the id of a revoked device',
      add(gone, { device: { id: first.id, keys }, ...as(second) }),
      'duplicate_device',
    ],
    [
      'a repeated key',
      add(two, { device: { id: third.id, keys: { ...keys, auth: publicKeys(first.keys).sign } } }),
      'duplicate_key',
    ],
    [
      'a private key',
      add(two, { device: { id: third.id, keys: { ...keys, sign: { ...keys.sign, d: 'AA' } } } }),
      'unknown_member',
    ],
    ['revoking an unknown device', revoke(two, third.id, first), 'unknown_device'],
    ['revoking a revoked device', revoke(gone, first.id, second), 'already_revoked'],
    ['revoked by a revoked device', revoke(gone, second.id, first), 'revoked_signer'],
    ['reset to a known device', () => resetLog({ log: two, ...self(first) }), 'duplicate_device'],
  ]
  for (const [name, attempt, reason] of table) {
    test(`${name}: ${reason}`, () => assert.throws(attempt, { reason }))
  }
})

test('any history of a log is accepted by its reader, which reports each step', () => {
  const step = fc.record({
    op: fc.constantFrom('add', 'add', 'revoke', 'reset'),
    by: fc.nat(99),
    device: fc.nat(99),
  })
  const history = fc.array(step, { minLength: 4, maxLength: 7 })
  fc.assert(
    fc.property(history, (steps) => {
      const founder = newDevice()
      const { account: home, entry: begun } = firstOf(founder.id, founder.keys, at)
      let log = verifyKeyLog(home, [begun])
      // The model: the active devices, the number of resets, and the expected content of each
      // entry.
      let active = [founder]
      let generation = 1
      const signers = [['add', founder.id, founder.id]]

      for (const { op, by, device } of [{ op: 'add', by: 0, device: 0 }, ...steps]) {
        const signer = active[by % active.length]
        const target = active[device % active.length]
        const newcomer = newDevice()
        let entry: string
        if (op === 'reset' || signer === undefined || target === undefined) {
          entry = resetLog({ log, ...self(newcomer) })
          signers.push(['reset', newcomer.id, newcomer.id])
          active = [newcomer]
          generation += 1
        } else if (op === 'add') {
          entry = addDevice({ log, device: named(newcomer), ...as(signer) })
          signers.push(['add', newcomer.id, signer.id])
          active = [...active, newcomer]
        } else {
          entry = revokeDevice({ log, device: target.id, ...as(signer) })
          signers.push(['revoke', target.id, signer.id])
          active = active.filter((one) => one !== target)
        }
        log = followed(log, entry)
        assert.deepEqual(
          log.active.map(({ id }) => id),
          active.map(({ id }) => id),
        )
      }
      assert.equal(log.generation, generation)
      followsTheRules(home, log.entries, signers)
    }),
    { numRuns: 12 },
  )
})

/** Checks the rules of section 3 on the entries themselves, without the code under test. */
function followsTheRules(home: string, entries: readonly string[], signers: string[][]): void {
  let prev = Buffer.alloc(32).toString('base64url')
  for (const [seq, entry] of entries.entries()) {
    const [head, body] = entry
      .split('.')
      .slice(0, 2)
      .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Entry)
    assert.deepEqual(Object.keys(head!).toSorted(), ['alg', 'kid', 'typ'])
    const { op, device, by, keys, salt, ...rest } = body!
    assert.deepEqual([op, device, by], signers[seq])
    assert.deepEqual(rest, { v: 2, account: home, seq, prev, at })
    assert.equal(keys === undefined, op === 'revoke')
    assert.equal(salt === undefined, seq > 0)
    prev = createHash('sha256').update(entry, 'ascii').digest('base64url')
  }
  assert.equal(entries.length, signers.length)
}

type Entry = { op: string; device: string; by: string; keys?: object; salt?: string }
