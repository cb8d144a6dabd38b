/** Envelopes that one device seals and another opens, and all that is refused. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/base64url.ts'
import { ZERO_HEAD } from '../../src/crypto/code.ts'
import { deviceKeysFrom } from '../../src/crypto/device-keys-v1.ts'
import { openEnvelope, sealEnvelope } from '../../src/crypto/envelope.ts'
import { verifyKeyLog } from '../../src/crypto/key-log-v1.ts'
import type { Reason } from '../../src/crypto/refusal.ts'
import { keyCommitment } from '../../src/crypto/key-commitment.ts'
import { addMember, verifyRoster } from '../../src/crypto/roster.ts'
import { consentTo } from './builders2.ts'
import { logEntry, logsOf, newConnection, newDevice, newPerson } from './builders.ts'
import {
  account,
  at,
  connection,
  first,
  k,
  keyLogs,
  log,
  open,
  own,
  refused,
  second,
  third,
  two,
} from './opened.ts'

describe('envelope', () => {
  const roster = verifyRoster(connection, [open], keyLogs)
  const { epoch, epochHead } = roster
  const sealing = { connection, epoch, epochHead, k, sender: first.id, senderKid: first.kid }
  const to = { recipient: second.id, recipientSeal: second.keys.seal.jwk }
  const seal = (change: object = {}) =>
    sealEnvelope({ ...sealing, senderSeed: first.keys.sign.secret, ...to, ...change })
  const opener = { roster, keyLogs, recipient: second.id, seal: second.keys.seal }

  test('opens on the device it is for', async () => {
    const envelope = await seal()
    assert.deepEqual(await openEnvelope({ envelope, ...opener }), k)
    assert.notEqual(await seal(), envelope)
  })
  test('opens with keys rebuilt from kept secrets', async () => {
    const { sign: s, seal: e, auth } = second.keys
    const kept = deviceKeysFrom({ sign: s.secret, seal: e.secret, auth: auth.secret })
    assert.deepEqual(kept, second.keys)
    assert.deepEqual(await openEnvelope({ envelope: await seal(), ...opener, seal: kept.seal }), k)
  })

  const low = { kty: 'OKP', crv: 'X25519', x: encodeBase64url(new Uint8Array(32)) }
  const table: [string, object, object, Reason][] = [
    ['another K', { k: new Uint8Array(32) }, {}, 'k_commit_mismatch'],
    ['a later epoch', { epoch: 2 }, {}, 'unknown_epoch'],
    ['an older epoch', {}, { roster: { ...roster, epoch: 2 } }, 'old_epoch'],
    ['another opening', { epochHead: ZERO_HEAD }, {}, 'wrong_epoch_head'],
    ['another connection', { connection: newConnection() }, {}, 'wrong_connection'],
    ['for another device', { recipient: first.id }, {}, 'wrong_recipient'],
    ['for another key', { recipientSeal: first.keys.seal.jwk }, {}, 'wrong_recipient_kid'],
    ['by a device of nobody', { sender: third.id }, {}, 'sender_not_member'],
    [
      'by a device of nobody current',
      {},
      { roster: { ...roster, members: [] } },
      'sender_not_member',
    ],
    ['by another than it says', { sender: second.id }, {}, 'kid_mismatch'],
    ['signed by another', { senderSeed: third.keys.sign.secret }, {}, 'bad_signature'],
    ['K of 31 bytes', { k: k.subarray(1) }, {}, 'bad_length'],
    ['to a low-order key', { recipientSeal: low }, {}, 'open_failed'],
    ['to a signing key', { recipientSeal: second.keys.sign.jwk }, {}, 'bad_key'],
  ]
  for (const [name, sealed, opened, reason] of table) {
    test(`${name}: ${reason}`, async () => {
      const attempt = async () =>
        openEnvelope({ envelope: await seal(sealed), ...opener, ...opened })
      await assert.rejects(attempt, { reason })
    })
  }
  test('by a device revoked since: revoked_signer', async () => {
    const envelope = await seal()
    const revoked = verifyKeyLog(account, [...two, logEntry(account, two, 'revoke', first, second)])
    const logs = new Map([[account, revoked]])
    const attempt = openEnvelope({ envelope, ...opener, keyLogs: logs })
    await assert.rejects(attempt, { reason: 'revoked_signer' })
  })
  test('opens where another member named the same device id in its log', async () => {
    const copyDevice = { ...newDevice(), id: first.id }
    const copy = newPerson(copyDevice)
    const both = new Map([...logsOf(copy), ...keyLogs])
    const by = { actor: account, device: first.id, actorLog: log, ...own, at }
    const consent = consentTo(roster, { account }, copy, copyDevice)
    const added = { member: copy.account, memberLog: copy.log, role: 'member' as const, consent }
    const entries = [open, addMember({ roster, keyLogs: both, ...added, ...by })]
    const joined = verifyRoster(connection, entries, both)
    const copyFirst = { ...joined, members: joined.members.toReversed() }
    for (const shown of [joined, copyFirst]) {
      const of = { ...opener, roster: shown, keyLogs: both, envelope: await seal() }
      assert.deepEqual(await openEnvelope(of), k)
    }
  })
  test('k_commit depends on every part', () => {
    const all = [
      keyCommitment(connection, 1, k),
      keyCommitment(connection, 2, k),
      keyCommitment(newConnection(), 1, k),
      keyCommitment(connection, 1, ZERO_HEAD),
    ]
    assert.equal(new Set(all).size, 4)
    assert.equal(decodeBase64url(all[0]!).length, 32)
    refused(() => keyCommitment(connection, 1, k.subarray(1)), 'bad_length')
  })
})
