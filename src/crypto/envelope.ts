/**
 * Envelopes (section 4): K of the current epoch, sealed by one device to another. HPKE Base (RFC
 * 9180) with the suite of its appendix A.1; the server carries them and can neither open nor forge
 * one.
 */
import { utf8ToBytes, concatBytes } from '@noble/hashes/utils.js'
import { AEAD_AES_128_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from 'hpke'
import { decodeBase64url, encodeBase64url } from './base64url.ts'
import { u32be } from './hash-input.ts'
import type { KeyPair } from './device-keys-v1.ts'
import { parseId, PREFIX } from './id.ts'
import { jwkBytes, thumbprint, type PublicJwk } from './jwk.ts'
import { parseJws } from './jws.ts'
import { signJws } from './jws-signature.ts'
import { signerAt, verifySignedBy, type Device, type KeyLog } from './key-log-v1.ts'
import { readEnvelope } from './envelope-form.ts'
import { demand, Refusal } from './refusal.ts'
import { keyCommitment } from './key-commitment.ts'
import type { Roster } from './roster.ts'

type KeyLogs = ReadonlyMap<string, KeyLog>
type Payload = ReturnType<typeof readEnvelope>

const suite = () => new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_128_GCM)

/**
 * Seals K (`k`, 32 bytes) for one device. `epoch` and `epochHead` (32 bytes) are those of the
 * current epoch of a verified roster, `recipientSeal` the sealing key of an active device in the
 * verified log of a current member: the caller chooses among those and no others. Out: the JWS.
 * Throws `bad_length`, `bad_key`, `bad_value`, and `open_failed` for a sealing key that no secret
 * can be shared with.
 */
export async function sealEnvelope(of: {
  connection: string
  epoch: number
  epochHead: Uint8Array
  k: Uint8Array
  sender: string
  senderKid: string
  senderSeed: Uint8Array
  recipient: string
  recipientSeal: PublicJwk
}): Promise<string> {
  demand(of.k.length === 32, 'bad_length', 'K is 32 bytes')
  const hpke = suite()
  const head = {
    v: 1 as const,
    connection: of.connection,
    epoch: of.epoch,
    epoch_head: encodeBase64url(of.epochHead),
    sender: of.sender,
    recipient: of.recipient,
    recipient_kid: thumbprint(of.recipientSeal),
  }
  const info = infoOf(head)
  const key = jwkBytes(of.recipientSeal, 'X25519')
  const { encapsulatedSecret, ciphertext } = await hpke
    .DeserializePublicKey(key)
    .then((publicKey) => hpke.Seal(publicKey, of.k, { info }))
    .catch(failed('the sealing key cannot be used'))
  const envelope: Payload = {
    ...head,
    enc: encodeBase64url(encapsulatedSecret),
    ct: encodeBase64url(ciphertext),
  }
  const jws = signJws('envelope+jws', of.senderKid, envelope, of.senderSeed)
  readEnvelope(parseJws(jws, 'envelope+jws').payload)
  return jws
}

/**
 * Opens an envelope on the device `recipient`, whose sealing key pair is `seal`. `roster` is the
 * verified roster of the connection that K is wanted for and `keyLogs` the newest verified logs of
 * its members. Out: K, 32 bytes, which fits the epoch's `k_commit`.
 *
 * Throws what `parseJws` and the payload throw, `wrong_connection`, `old_epoch`, `unknown_epoch`,
 * `wrong_epoch_head`, `wrong_recipient`, `wrong_recipient_kid`, `sender_not_member`,
 * `revoked_signer`, `kid_mismatch`, `bad_signature`, `open_failed`, `bad_length`,
 * `k_commit_mismatch`.
 */
export async function openEnvelope(of: {
  envelope: string
  roster: Roster
  keyLogs: KeyLogs
  recipient: string
  seal: KeyPair
}): Promise<Uint8Array> {
  const { roster, seal } = of
  const jws = parseJws(of.envelope, 'envelope+jws')
  const envelope = readEnvelope(jws.payload)
  demand(envelope.connection === roster.connection, 'wrong_connection', 'of another connection')
  demand(envelope.epoch >= roster.epoch, 'old_epoch', 'sealed for an older epoch')
  demand(envelope.epoch === roster.epoch, 'unknown_epoch', 'sealed for an epoch not opened here')
  const sameHead = envelope.epoch_head === encodeBase64url(roster.epochHead)
  demand(sameHead, 'wrong_epoch_head', 'the epoch was opened by another entry')
  demand(envelope.recipient === of.recipient, 'wrong_recipient', 'sealed to another device')
  const sameKey = envelope.recipient_kid === thumbprint(seal.jwk)
  demand(sameKey, 'wrong_recipient_kid', 'sealed to another key')
  verifySignedBy(senderOf(envelope.sender, jws.kid, roster, of.keyLogs), jws)

  const hpke = suite()
  const [enc, ct] = [decodeBase64url(envelope.enc), decodeBase64url(envelope.ct)]
  const k = await Promise.all([
    hpke.DeserializePrivateKey(seal.secret, false),
    hpke.DeserializePublicKey(jwkBytes(seal.jwk, 'X25519')),
  ])
    .then(([privateKey, publicKey]) =>
      hpke.Open({ privateKey, publicKey }, enc, ct, { info: infoOf(envelope) }),
    )
    .catch(failed('the envelope does not open'))
  demand(k.length === 32, 'bad_length', 'K is 32 bytes')
  const committed = keyCommitment(roster.connection, roster.epoch, k) === roster.kCommit
  demand(committed, 'k_commit_mismatch', 'not the K that the epoch was opened with')
  return k
}

/**
 * The sender, active in the newest known log of a current member. A member may have named the
 * device id of another one in its own log: the key decides whose device is meant.
 */
function senderOf(device: string, kid: string, roster: Roster, keyLogs: KeyLogs): Device {
  const logs = roster.members
    .map(({ account }) => keyLogs.get(account))
    .filter((log) => log !== undefined && log.devices.has(device))
  const log = logs.find((candidate) => candidate?.devices.get(device)?.kid === kid) ?? logs[0]
  demand(log !== undefined, 'sender_not_member', 'sealed by a device of no current member')
  return signerAt(log, device, log.seq)
}

/** Binds the ciphertext to the place it is for; raw ids, as in every cryptographic input. */
function infoOf(
  head: Pick<Payload, 'connection' | 'epoch' | 'epoch_head' | 'sender' | 'recipient'>,
) {
  return concatBytes(
    utf8ToBytes('countersign/v1/envelope'),
    Uint8Array.of(0),
    parseId(PREFIX.connection, head.connection),
    u32be(head.epoch),
    decodeBase64url(head.epoch_head),
    parseId(PREFIX.device, head.sender),
    parseId(PREFIX.device, head.recipient),
  )
}

const failed =
  (message: string) =>
  (cause: unknown): never => {
    throw new Refusal('open_failed', message, {}, { cause })
  }
