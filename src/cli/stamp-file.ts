/** The files that `stamp verify` reads. */
import { readFile } from 'node:fs/promises'
import { type PublicJwk, jwkBytes } from '../crypto/jwk.ts'
import { Refusal } from '../crypto/refusal.ts'
import type { StampFile } from '../crypto/stamp.ts'
import { UsageError } from './command.ts'

/** The bytes of a file. Throws UsageError where it cannot be read. */
export const readBytes = (path: string): Promise<Buffer> =>
  readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read: ${error.message}`)
  })

async function readJson(path: string): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse((await readBytes(path)).toString('utf8'))
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch (error) {
    if (error instanceof UsageError) throw error
  }
  throw new UsageError(`${path} is not JSON.`)
}

/** A stamp file, or the answer of POST /api/v1/stamp, which holds one. Throws UsageError. */
export async function readStampFile(path: string): Promise<StampFile> {
  const { stamp, key_log: keyLog, receipt } = await readJson(path)
  const isLog = Array.isArray(keyLog) && keyLog.every((entry) => typeof entry === 'string')
  if (typeof stamp !== 'string' || !isLog)
    throw new UsageError(`${path} is not a stamp file: it has no "stamp" and "key_log".`)
  // The API returns null if the account server gave none.
  const given = receipt ?? undefined
  if (given !== undefined && typeof given !== 'string')
    throw new UsageError(`${path} is not a stamp file: its "receipt" is not a text.`)
  return {
    stamp,
    key_log: keyLog as string[],
    ...(given === undefined ? {} : { receipt: given }),
  }
}

/** An Ed25519 public key in a file, as a JWK (RFC 8037). Throws UsageError. */
export async function readPublicKey(path: string): Promise<PublicJwk> {
  const jwk = (await readJson(path)) as unknown as PublicJwk
  try {
    jwkBytes(jwk)
    return jwk
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new UsageError(
      `${path} is not an Ed25519 public key as a JWK of kty, crv and x: ${error.message}.`,
    )
  }
}
