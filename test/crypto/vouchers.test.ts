/**
 * Tests which recovery key made the signature of a reset.
 * It is found once, and passed to later verifications.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { lastPlace } from '../../src/crypto/logs/chain.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { placeAfterHead, vouchFor } from '../../src/crypto/logs/key-log-entries.ts'
import {
  type KeyLog,
  type KnownLog,
  verifyingKeyLog,
  verifyKeyLog,
} from '../../src/crypto/logs/key-log.ts'
import { logEntry, newDevice, newPerson, newRecoveryKey, protect, reset } from './builders.ts'
import { refused } from './opened.ts'

/** Returns a log of three generations, each with another recovery key. */
function threeKeys() {
  const devices = [newDevice(), newDevice(), newDevice()]
  const person = newPerson(devices[0]!)
  const keys = devices.map((device, at) => {
    if (at > 0) reset(person, device)
    const key = newRecoveryKey()
    protect(person, key, device)
    return key
  })
  return { person, keys: keys.map(({ jwk }) => jwk.x), secrets: keys }
}

const nameOf = (jws: string) => encodeBase64url(entryHash(jws))

/**
 * Returns the result of a verification, and how often it yielded: for each entry, and each key
 * tried.
 */
function followed(account: string, entries: readonly string[], known?: KnownLog) {
  const steps = verifyingKeyLog(account, entries, known)
  for (let turns = 0; ; turns++) {
    const step = steps.next()
    if (step.done === true) return { log: step.value as KeyLog, turns }
  }
}

/** Returns the log with a reset that no verification has seen. */
function withReset(signature: (sign: (key: number) => string) => string) {
  const { person, keys, secrets } = threeKeys()
  const { account, log } = person
  const device = newDevice()
  const what = { op: 'reset', device: device.id, keys: publicKeys(device.keys) } as const
  const vouched = { ...placeAfterHead(log), ...what }
  const recovery_sig = signature((key) => vouchFor(vouched, secrets[key]!))
  const jws = logEntry(account, log.entries, 'reset', device, device, { recovery_sig })
  return { account, entries: [...log.entries, jws], before: log, jws, keys }
}

const flipped = (text: string) => {
  const bytes = decodeBase64url(text)
  bytes[40]! ^= 1
  return encodeBase64url(bytes)
}

describe('the recovery key of a reset', () => {
  test('that is cached is used without a signature check', () => {
    // No key made this signature, so the result can come only from the known log.
    const { account, entries, jws, keys } = withReset((sign) => flipped(sign(0)))
    for (const key of keys) {
      const known = { ...lastPlace(entries)!, vouchers: new Map([[nameOf(jws), key]]) }
      const { log, turns } = followed(account, entries, known)
      assert.equal(log.recovery, key)
      assert.equal(turns, entries.length)
    }
  })

  test('that is cached, but not in force, is searched again', () => {
    const { account, entries, jws, keys } = withReset((sign) => sign(1))
    const vouchers = new Map([[nameOf(jws), newRecoveryKey().jwk.x]])
    const known = { ...lastPlace(entries)!, vouchers }
    assert.equal(verifyKeyLog(account, entries, known).recovery, keys[1])
  })

  test('that is cached for an unverified reset does not count', () => {
    const bad = withReset((sign) => flipped(sign(1)))
    const vouchers = new Map([[nameOf(bad.jws), bad.keys[1]!]])
    const known = { ...lastPlace(bad.before.entries)!, vouchers }
    refused(() => verifyKeyLog(bad.account, bad.entries, known), 'bad_recovery_sig')
    const good = withReset((sign) => sign(1))
    const other = new Map([[nameOf(good.jws), good.keys[2]!]])
    const place = { ...lastPlace(good.before.entries)!, vouchers: other }
    assert.equal(verifyKeyLog(good.account, good.entries, place).recovery, good.keys[1])
  })

  test('is returned with the verified log', () => {
    const { account, entries, jws, keys } = withReset((sign) => sign(1))
    const log = verifyKeyLog(account, entries)
    assert.deepEqual([...log.vouchers], [[nameOf(jws), keys[1]]])
    const again = followed(account, entries, log)
    assert.deepEqual(again.log.vouchers, log.vouchers)
    assert.equal(again.turns, entries.length)
  })

  test('that is identified only by its position is searched once', () => {
    const { account, entries, keys } = withReset((sign) => sign(0))
    const known = lastPlace(entries)!
    const first = followed(account, entries, known)
    assert.equal(first.log.recovery, keys[0])
    assert.equal(first.turns, entries.length + 2)
    const second = followed(account, entries, known)
    assert.equal(second.log.recovery, keys[0])
    assert.equal(second.turns, entries.length)
  })
})
