/**
 * Stamps (section 7): a device's signature over a content digest, and the server's receipt for it.
 *
 * The content is not uploaded. A stamp's words and URL only help to find the stamp. They prove
 * nothing; only `verifyStamp` does.
 */
import { sha256 } from '@noble/hashes/sha2.js'
import { encodeBase64url } from './encoding/base64url.ts'
import { ID_PREFIX } from './encoding/id.ts'
import { jwkBytes, thumbprint, type PublicJwk } from './jose/jwk.ts'
import { runToEnd, lastPlace } from './logs/chain.ts'
import { entryHash, parseJws } from './jose/jws.ts'
import { signJws, verifyJws } from './jose/jws-signature.ts'
import { signerAt, verifySignedBy } from './logs/key-log-ops.ts'
import { completeLog, generationRoot, verifyingKeyLog, type KeyLog } from './logs/key-log.ts'
import {
  base64url,
  idWithPrefix,
  integer,
  natural,
  nullable,
  oneOf,
  payload,
  place,
  record,
  string,
} from './logs/payload.ts'
import { requireThat } from './refusal.ts'
import { firstIndices, wordsAt } from './words.ts'

const assurance = oneOf(['device', 'verified_email', 'organisation'])

const stampForm = payload({
  jti: idWithPrefix(ID_PREFIX.stamp),
  iss: idWithPrefix(ID_PREFIX.account),
  dev: idWithPrefix(ID_PREFIX.device),
  sha256: base64url(32),
  len: nullable(natural),
  media_type: nullable(string),
  iat: natural,
  clock: record({ source: oneOf(['server', 'local']), offset_ms: integer }),
  key_log: place,
  ctx: nullable(string),
  assurance,
})

/**
 * Reads the payload of a stamp.
 * @throws Refusal as `payload`; `bad_value` if a clock offset is given although the source is local
 */
export function readStampPayload(...from: Parameters<typeof stampForm>): StampPayload {
  const stamp = stampForm(...from)
  const { source, offset_ms } = stamp.clock
  const fits = source === 'server' || offset_ms === 0
  requireThat(fits, 'bad_value', `clock: the offset must be 0 for a local source, not ${offset_ms}`)
  return stamp
}

const readReceipt = payload({
  jti: idWithPrefix(ID_PREFIX.stamp),
  stamp_sha256: base64url(32),
  received_at: natural,
  key_status: oneOf(['active', 'revoked']),
  assurance,
})

/** A stamp's payload as signed: `sha256` and `key_log.head` in base64url, `iat` in Unix seconds. */
export type StampPayload = ReturnType<typeof stampForm>
export type ReceiptPayload = ReturnType<typeof readReceipt>

/** The parts of a stamp that can be verified offline. */
export type StampFile = { stamp: string; key_log: readonly string[]; receipt?: string }

export type StampFacts = {
  payload: StampPayload
  /** The id of the device that signed. */
  device: string
  /**
   * The verified key log of `payload.iss`: the log in the file, or the stored log if it is longer.
   */
  keyLog: KeyLog
  /** The key generation that signed, and the entry that begins this generation. */
  generation: number
  root: { seq: number; hash: Uint8Array }
  /** SHA-256 of the stamp's JWS, 32 bytes. */
  sha256: Uint8Array
  words: string[]
  /** Null if the file has no receipt, or if no server key was given to verify it. */
  receipt: ReceiptPayload | null
  /**
   * The assurance that the verified receipt states. Without a receipt it is `device`, because then
   * only the signature was verified.
   */
  assurance: ReceiptPayload['assurance']
}

/** The optional data that a stamp is checked against. */
type StampChecks = {
  /** The stamped bytes; without them and `digest`, only the stamp itself is checked. */
  content?: Uint8Array
  /** SHA-256 of the stamped bytes, instead of them. */
  digest?: Uint8Array
  /** The Ed25519 key that signs the account server's receipts; if absent, a receipt is ignored. */
  serverKey?: PublicJwk
  /**
   * Returns the entries of an account's key log that this device has already verified.
   *
   * The list is empty for an unknown account. The signatures of these entries are not verified
   * again.
   */
  remembered?: (account: string) => readonly string[]
}

/**
 * Signs a stamp with a device's signing key (`kid`, seed of 32 bytes). Returns the JWS.
 * @throws Refusal as for reading a stamp
 */
export function signStamp(stamp: Omit<StampPayload, 'v'>, kid: string, seed: Uint8Array): string {
  const jws = signJws('stamp+jws', kid, { v: 2, ...stamp }, seed)
  readStampPayload(parseJws(jws, 'stamp+jws').payload)
  return jws
}

/**
 * Signs the server's receipt for a stamp and returns it as JWS.
 * @param stamp the stamp's JWS
 * @param seen the status when the server received the stamp
 * @param kid the server's key, which `seed` (32 bytes) belongs to
 * @throws Refusal as for reading a stamp and a receipt
 */
