/** Tests signed profiles against test kit 2: which of them is current. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import {
  replaceProfile,
  signProfile,
  verifyProfile,
  type SignedProfile,
} from '../../src/crypto/logs/profile.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { newDevice, newPerson } from './builders.ts'
import { ofKind, run } from './kit2.ts'

interface Order {
  account: string
  key_log: string[]
  profiles: string[]
  results: string[]
  name: string | null
  n: number | null
}

run<Order>('profile-names.json', ofKind('order'), (of) => {
  const log = verifyKeyLog(of.account, of.key_log)
  let kept: string | null = null
  let profile: SignedProfile | null = null
  const results = of.profiles.map((jws) => {
    try {
      profile = replaceProfile(kept, jws, log)
      kept = jws
      return 'taken'
    } catch (error) {
      if (error instanceof Refusal) return error.reason
      throw error
    }
  })
  assert.deepEqual(results, of.results)
  const { name = null, n = null } = (profile as SignedProfile | null) ?? {}
  assert.deepEqual({ name, n }, { name: of.name, n: of.n })
})

test('a device signs a name that verifies by the key log of its account', () => {
  const device = newDevice()
  const { account, log } = newPerson(device)
  const of = { account, device: device.id, n: 1, name: 'Ana 🔑' }
  const jws = signProfile({ ...of, kid: device.kid, seed: device.keys.sign.secret })
  assert.deepEqual(verifyProfile(jws, log), { v: 2, ...of })
})

test('a name of 65 characters is not signed', () => {
  const device = newDevice()
  const { account } = newPerson(device)
  const of = { account, device: device.id, n: 1, name: 'x'.repeat(65) }
  const signing = () => signProfile({ ...of, kid: device.kid, seed: device.keys.sign.secret })
  assert.throws(signing, { reason: 'bad_value' })
})
