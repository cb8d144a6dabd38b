/** Tests stamps and receipts as the builders make them; the test kit has the rules of refusal. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newId, ID_PREFIX } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import {
  signReceipt,
  signStamp,
  stampFragment,
  stampWords,
  verifyStamp,
} from '../../src/crypto/stamp.ts'
import type { StampPayload } from '../../src/crypto/stamp.ts'
import { parseWords } from '../../src/crypto/words.ts'
import { sha256 } from '@noble/hashes/sha2.js'
import { accountOf, logEntry, newDevice, sign } from './builders.ts'

const [device, later, server] = [newDevice(), newDevice(), newDevice()]
const account = accountOf(device)
const log = [logEntry(account, [], 'add', device, device)]
log.push(logEntry(account, log, 'add', later, device))
const revoked = [...log, logEntry(account, log, 'revoke', device, later)]

const content = new TextEncoder().encode('pay 17 to the usual account\n')
const { seq, head } = verifyKeyLog(account, log)
const payload: StampPayload = {
  v: 2,
  jti: newId(ID_PREFIX.stamp, Date.now()),
  iss: account,
  dev: device.id,
  sha256: encodeBase64url(sha256(content)),
  len: content.length,
  media_type: 'text/plain',
  iat: 1767225600,
  clock: { source: 'server', offset_ms: -120 },
  key_log: { seq, head: encodeBase64url(head) },
  ctx: 'invoice 17',
  assurance: 'device',
}
const stamp = signStamp(payload, device.kid, device.keys.sign.secret)
const seen = { received_at: 1767225603, key_status: 'active', assurance: 'verified_email' } as const
const receipt = signReceipt(stamp, seen, server.kid, server.keys.sign.secret)
const serverKey = server.keys.sign.jwk

describe('stamp', () => {
  test('with its receipt and content', () => {
    const facts = verifyStamp({ stamp, key_log: log, receipt }, { content, serverKey })
    assert.deepEqual(facts.payload, payload)
    assert.deepEqual([facts.device, facts.sha256], [device.id, entryHash(stamp)])
    assert.deepEqual(facts.receipt, {
      v: 2,
      jti: payload.jti,
      stamp_sha256: stampFragment(stamp),
      ...seen,
    })
    assert.deepEqual(parseWords(stampWords(stamp).join('-'), 3).words, facts.words)
  })
  test('counts a receipt only by the pinned key', () => {
    const file = { stamp, key_log: log, receipt }
    const unchecked = verifyStamp(file)
    assert.deepEqual([unchecked.receipt, unchecked.assurance], [null, 'device'])
    assert.equal(verifyStamp(file, { serverKey }).assurance, 'verified_email')
    const other = device.keys.sign.jwk
    assert.throws(() => verifyStamp(file, { serverKey: other }), { reason: 'unknown_signer' })
    // Revoked since: only a verified receipt keeps the stamp valid.
    const old = { stamp, key_log: revoked, receipt }
    assert.equal(verifyStamp(old, { serverKey }).receipt?.key_status, 'active')
    assert.throws(() => verifyStamp(old), { reason: 'revoked_key' })
  })
  test('compares its key log with the cached one', () => {
    const file = { stamp, key_log: log }
    const against = (entries: readonly string[]) => verifyStamp(file, { remembered: () => entries })
    for (const entries of [[], log.slice(0, 1), log]) assert.equal(against(entries).keyLog.seq, 1)
    // Cut before the cached revocation.
    assert.throws(() => against(revoked), { reason: 'revoked_key' })
    const other = [logEntry(account, [], 'add', device, device, { at: 0 })]
    assert.throws(() => against(other), { reason: 'key_log_forked', details: { entry: 0 } })
    // A log that breaks a rule by itself is refused for that reason.
    const broken = { stamp, key_log: log.toReversed() }
    assert.throws(() => verifyStamp(broken, { remembered: () => log }), { reason: 'gap' })
  })
  test('has the root of the generation that signed', () => {
    const [next, third] = [newDevice(), newDevice()]
    const anew = [...log, logEntry(account, log, 'reset', next, next)]
    anew.push(logEntry(account, anew, 'add', third, next))
    const place = { seq: 3, head: encodeBase64url(entryHash(anew[3]!)) }
    const late = { ...payload, dev: third.id, key_log: place }
    const again = signStamp(late, third.kid, third.keys.sign.secret)
    const { generation, root } = verifyStamp({ stamp: again, key_log: anew })
    assert.deepEqual([generation, root], [2, { seq: 2, hash: entryHash(anew[2]!) }])
    const { root: first } = verifyStamp({ stamp, key_log: log })
    assert.deepEqual(first, { seq: 0, hash: entryHash(log[0]!) })
  })
  test('with a claim above device is rejected, with any receipt', () => {
    for (const assurance of ['verified_email', 'organisation'] as const) {
      const claims = signStamp({ ...payload, assurance }, device.kid, device.keys.sign.secret)
      const receipt = signReceipt(claims, seen, server.kid, server.keys.sign.secret)
      const check = () => verifyStamp({ stamp: claims, key_log: log, receipt }, { serverKey })
      assert.throws(check, { reason: 'assurance_claimed' })
    }
  })
  test('a receipt from after the revocation outweighs a log cut short', () => {
    const late = { ...seen, key_status: 'revoked' as const }
    const receipt = signReceipt(stamp, late, server.kid, server.keys.sign.secret)
    const check = () => verifyStamp({ stamp, key_log: log, receipt }, { serverKey })
    assert.throws(check, { reason: 'revoked_key' })
  })
  test('of protocol 1 is rejected, and so is its receipt', () => {
    const old = sign('stamp+jws', device, { ...payload, v: 1 })
    assert.throws(() => verifyStamp({ stamp: old, key_log: log }), { reason: 'wrong_version' })
    const { jti } = payload
    const fields = { v: 1, jti, stamp_sha256: stampFragment(stamp), ...seen }
    const receipt = sign('receipt+jws', server, fields)
    const check = () => verifyStamp({ stamp, key_log: log, receipt }, { serverKey })
    assert.throws(check, { reason: 'wrong_version' })
  })
  test('is bound to its head: another log of the account does not match', () => {
    const other = [log[0]!, logEntry(account, [log[0]!], 'add', newDevice(), device)]
    const check = () => verifyStamp({ stamp, key_log: other })
    assert.throws(check, { reason: 'key_log_mismatch' })
  })
  test('a receipt names the stamp by its id as well', () => {
    const other = {
      v: 2,
      jti: newId(ID_PREFIX.stamp, Date.now()),
      stamp_sha256: stampFragment(stamp),
    }
    const receipt = sign('receipt+jws', server, { ...other, ...seen })
    const check = () => verifyStamp({ stamp, key_log: log, receipt }, { serverKey })
    assert.throws(check, { reason: 'receipt_mismatch' })
  })
  test('is not signed if its reader would reject it', () => {
    const attempt = (change: object) =>
      signStamp({ ...payload, ...change }, device.kid, device.keys.sign.secret)
    const refused = [
      { iat: 0.5 },
      { iat: -1 },
      { assurance: 'certain' },
      { sha256: 'abc' },
      { jti: account },
      { ctx: 1 },
      { clock: { source: 'server', offset_ms: '0' } },
      { clock: { source: 'ntp', offset_ms: 0 } },
      { clock: { source: 'local', offset_ms: 5 } },
    ]
    for (const change of refused) assert.throws(() => attempt(change), { name: 'Refusal' })
    attempt({ len: null, media_type: null, ctx: null })
    assert.throws(
      () => signReceipt(stamp, { ...seen, received_at: -1 }, server.kid, server.keys.sign.secret),
      {
        reason: 'bad_value',
      },
    )
  })
  test('signed again with another jti has other words', () => {
    const jti = newId(ID_PREFIX.stamp, Date.now())
    const again = signStamp({ ...payload, jti }, device.kid, device.keys.sign.secret)
    assert.notDeepEqual(stampWords(again), stampWords(stamp))
  })
})