export function signReceipt(
  stamp: string,
  seen: Pick<ReceiptPayload, 'received_at' | 'key_status' | 'assurance'>,
  kid: string,
  seed: Uint8Array,
): string {
  const { jti } = readStampPayload(parseJws(stamp, 'stamp+jws').payload)
  const receipt = { v: 2, jti, stamp_sha256: stampFragment(stamp), ...seen }
  const jws = signJws('receipt+jws', kid, receipt, seed)
  readReceipt(parseJws(jws, 'receipt+jws').payload)
  return jws
}

/** Returns the three word indices of a stamp: the first 36 bits of SHA-256 over its JWS. */
export function stampIndices(jws: string): number[] {
  return firstIndices(entryHash(jws), 3)
}

/** Returns the three words of a stamp, which help to find it. They are never evidence. */
export function stampWords(jws: string): string[] {
  return wordsAt(stampIndices(jws))
}

/** Returns the fragment of a stamp's URL, after `#`: base64url SHA-256 over its JWS. */
export function stampFragment(jws: string): string {
  return encodeBase64url(entryHash(jws))
}

/**
 * Verifies a stamp file.
 *
 * The account id certifies the keys of the first generation and all keys that are linked to them.
 * Anyone can append a reset that is not linked. Who owns the account id, and whether an unlinked
 * reset counts, follows only from what the caller already knows about `root`.
 * @throws Refusal as `parseJws`, `payload` and `verifyKeyLog` (`account_mismatch` if the first keys
 * belong to another account); `key_log_forked` if the key log contradicts the stored one;
 * `key_log_mismatch`, `unknown_signer`, `revoked_signer`, `kid_mismatch`, `bad_signature`,
 * `digest_mismatch`, `len_mismatch`, `receipt_mismatch`; `assurance_claimed` if the stamp claims
 * more than `device`; `revoked_key` if the key was revoked after the signature, unless a receipt
 * shows that it was active
 */
export const verifyStamp = (file: StampFile, given?: StampChecks): StampFacts =>
  runToEnd(verifyingStamp(file, given))

/**
 * Like `verifyStamp`, but yields like `verifyingKeyLog`, because a file can contain a long key log.
 */
export function* verifyingStamp(
  file: StampFile,
  given: StampChecks = {},
): Generator<void, StampFacts, void> {
  const jws = parseJws(file.stamp, 'stamp+jws')
  const stamp = readStampPayload(jws.payload)
  const remembered = given.remembered?.(stamp.iss) ?? []
  const entries = completeLog(stamp.iss, file.key_log, remembered)
  const keyLog = yield* verifyingKeyLog(stamp.iss, entries, lastPlace(remembered))
  const head = keyLog.heads[stamp.key_log.seq]
  const same = head !== undefined && encodeBase64url(head) === stamp.key_log.head
  requireThat(same, 'key_log_mismatch', 'the key log is not the one that the stamp names')
  const device = signerAt(keyLog, stamp.dev, stamp.key_log.seq)
  verifySignedBy(device, jws)
  if (given.content !== undefined) checkContent(stamp, given.content)
  if (given.digest !== undefined) checkDigest(stamp, given.digest)

  const receipt =
    file.receipt === undefined || given.serverKey === undefined
      ? null
      : verifyReceipt(file.receipt, file.stamp, stamp.jti, given.serverKey)
  // This check must precede the key's status: the account server relies on `revoked_key` being the
  // last possible fault of a stamp.
  const isModest = stamp.assurance === 'device'
  requireThat(
    isModest,
    'assurance_claimed',
    'a stamp may claim only the assurance "device", because only a receipt can prove more',
  )
  // A receipt that states a revoked key decides as well, because a truncated log would hide the
  // revocation.
  const keyStatus = receipt?.key_status ?? (device.revokedAt === null ? 'active' : 'revoked')
  requireThat(
    keyStatus === 'active',
    'revoked_key',
    'the key is revoked, and no receipt proves that the stamp is older than the revocation',
  )

  return {
    payload: stamp,
    device: device.id,
    keyLog,
    generation: device.generation,
    root: generationRoot(keyLog, device.generation),
    sha256: entryHash(file.stamp),
    words: stampWords(file.stamp),
    receipt,
    assurance: receipt?.assurance ?? 'device',
  }
}

function checkDigest(stamp: StampPayload, digest: Uint8Array): void {
  const same = encodeBase64url(digest) === stamp.sha256
  requireThat(same, 'digest_mismatch', 'this is not the content that was stamped')
}

function checkContent(stamp: StampPayload, content: Uint8Array): void {
  checkDigest(stamp, sha256(content))
  const fits = stamp.len === null || stamp.len === content.length
  requireThat(fits, 'len_mismatch', 'the content does not have the length that the stamp names')
}

function verifyReceipt(text: string, stamp: string, jti: string, key: PublicJwk): ReceiptPayload {
  const jws = parseJws(text, 'receipt+jws')
  const receipt = readReceipt(jws.payload)
  requireThat(
    jws.kid === thumbprint(key),
    'unknown_signer',
    'the receipt is not from the pinned server',
  )
  verifyJws(jws, jwkBytes(key))
  const same = receipt.jti === jti && receipt.stamp_sha256 === stampFragment(stamp)
  requireThat(same, 'receipt_mismatch', 'the receipt is for another stamp')
  return receipt
}
