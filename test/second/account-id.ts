/** Section 3: the account id certifies its first keys. */
import { type Bytes, concat, label, sha256 } from './bytes.ts'

export interface PublicKeys {
  readonly sign: Bytes
  /** SHA-256 of the 1,216 bytes of the sealing key. */
  readonly seal: Bytes
  readonly auth: Bytes
}

/** Returns the 16 bytes of the account with these first keys and this salt. */
export const accountOf = (keys: PublicKeys, salt: Bytes): Bytes =>
  sha256(concat(label('countersign/v2/account'), keys.sign, keys.seal, keys.auth, salt)).slice(
    0,
    16,
  )
