/**
 * Tests the number that two people compare.
 * Its value is in the test kit. These tests cover the properties on which people rely.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { formatId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { safetyNumber } from '../../src/crypto/safety-number.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const side = fc.record({ raw: bytes(16), root: bytes(32) })
const named = ({ raw, root }: { raw: Uint8Array; root: Uint8Array }) => ({
  account: formatId(ID_PREFIX.account, raw),
  root,
})

test('is the same on both sides, and equals the document’s', () => {
  fc.assert(
    fc.property(side, side, (one, other) => {
      const number = safetyNumber(named(one), named(other))
      assert.match(number, /^\d{5}( \d{5}){11}$/)
      assert.equal(safetyNumber(named(other), named(one)), number)
      const [lower, higher] = [one, other].sort((x, y) => Buffer.compare(x.raw, y.raw))
      let digest = Buffer.concat([
        Buffer.from('countersign/v2/safety\0'),
        lower!.raw,
        lower!.root,
        higher!.raw,
        higher!.root,
      ])
      for (let i = 0; i < 5200; i++) digest = createHash('sha256').update(digest).digest()
      const wide = createHash('sha512').update(digest).digest()
      const groups = Array.from({ length: 12 }, (_, i) => wide.readUIntBE(5 * i, 5) % 100_000)
      assert.equal(number, groups.map((group) => String(group).padStart(5, '0')).join(' '))
    }),
    { numRuns: 15 },
  )
})

test('changes with each root, and rejects other lengths', () => {
  const [a, b] = [1, 2].map((byte) => ({
    account: formatId(ID_PREFIX.account, new Uint8Array(16).fill(byte)),
    root: new Uint8Array(32).fill(byte),
  })) as [ReturnType<typeof named>, ReturnType<typeof named>]
  const another = { ...a, root: a.root.with(31, 0) }
  assert.notEqual(safetyNumber(another, b), safetyNumber(a, b))
  const short = { ...a, root: a.root.subarray(1) }
  assert.throws(() => safetyNumber(short, b), { reason: 'bad_length' })
  const device = { ...a, account: formatId(ID_PREFIX.device, new Uint8Array(16)) }
  assert.throws(() => safetyNumber(device, b), { reason: 'prefix' })
})
