/**
 * Seals and opens envelopes of suite 1 (section 4): an epoch's K, encrypted to one device.
 *
 * An envelope has no signature. Instead, the signed roster entry that opened the epoch commits to K
 * (`k_commit`).
 */
import { concatBytes } from '@noble/hashes/utils.js'
import { decodeBase64url, encodeBase64url } from './encoding/base64url.ts'
import { readEnvelope, SUITE, type EnvelopeHead } from './envelope-form.ts'
import { requireLength, labelled, u32be } from './encoding/hash-input.ts'
import { parseId, ID_PREFIX } from './encoding/id.ts'
import { keyCommitment } from './logs/roster-form.ts'
import { requireThat } from './refusal.ts'
import { failedAs, hpkeSuite1, sealTo } from './seal-key.ts'

/** An epoch, as a verified roster states it. */
export type Epoch = {
  readonly connection: string
  readonly epoch: number
  /** The hash of the entry that opened the epoch, 32 bytes. */
  readonly epochHead: Uint8Array
}

/**
 * Seals K (32 bytes) for one device and returns the envelope as JSON.
 * @param to the device: `kid` is the newest sealing key in its verified key log, `publicKey` the
 * bytes of that key, which were received separately from the log
 * @throws Refusal `hash_mismatch`, `not_sealable`, `bad_length`, `bad_value`
 */
export async function sealEnvelope(
  { connection, epoch, epochHead }: Epoch,
  k: Uint8Array,
  to: { recipient: string; kid: string; publicKey: Uint8Array },
): Promise<string> {
  requireLength(k, 32, 'K')
  requireLength(epochHead, 32, 'a head')
  const head: EnvelopeHead = {
    v: 2,
    suite: SUITE,
    connection,
    epoch,
    epoch_head: encodeBase64url(epochHead),
    recipient: to.recipient,
    recipient_kid: to.kid,
  }
  const { enc, ct } = await sealTo(to.publicKey, to.kid, k, envelopeInfo(head))
  return JSON.stringify({ ...head, enc: encodeBase64url(enc), ct: encodeBase64url(ct) })
}

/**
 * Opens an envelope on the device `recipient` and returns K (32 bytes), checked against `kCommit`.
 * @param newest the current epoch of a verified roster, with its `k_commit`
 * @param keys this device's decapsulation keys (32 bytes each) by the id of their public key: the
 * current key and, after a renewal, the previous one
 * @throws Refusal as `readEnvelope`; `wrong_connection`, `old_epoch`, `unknown_epoch`,
 * `wrong_epoch_head`, `wrong_recipient`, `wrong_recipient_kid`, `open_failed`, `k_commit_mismatch`
 */
export async function openEnvelope(
  text: string,
  newest: Epoch & { readonly kCommit: string },
  recipient: string,
  keys: ReadonlyMap<string, Uint8Array>,
): Promise<Uint8Array> {
  const envelope = readEnvelope(text)
  requireThat(
    envelope.connection === newest.connection,
    'wrong_connection',
    'the envelope is for another connection',
  )
  requireThat(envelope.epoch >= newest.epoch, 'old_epoch', 'the envelope is for an older epoch')
  requireThat(
    envelope.epoch === newest.epoch,
    'unknown_epoch',
    'the envelope is for a later epoch than the roster on this device has opened',
  )
  const sameHead = envelope.epoch_head === encodeBase64url(newest.epochHead)
  requireThat(
    sameHead,
    'wrong_epoch_head',
    'another entry opened the epoch than the envelope names',
  )
  requireThat(
    envelope.recipient === recipient,
    'wrong_recipient',
    'the envelope is sealed to another device',
  )
  const secret = keys.get(envelope.recipient_kid)
  requireThat(
    secret !== undefined,
    'wrong_recipient_kid',
    'the envelope is sealed to a key that this device does not have',
  )

  const hpke = hpkeSuite1()
  const [enc, ct] = [decodeBase64url(envelope.enc), decodeBase64url(envelope.ct)]
  const k = await hpke
    .DeserializePrivateKey(secret, false)
    .then((key) => hpke.Open(key, enc, ct, { info: envelopeInfo(envelope) }))
    .catch(failedAs('open_failed', 'the envelope cannot be opened'))
  const committed = keyCommitment(newest.connection, newest.epoch, k) === newest.kCommit
  requireThat(
    committed,
    'k_commit_mismatch',
    'the secret does not match the commitment in the entry that opened the epoch',
  )
  return k
}

/** Returns HPKE's `info` input, which binds a ciphertext to its connection, epoch and recipient. */
export const envelopeInfo = (head: EnvelopeHead): Uint8Array =>
  labelled(
    'countersign/v2/envelope',
    Uint8Array.of(head.suite),
    concatBytes(parseId(ID_PREFIX.connection, head.connection), u32be(head.epoch)),
    decodeBase64url(head.epoch_head),
    parseId(ID_PREFIX.device, head.recipient),
    decodeBase64url(head.recipient_kid),
  )
