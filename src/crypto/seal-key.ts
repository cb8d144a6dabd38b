/**
 * Sealing keys (section 3): X-Wing (draft-connolly-cfrg-xwing-kem-06).
 *
 * X-Wing is the HPKE KEM 0x647a (draft-ietf-hpke-pq-05, where it is called MLKEM768-X25519). It
 * combines ML-KEM-768 (FIPS 203) with X25519. A key log names a sealing key by its hash; the bytes
 * of the key are sent separately.
 */
import {
  AEAD_AES_256_GCM,
  CipherSuite,
  KDF_HKDF_SHA256,
  KEM_MLKEM768_X25519,
  NotSupportedError,
} from 'hpke'
import { sealKeyId } from './device-public-keys.ts'
import { requireThat, Refusal } from './refusal.ts'

/** The length of a public key in bytes. */
const PUBLIC = 1216

export type SealKeyPair = {
  /** The decapsulation key, 32 bytes. */
  readonly secret: Uint8Array
  /** The public key, 1,216 bytes. */
  readonly publicKey: Uint8Array
}

/** Returns HPKE with the algorithms of suite 1. */
export const hpkeSuite1 = (): CipherSuite =>
  new CipherSuite(KEM_MLKEM768_X25519, KDF_HKDF_SHA256, AEAD_AES_256_GCM)

/** Returns a new key pair. */
export async function newSealKey(): Promise<SealKeyPair> {
  const hpke = hpkeSuite1()
  const { privateKey, publicKey } = await hpke.GenerateKeyPair(true)
  return {
    secret: await hpke.SerializePrivateKey(privateKey),
    publicKey: await hpke.SerializePublicKey(publicKey),
  }
}

/**
 * Seals with HPKE Base mode and empty aad to a key that a key log names by its id.
 * @throws Refusal `hash_mismatch`; `not_sealable` for a key of the wrong length, a key with a
 * coefficient above q (FIPS 203 section 7.2), or a key with an X25519 half of low order
 */
export async function sealTo(
  publicKey: Uint8Array,
  kid: string,
  plaintext: Uint8Array,
  info: Uint8Array,
): Promise<{ enc: Uint8Array; ct: Uint8Array }> {
  const named = sealKeyId(publicKey) === kid
  requireThat(named, 'hash_mismatch', 'the sealing key is not the one that the key log names')
  requireThat(publicKey.length === PUBLIC, 'not_sealable', `a sealing key must be ${PUBLIC} bytes`)
  const hpke = hpkeSuite1()
  const { encapsulatedSecret, ciphertext } = await hpke
    .DeserializePublicKey(publicKey)
    .then((key) => hpke.Seal(key, plaintext, { info }))
    .catch(failedAs('not_sealable', 'nothing can be sealed to this key'))
  return { enc: encapsulatedSecret, ct: ciphertext }
}

/**
 * Returns a handler that turns HPKE errors into a refusal.
 *
 * If the runtime does not support the algorithms, the error is rethrown, because then the fault is
 * in the machine and not in the key.
 */
export const failedAs =
  (reason: 'not_sealable' | 'open_failed', message: string) =>
  (cause: unknown): never => {
    if (cause instanceof NotSupportedError) throw cause
    throw new Refusal(reason, message, {}, { cause })
  }
