/** Reads the files for `stamp verify`. */
import { readFile } from 'node:fs/promises'
import { type PublicJwk, jwkBytes } from '../../crypto/jose/jwk.ts'
import { Refusal } from '../../crypto/refusal.ts'
import type { StampFile } from '../../crypto/stamp.ts'
import { UsageError } from '../command.ts'

const UNREADABLE: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file "${path}".`,
  EISDIR: (path) => `"${path}" is a folder. Name one file.`,
}

/** Returns the error for a file that cannot be read. */
export const unreadable = (path: string, { code = '', message }: NodeJS.ErrnoException) =>
  new UsageError(UNREADABLE[code]?.(path) ?? `"${path}" cannot be read: ${message}`)

/**
 * Returns the bytes of a file.
 * @throws UsageError if the file cannot be read
 */
export const readBytes = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw unreadable(path, error)
  })

/** Returns the members of a JSON object in a file; none for any other content. */
async function readMembers(path: string): Promise<Record<string, unknown>> {
  const text = (await readBytes(path)).toString('utf8')
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

const noStamp = (path: string) =>
  new UsageError(`"${path}" is not a stamp. Usage: countersignd stamp verify FILE STAMP`)

/**
 * Reads a stamp file, or an answer of POST /api/v1/stamp, which contains one.
 * @throws UsageError
 */
export async function readStampFile(path: string): Promise<StampFile> {
  const { stamp, key_log: keyLog, receipt } = await readMembers(path)
  const isLog = Array.isArray(keyLog) && keyLog.every((entry) => typeof entry === 'string')
  if (typeof stamp !== 'string' || !isLog) throw noStamp(path)
  // The API returns null if the account server gave none.
  const given = receipt ?? undefined
  if (given !== undefined && typeof given !== 'string') throw noStamp(path)
  return {
    stamp,
    key_log: keyLog as string[],
    ...(given === undefined ? {} : { receipt: given }),
  }
}

/**
 * Reads an Ed25519 public key from a file, as a JWK (RFC 8037).
 * @throws UsageError
 */
export async function readPublicKey(path: string): Promise<PublicJwk> {
  const jwk = (await readMembers(path)) as unknown as PublicJwk
  try {
    jwkBytes(jwk)
    return jwk
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new UsageError(
      `"${path}" is not an Ed25519 public key as a JWK of kty, crv and x: ${error.message}.`,
    )
  }
}
