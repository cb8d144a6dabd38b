/**
 * Tests X-Wing and the envelopes of suite 1: the cases of test kit 2, and envelopes sealed here.
 */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { x25519 } from '@noble/curves/ed25519.js'
import { KEM_MLKEM768_X25519, NotSupportedError } from 'hpke'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { envelopeInfo, openEnvelope, sealEnvelope } from '../../src/crypto/envelope.ts'
import { hpkeSuite1, newSealKey, sealTo } from '../../src/crypto/seal-key.ts'
import { newConnection, newDevice } from './builders.ts'
import { bytes, hex, ofKind, readKit, run } from './kit2.ts'
import { publicOf } from './keys.ts'

type Newest = { connection: string; epoch: number; epoch_head_hex: string; k_commit: string }
const { newest } = readKit<unknown, { newest: Record<string, Newest> }>('envelope.json')

type EnvelopeCase = {
  newest: string
  recipient: string
  recipient_keys: { kid: string; decapsulation_key_hex: string }[]
  envelope: string
  info_hex: string
  key_hex: string
}
run<EnvelopeCase>(
  'envelope.json',
  (of) => of.kind === undefined,
  async (of) => {
    const { connection, epoch, epoch_head_hex, k_commit: kCommit } = newest[of.newest]!
    const known = { connection, epoch, epochHead: bytes(epoch_head_hex), kCommit }
    const keys = new Map(
      of.recipient_keys.map((key) => [key.kid, bytes(key.decapsulation_key_hex)]),
    )
    const k = await openEnvelope(of.envelope, known, of.recipient, keys)
    assert.equal(hex(k), of.key_hex)
    assert.equal(hex(envelopeInfo(readEnvelope(of.envelope))), of.info_hex)
    assert.equal(keyCommitment(connection, epoch, k), kCommit)
  },
)

type KemCase = {
  decapsulation_key_hex: string
  public_hex: string
  enc_hex: string
  shared_secret_hex: string
}
run<KemCase>('envelope.json', ofKind('kem'), async (of) => {
  const kem = KEM_MLKEM768_X25519()
  const secret = await kem.DeserializePrivateKey(bytes(of.decapsulation_key_hex), false)
  const shared = await kem.Decap(bytes(of.enc_hex), secret, undefined)
  assert.equal(hex(shared), of.shared_secret_hex)
  assert.equal(hex(publicOf(bytes(of.decapsulation_key_hex))), of.public_hex)
  // A text sealed to the public key opens with the decapsulation key.
  const hpke = hpkeSuite1()
  const publicKey = await hpke.DeserializePublicKey(bytes(of.public_hex))
  const sealed = await hpke.Seal(publicKey, bytes('c0ffee'))
  const opened = await hpke.Open(secret, sealed.encapsulatedSecret, sealed.ciphertext)
  assert.equal(hex(opened), 'c0ffee')
})

run<{ public_hex: string; seal_sha256_hex: string }>('envelope.json', ofKind('seal-key'), (of) =>
  sealTo(
    bytes(of.public_hex),
    Buffer.from(of.seal_sha256_hex, 'hex').toString('base64url'),
    new Uint8Array(0),
    new Uint8Array(0),
  ),
)

const seal = await newSealKey()

