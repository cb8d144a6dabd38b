/**
 * The keychain for machines without a system keychain: one encrypted file per secret.
 *
 * Each file is encrypted with AES-256-GCM, with the secret's name as associated data. The key is a
 * credential from the service manager, or a 0600 key file beside the files. A key file protects
 * copies of single files. It does not protect against a process that can read the whole state
 * folder.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { join } from 'node:path'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { AppError, StartError } from '../errors.ts'
import type { Keychain } from './backend.ts'
import {
  fileFault,
  isMissing,
  readChecked,
  readPrivateBytes,
  removeFile,
  removeLeftovers,
  writeAtomic,
} from './private-file.ts'

const NONCE = 12
const TAG = 16
const KEY = 32

/**
 * Returns the keychain of the sealed files in `<stateDir>/keychain/`.
 *
 * Creates the folder if it is missing. The caller must own the lock of the state folder.
 */
export function fileKeychain(stateDir: string, key: Uint8Array): Keychain {
  removeLeftovers(sealedFolder(stateDir))
  return {
    ...sealedReader(stateDir, key),
    set(name, secret) {
      atRunTime(() => writeAtomic(pathOf(stateDir, name), seal(key, name, secret)))
    },
    delete(name) {
      atRunTime(() => removeFile(pathOf(stateDir, name)))
    },
  }
}

/** Returns a reader of the sealed files. It writes nothing and needs no lock. */
export const sealedReader = (
  stateDir: string,
  key: Uint8Array,
): Pick<Keychain, 'backend' | 'get'> => ({
  backend: 'file',
  get(name) {
    const path = pathOf(stateDir, name)
    const sealed = atRunTime(() => readPrivateBytes(path))
    return sealed && unseal(key, name, sealed, path)
  },
})

const pathOf = (stateDir: string, name: string): string => join(folderIn(stateDir), fileName(name))

/** Checks whether the keychain folder contains any sealed files. */
export function hasSealed(stateDir: string): boolean {
  try {
    return readdirSync(folderIn(stateDir)).some((name) => name.endsWith(SEALED))
  } catch (cause) {
    if (isMissing(cause)) return false
    throw cause
  }
}

/**
 * Returns the sealing key; null if there is none yet.
 *
 * A credential from the service manager takes precedence over the key file.
 */
export function findKey(stateDir: string, credentialsDir: string | null): Uint8Array | null {
  if (credentialsDir !== null) {
    const path = join(credentialsDir, 'countersign-key')
    const credential = readChecked(path, credentialFault)
    if (credential !== null) return parseKey(credential, path)
  }
  const path = keyFile(stateDir)
  const own = readPrivateBytes(path)
  return own && parseKey(own, path)
}

/**
 * Creates the key file. Call it only at the first start, because a new key cannot decrypt existing
 * secrets.
 */
export function makeKey(stateDir: string): Uint8Array {
  const key = randomBytes(KEY)
  writeAtomic(keyFile(stateDir), `${key.toString('hex')}\n`)
  return key
}

/**
 * Returns a value that lets a later start recognise the same key. It reveals nothing about the key.
 */
export const keyCheck = (key: Uint8Array): string =>
  Buffer.from(hmac(sha256, key, utf8ToBytes('countersign/v1/keychain-check')))
    .toString('hex')
    .slice(0, 32)

const SEALED = '.sealed'

const folderIn = (stateDir: string): string => join(stateDir, 'keychain')

const keyFile = (stateDir: string): string => join(stateDir, 'keychain.key')

function sealedFolder(stateDir: string): string {
  const path = folderIn(stateDir)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
  const stat = lstatSync(path)
  const found = stat.isDirectory()
    ? fileFault(stat, path)
    : `${path} is not a folder. Move it away.`
  if (found !== null) throw new StartError('stateUnsafe', found)
  return path
}

// systemd uses an access control list to give the service's user access to the file. The file's
// owner may therefore be root, and its group bits contain the mask of the list.
function credentialFault(stat: Stats, path: string): string | null {
  const mine = stat.uid === process.geteuid?.() || stat.uid === 0
  if (process.platform === 'win32' || (mine && (stat.mode & 0o027) === 0)) return null
  return `${path} can be read or changed by other users. It must belong to the service or root, mode 0400.`
}

function parseKey(content: Buffer, path: string): Uint8Array {
  if (content.length === KEY) return content
  const text = content.toString('latin1').trim()
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  throw new StartError(
    'keychain',
    `${path} is not a key file. It must contain 32 raw bytes, 64 hexadecimal characters or the base64 of 32 bytes. ` +
      'Create one with: openssl rand -hex 32',
  )
}

// Capital letters are escaped too, because macOS and Windows treat `A` and `a` as the same name.
const fileName = (name: string): string =>
  Buffer.from(name)
    .toString('latin1')
    .replace(/[^a-z0-9_-]/g, (byte) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`) +
  SEALED

function seal(key: Uint8Array, name: string, secret: string): Buffer {
  const nonce = randomBytes(NONCE)
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
  cipher.setAAD(Buffer.from(name))
  return Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

function unseal(key: Uint8Array, name: string, sealed: Buffer, path: string): string {
  try {
    const nonce = sealed.subarray(0, NONCE)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG })
    decipher.setAAD(Buffer.from(name))
    decipher.setAuthTag(sealed.subarray(Math.max(NONCE, sealed.length - TAG)))
    const body = sealed.subarray(NONCE, -TAG)
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new AppError(
      'keychain_locked',
      `The sealed secret ${path} is damaged. Restore it from a backup of the state folder.`,
      { cause },
    )
  }
}

function atRunTime<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (cause instanceof AppError) throw cause
    const why =
      cause instanceof StartError
        ? cause.message
        : 'The file keychain cannot be read. Check the disk and the folder keychain/ in the state folder.'
    throw new AppError('keychain_locked', why, { cause })
  }
}
