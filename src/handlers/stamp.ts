import { createHash } from 'node:crypto'
import type { Account } from '../api/port.ts'
import { CONTENT_BYTES } from '../api/rest/stamp.ts'
import { encodeBase64url } from '../crypto/encoding/base64url.ts'
import { ID_PREFIX } from '../crypto/encoding/id.ts'
import { type StampPayload, signStamp } from '../crypto/stamp.ts'
import { operationId } from '../device/operations.ts'
import type { LocalDevice } from '../device/device.ts'
import { requireReceipt } from '../device/identity/receipts.ts'
import { AppError, type ErrorCode } from '../errors.ts'
import type { StampRow } from '../state/stamps.ts'
import type { Handlers } from './context.ts'
import { wholeStamp } from './stamp-answers.ts'

/**
 * The maximum number of attempts. Two stamps have the same words with probability 2^-36, so a
 * second attempt is rare and a fifth practically never happens.
 */
const TRIES = 5
/**
 * Errors that mean that the server is unreachable or its response invalid. The stamp is valid
 * anyway, and a later sync gets the receipt.
 */
const AWAY: readonly ErrorCode[] = ['backend_unavailable', 'backend_timeout', 'backend_error']

interface Digest {
  readonly sha256: Uint8Array
  /** The content's length in bytes; null if the request contained only the digest. */
  readonly len: number | null
}

function digestOf(body: {
  content?: string | undefined
  content_base64?: string | undefined
  sha256?: string | undefined
}): Digest {
  if (body.sha256 !== undefined) return { sha256: Buffer.from(body.sha256, 'hex'), len: null }
  const bytes =
    body.content === undefined
      ? Buffer.from(body.content_base64 ?? '', 'base64')
      : Buffer.from(body.content, 'utf8')
  if (bytes.length > CONTENT_BYTES)
    throw new AppError(
      'payload_too_large',
      'Content of more than 8 MiB must be stamped by its sha256.',
    )
  return { sha256: createHash('sha256').update(bytes).digest(), len: bytes.length }
}

/**
 * Registers a stamp and returns its receipt.
 *
 * Returns null if the server sends no valid receipt; the next sync then requests it again. Returns
 * undefined if another stamp has the same words.
 */
async function register(
  { identity }: LocalDevice,
  account: Account,
  made: Pick<StampRow, 'id' | 'jws'>,
): Promise<string | null | undefined> {
  try {
    const { receipt } = await account.stamps.create({ body: { stamp: made.jws } })
    requireReceipt(receipt, made, identity.receiptKey)
    return receipt
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'conflict') return undefined
    if (AWAY.includes(error.code)) return null
    throw error
  }
}

/**
 * Returns the `clock` value of a stamp.
 *
 * It is the offset from the server's clock, or `local` if the offset is unknown or outdated.
 */
function clockOf({ freshness, now }: LocalDevice): StampPayload['clock'] {
  const offset = freshness.clock(now()) === 'steady' ? freshness.offsetMs() : null
  return offset === null
    ? { source: 'local', offset_ms: 0 }
    : { source: 'server', offset_ms: offset }
}

async function sign(
  device: LocalDevice,
  jti: string,
  digest: Digest,
  metadata: { media_type: string | null; context: string | null },
  at: number,
): Promise<string> {
  const { identity } = device
  const log = await identity.keyLog()
  return signStamp(
    {
      jti,
      iss: identity.account,
      dev: identity.device,
      sha256: encodeBase64url(digest.sha256),
      len: digest.len,
      media_type: metadata.media_type,
      iat: Math.floor(at / 1000),
      clock: clockOf(device),
      key_log: { seq: log.seq, head: encodeBase64url(log.head) },
      ctx: metadata.context,
      assurance: 'device',
    },
    identity.kid,
    (await identity.keys()).sign.secret,
  )
}

/**
 * Returns the stamp with this id. If the same operation already signed it before an interruption,
 * returns that stamp. Otherwise signs a new one and stores it before any caller gets it.
 */
async function storedOrSigned(
  { state, requireSession }: LocalDevice,
  jti: string,
  at: number,
  signed: () => Promise<string>,
): Promise<StampRow> {
  const stored = state.stamps.get(jti)
  if (stored !== null) return stored
  const row = { id: jti, jws: await signed(), receipt: null, created_at: at }
  requireSession()
  state.stamps.insert(row)
  return row
}

/**
 * Returns the stored receipt, or requests it. If the words are already taken, deletes the stamp and
 * returns undefined.
 */
async function receiptOf(
  device: LocalDevice,
  account: Account,
  { id, jws, receipt: known }: StampRow,
): Promise<string | null | undefined> {
  const { state, requireSession } = device
  if (known !== null) return known
  try {
    const receipt = await register(device, account, { id, jws })
    requireSession()
    if (receipt === undefined) state.stamps.delete(id)
    else if (receipt === null) state.stamps.keepUnregistered(id)
    else state.stamps.setReceipt(id, receipt)
    return receipt
  } catch (error) {
    // No caller has this stamp yet.
    state.stamps.delete(id)
    throw error
  }
}

export const stamp: Handlers['stamp'] = {
  create: async ({ body }, { account, local, act }) => {
    const digest = digestOf(body)
    const metadata = { media_type: body.media_type ?? null, context: body.context ?? null }
    const { at } = act
    for (let tries = 1; tries <= TRIES; tries++) {
      const jti = operationId(ID_PREFIX.stamp, act, String(tries))
      const made = await storedOrSigned(local, jti, at, () =>
        sign(local, jti, digest, metadata, at),
      )
      const receipt = await receiptOf(local, account, made)
      if (receipt === undefined) continue
      return wholeStamp(local, { ...made, receipt })
    }
    throw new AppError(
      'conflict',
      'No words are free for this stamp at the account server. Try again later.',
    )
  },
}
