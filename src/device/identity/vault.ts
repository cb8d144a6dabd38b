/**
 * This device's stored secrets, encrypted with AES-256-GCM.
 *
 * Only the keychain has the key. The id and version of a record are authenticated, so no record can
 * be replaced by another.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { SecretRows } from '../../state/secrets.ts'

const KEY_ENTRY = 'vault'
const NONCE = 12
const TAG = 16

export interface Vault {
  /** Stores a secret of 32 bytes. */
  put(id: string, secret: Uint8Array): void
  /**
   * Returns a secret of 32 bytes; null if there is none.
   * @throws AppError keychain_locked; secret_unavailable if the record is damaged
   */
  get(id: string): Uint8Array | null
  /**
   * Like `get`, but also returns null if the record is damaged.
   * @throws AppError keychain_locked
   */
  find(id: string): Uint8Array | null
  has(id: string): boolean
  delete(id: string): void
  /** Closes the vault. After that, reading or storing a secret throws AppError not_signed_in. */
  close(): void
}

/** Makes all secrets that are sealed here permanently unreadable. */
export const deleteCacheKey = (keychain: Keychain): void => keychain.delete(KEY_ENTRY)

/** Opens the vault. The keychain is read when a secret is first needed. */
export function openVault(keychain: Keychain, rows: SecretRows): Vault {
  let cacheKey: Buffer | null = null
  const here = new Set(rows.ids())
  let closed = false

  function key(): Buffer {
    if (closed) throw new AppError('not_signed_in', 'This device signed out meanwhile.')
    if (cacheKey !== null) return cacheKey
    const stored = keychain.get(KEY_ENTRY)
    if (stored !== null) return (cacheKey = Buffer.from(stored, 'hex'))
    if (here.size > 0)
      throw new AppError(
        'keychain_locked',
        "The keychain does not have the key of this device's secrets. Unlock or restore the keychain.",
      )
    const made = randomBytes(32)
    keychain.set(KEY_ENTRY, made.toString('hex'))
    return (cacheKey = made)
  }

  const aad = (id: string, version: number) => Buffer.from(`${id}\0${version}`)

  function get(id: string): Uint8Array | null {
    const row = rows.get(id)
    if (row === null) return null
    const sealed = Buffer.from(row.sealed)
    // Outside of the `try`, because a locked keychain is not a damaged record.
    const opener = key()
    try {
      const decipher = createDecipheriv('aes-256-gcm', opener, sealed.subarray(0, NONCE), {
        authTagLength: TAG,
      })
        .setAAD(aad(id, row.version))
        .setAuthTag(sealed.subarray(NONCE, NONCE + TAG))
      return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()])
    } catch (cause) {
      throw new AppError(
        'secret_unavailable',
        `The secret of ${id} on this device is damaged, or the keychain has another key. Restore the state folder and the keychain from the same backup.`,
        { cause },
      )
    }
  }

  return {
    get,

    find(id) {
      try {
        return get(id)
      } catch (error) {
        if (error instanceof AppError && error.code === 'secret_unavailable') return null
        throw error
      }
    },

    put(id, secret) {
      const version = (rows.get(id)?.version ?? 0) + 1
      const nonce = randomBytes(NONCE)
      const cipher = createCipheriv('aes-256-gcm', key(), nonce).setAAD(aad(id, version))
      const ct = Buffer.concat([cipher.update(secret), cipher.final()])
      rows.put({ id, version, sealed: Buffer.concat([nonce, cipher.getAuthTag(), ct]) })
      here.add(id)
    },

    has: (id) => here.has(id),

    delete(id) {
      rows.delete(id)
      here.delete(id)
    },

    close() {
      closed = true
      cacheKey?.fill(0)
      cacheKey = null
      here.clear()
    },
  }
}
