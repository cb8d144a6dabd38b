/** Tests account ids against test kit 2 and against a derivation by node:crypto. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { accountIdOf, type DevicePublicKeys } from '../../src/crypto/device-public-keys.ts'
import { parseId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { bytes, hex, run } from './kit2.ts'

type AccountCase = {
  sign_hex: string
  seal_public_hex?: string
  seal_sha256_hex: string
  auth_hex: string
  salt_hex: string
  account_hex: string
  account: string
}
run<AccountCase>(
  'account-id.json',
  (of) => 'salt_hex' in of,
  (of) => {
    const sealHash = bytes(of.seal_sha256_hex)
    if (of.seal_public_hex !== undefined)
      assert.equal(sha256(bytes(of.seal_public_hex)), of.seal_sha256_hex)
    const keys = { sign: bytes(of.sign_hex), sealHash, auth: bytes(of.auth_hex) }
    const account = accountIdOf(keys, bytes(of.salt_hex))
    assert.equal(account, of.account)
    assert.equal(hex(parseId(ID_PREFIX.account, account)), of.account_hex)
  },
)

const sha256 = (...parts: Uint8Array[]): string =>
  createHash('sha256').update(Buffer.concat(parts)).digest('hex')

describe('an account id', () => {
  const random = () => new Uint8Array(randomBytes(32))
  const keys = { sign: random(), sealHash: random(), auth: random() }
  const salt = random()

  test('equals the hash by node:crypto', () => {
    const account = parseId(ID_PREFIX.account, accountIdOf(keys, salt))
    const label = Buffer.from('countersign/v2/account\0')
    const hash = sha256(label, keys.sign, keys.sealHash, keys.auth, salt)
    assert.equal(hex(account), hash.slice(0, 32))
  })
  test('depends on every part and its position', () => {
    const { sign, sealHash, auth } = keys
    const all: [DevicePublicKeys, Uint8Array][] = [
      [keys, salt],
      [keys, random()],
      [{ ...keys, sign: random() }, salt],
      [{ ...keys, sealHash: random() }, salt],
      [{ ...keys, auth: random() }, salt],
      [{ sign: auth, sealHash, auth: sign }, salt],
      [{ sign: sealHash, sealHash: sign, auth }, salt],
      [{ sign, sealHash, auth: salt }, auth],
    ]
    assert.equal(new Set(all.map((of) => accountIdOf(...of))).size, all.length)
  })
  test('rejects parts of another length', () => {
    const short = new Uint8Array(31)
    for (const change of [{ sign: short }, { sealHash: short }, { auth: short }])
      assert.throws(() => accountIdOf({ ...keys, ...change }, salt), { reason: 'bad_length' })
    for (const other of [short, new Uint8Array(33), new Uint8Array(0)])
      assert.throws(() => accountIdOf(keys, other), { reason: 'bad_length' })
  })
})
