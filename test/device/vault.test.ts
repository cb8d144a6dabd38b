/** Tests stored secrets: changed ones are refused, and none is stored in plain text. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { CONNECTION, GUEST, bench, keyOf } from './bench.ts'

describe('the vault', () => {
  const cases: [name: string, damage: (b: ReturnType<typeof bench>) => void][] = [
    [
      'a record in place of another',
      ({ state }) => {
        const other = state.secrets.get(GUEST)
        assert(other !== null)
        state.secrets.put({ ...other, id: CONNECTION })
      },
    ],
    [
      'an older version of the same record',
      ({ state, vault }) => {
        const old = state.secrets.get(CONNECTION)
        assert(old !== null)
        vault.put(CONNECTION, keyOf('newer'))
        state.secrets.put({ ...old, version: old.version + 1 })
      },
    ],
    ...[0, 12, 28].map((at): (typeof cases)[number] => [
      `byte ${at} changed`,
      ({ state }) => {
        const row = state.secrets.get(CONNECTION)
        assert(row !== null)
        const sealed = Uint8Array.from(row.sealed)
        sealed[at]! ^= 1
        state.secrets.put({ ...row, sealed })
      },
    ]),
    [
      'cut short',
      ({ state }) => {
        const row = state.secrets.get(CONNECTION)
        assert(row !== null)
        state.secrets.put({ ...row, sealed: row.sealed.subarray(0, 20) })
      },
    ],
  ]
  for (const [name, damage] of cases)
    it(`${name}: rejected, and never used`, async (t) => {
      const all = bench(t)
      all.connection()
      all.guest()
      damage(all)
      const again = all.reopen()
      assert.throws(() => again.vault.get(CONNECTION), { code: 'secret_unavailable' })
      assert.equal(again.codes.own(CONNECTION, again.clock.ms), null)
      const { verified, conclusive, reasons, checked, unchecked } = await again.verifier.verify(
        all.say(GUEST, GUEST),
        null,
      )
      assert.deepEqual(
        { verified, conclusive, reasons, checked, unchecked },
        {
          verified: true,
          conclusive: false,
          reasons: ['secret_missing'],
          checked: 1,
          unchecked: 1,
        },
        'the guest is checked all the same',
      )
    })

  it('returns stored secrets, and stores none in plain text', (t) => {
    const { vault, state, connection } = bench(t)
    connection()
    const k = keyOf(`${CONNECTION} 1`)
    assert.deepEqual(Buffer.from(vault.get(CONNECTION) ?? []), k)
    const row = state.secrets.get(CONNECTION)
    assert(!Buffer.from(row?.sealed ?? []).includes(k))
    assert(!JSON.stringify(row).includes(encodeBase64url(k)))
    vault.delete(CONNECTION)
    assert.deepEqual([vault.get(CONNECTION), vault.has(CONNECTION)], [null, false])
  })
})
