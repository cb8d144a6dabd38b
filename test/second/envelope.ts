/** Section 4: envelopes, suite 1. */
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_MLKEM768_X25519 } from 'hpke'
import {
  base64url,
  type Bytes,
  concat,
  label,
  need,
  Refused,
  same,
  sha256,
  u32be,
  utf8,
} from './bytes.ts'
import { connectionAt, deviceAt, raw } from './ids.ts'
import { bytesAt, countAt, exactly, parseJson, versionTwo } from './json.ts'

const suite = new CipherSuite(KEM_MLKEM768_X25519, KDF_HKDF_SHA256, AEAD_AES_256_GCM)
const SUITE = 1

/** The epoch of the verified roster. */
export interface Newest {
  readonly connection: string
  readonly epoch: number
  readonly epochHead: Bytes
  readonly kCommit: Bytes
}

export interface HeldKey {
  /** SHA-256 of the public key. */
  readonly kid: Bytes
  readonly key: Bytes
}

export const kCommitOf = (connection: Bytes, epoch: number, K: Bytes): Bytes =>
  sha256(label('countersign/v2/k'), connection, u32be(epoch), K)

export const envelopeInfo = (
  connection: string,
  epoch: number,
  head: Bytes,
  recipient: string,
  kid: Bytes,
): Bytes =>
  concat(
    label('countersign/v2/envelope'),
    Uint8Array.of(SUITE),
    raw(connection),
    u32be(epoch),
    head,
    raw(recipient),
    kid,
  )

/**
 * Opens an envelope: its info and K.
 * @throws Refused with a reason of the kit
 */
export async function openEnvelope(
  text: string,
  newest: Newest,
  recipient: string,
  keys: readonly HeldKey[],
): Promise<{ info: Bytes; K: Bytes }> {
  const object = parseJson(utf8(text))
  versionTwo(object)
  exactly(object, [
    'v',
    'suite',
    'connection',
    'epoch',
    'epoch_head',
    'recipient',
    'recipient_kid',
    'enc',
    'ct',
  ])
  need(countAt(object, 'suite') === SUITE, 'unknown_suite')
  const connection = connectionAt(object, 'connection')
  const epoch = countAt(object, 'epoch', 2 ** 32 - 1)
  const head = bytesAt(object, 'epoch_head', 32)
  const to = deviceAt(object, 'recipient')
  const kid = bytesAt(object, 'recipient_kid', 32)
  const enc = bytesAt(object, 'enc', 1120)
  const ct = bytesAt(object, 'ct', 48)

  need(connection === newest.connection, 'wrong_connection')
  need(to === recipient, 'wrong_recipient')
  need(epoch >= newest.epoch, 'old_epoch')
  need(epoch === newest.epoch, 'unknown_epoch')
  need(same(head, newest.epochHead), 'wrong_epoch_head')
  const own = keys.find((key) => same(key.kid, kid))
  if (own === undefined) throw new Refused('wrong_recipient_kid')
  const info = envelopeInfo(connection, epoch, head, to, kid)
  const K = await open(own.key, enc, ct, info)
  need(same(kCommitOf(raw(connection), epoch, K), newest.kCommit), 'k_commit_mismatch')
  return { info, K }
}

async function open(key: Bytes, enc: Bytes, ct: Bytes, info: Bytes): Promise<Bytes> {
  try {
    return await suite.Open(await suite.DeserializePrivateKey(key), enc, ct, { info })
  } catch {
    throw new Refused('open_failed')
  }
}

/** Seals K for one device; returns the JSON of the envelope. */
export async function sealEnvelope(
  K: Bytes,
  publicKey: Bytes,
  epoch: Omit<Newest, 'kCommit'>,
  recipient: string,
): Promise<string> {
  const kid = sha256(publicKey)
  const info = envelopeInfo(epoch.connection, epoch.epoch, epoch.epochHead, recipient, kid)
  const key = await suite.DeserializePublicKey(publicKey)
  const { encapsulatedSecret, ciphertext } = await suite.Seal(key, K, { info })
  return JSON.stringify({
    v: 2,
    suite: SUITE,
    connection: epoch.connection,
    epoch: epoch.epoch,
    epoch_head: base64url(epoch.epochHead),
    recipient,
    recipient_kid: base64url(kid),
    enc: base64url(encapsulatedSecret),
    ct: base64url(ciphertext),
  })
}