describe('an envelope', () => {
  const kid = sealKeyId(seal.publicKey)
  const k = new Uint8Array(randomBytes(32))
  const epoch = {
    connection: newConnection(),
    epoch: 3,
    epochHead: new Uint8Array(randomBytes(32)),
  }
  const known = { ...epoch, kCommit: keyCommitment(epoch.connection, 3, k) }
  const recipient = newDevice().id
  const to = { recipient, kid, publicKey: seal.publicKey }
  const keys = new Map([[kid, seal.secret]])

  test('opens on its recipient device, and differs each time', async () => {
    const [one, other] = [await sealEnvelope(epoch, k, to), await sealEnvelope(epoch, k, to)]
    assert.notEqual(one, other)
    for (const envelope of [one, other])
      assert.deepEqual(await openEnvelope(envelope, known, recipient, keys), k)
  })
  test('has exactly the members of the protocol, and no signature', async () => {
    const envelope = JSON.parse(await sealEnvelope(epoch, k, to)) as Record<string, unknown>
    assert.equal(
      Object.keys(envelope).join(' '),
      'v suite connection epoch epoch_head recipient recipient_kid enc ct',
    )
    assert.deepEqual([envelope['v'], envelope['suite'], envelope['recipient_kid']], [2, 1, kid])
  })
  test('opens with the key before a renewal while that is kept', async () => {
    const renewed = await newSealKey()
    const keysHeld = new Map([[sealKeyId(renewed.publicKey), renewed.secret], ...keys])
    const envelope = await sealEnvelope(epoch, k, to)
    assert.deepEqual(await openEnvelope(envelope, known, recipient, keysHeld), k)
    keysHeld.delete(kid)
    const attempt = openEnvelope(envelope, known, recipient, keysHeld)
    await assert.rejects(attempt, { reason: 'wrong_recipient_kid' })
  })
  test('with another K is rejected', async () => {
    const envelope = await sealEnvelope(epoch, new Uint8Array(32), to)
    const attempt = openEnvelope(envelope, known, recipient, keys)
    await assert.rejects(attempt, { reason: 'k_commit_mismatch' })
  })

  const places: [string, object, string][] = [
    ['connection', { connection: newConnection() }, 'wrong_connection'],
    ['later epoch', { epoch: 4 }, 'unknown_epoch'],
    ['earlier epoch', { epoch: 2 }, 'old_epoch'],
    ['opening entry', { epochHead: new Uint8Array(32) }, 'wrong_epoch_head'],
  ]
  for (const [name, change, reason] of places)
    test(`for another ${name}: ${reason}`, async () => {
      const envelope = await sealEnvelope({ ...epoch, ...change }, k, to)
      await assert.rejects(openEnvelope(envelope, known, recipient, keys), { reason })
      // The ciphertext does not open either if the place is overwritten.
      const altered = JSON.stringify({
        ...(JSON.parse(envelope) as object),
        connection: epoch.connection,
        epoch: epoch.epoch,
        epoch_head: Buffer.from(epoch.epochHead).toString('base64url'),
      })
      const attempt = openEnvelope(altered, known, recipient, keys)
      await assert.rejects(attempt, { reason: 'open_failed' })
    })

  const unsealable: [string, object, string][] = [
    ['a key that the log does not name', { kid: sealKeyId(k) }, 'hash_mismatch'],
    ['an X25519 key', ofKey(x25519.getPublicKey(seal.secret)), 'not_sealable'],
    ['a low-order X25519 half', ofKey(seal.publicKey.slice().fill(0, 1184)), 'not_sealable'],
    ['no key', ofKey(new Uint8Array(0)), 'not_sealable'],
  ]
  for (const [name, change, reason] of unsealable)
    test(`to ${name}: ${reason}`, async () => {
      await assert.rejects(sealEnvelope(epoch, k, { ...to, ...change }), { reason })
    })
  test('a runtime without ML-KEM does not reject the key', async (t) => {
    t.mock.method(crypto.subtle, 'encapsulateBits', () => {
      throw new DOMException('no ML-KEM', 'NotSupportedError')
    })
    await assert.rejects(sealEnvelope(epoch, k, to), NotSupportedError)
  })
  test('needs K and heads of 32 bytes', async () => {
    const short = k.subarray(1)
    await assert.rejects(sealEnvelope(epoch, short, to), { reason: 'bad_length' })
    const attempt = sealEnvelope({ ...epoch, epochHead: short }, k, to)
    await assert.rejects(attempt, { reason: 'bad_length' })
  })
  test('k_commit equals the hash by node:crypto', () => {
    const { connection } = newest['one']!
    const raw = bytes(readKit<unknown, { connection_hex: string }>('envelope.json').connection_hex)
    const hash = createHash('sha256')
      .update('countersign/v2/k\0')
      .update(raw)
      .update(bytes('00000003'))
    assert.equal(keyCommitment(connection, 3, k), hash.update(k).digest('base64url'))
  })
})

function ofKey(publicKey: Uint8Array) {
  return { publicKey, kid: sealKeyId(publicKey) }
}
