import { createHash } from 'node:crypto'
import type { Account } from '../api/port.ts'
import { timeAt } from '../api/fields.ts'
import { CONTENT_BYTES } from '../api/rest/stamp.ts'
import { encodeBase64url } from '../crypto/base64url.ts'
import { PREFIX, newId } from '../crypto/id.ts'
import { signStamp, stampFragment, stampWords } from '../crypto/stamp.ts'
import { AppError } from '../errors.ts'
import type { Handlers, Local } from './context.ts'

/** Words of two stamps are equal once in 2^36: a second try is rare, a fifth never happens. */
const TRIES = 5

interface Digest {
  readonly sha256: Uint8Array
  /** Bytes; null when only the digest was given. */
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
    throw new AppError('payload_too_large', 'Content of more than 8 MiB is stamped by its sha256.')
  return { sha256: createHash('sha256').update(bytes).digest(), len: bytes.length }
}

/**
 * Register a stamp for its receipt, which is null while the server is out of reach: the next sync asks again.
 * Null altogether when its words are another stamp's already.
 */
async function register(
  account: Account,
  stamp: string,
): Promise<{ receipt: string | null } | null> {
  try {
    return await account.stamps.create({ body: { stamp } })
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'conflict') return null
    if (error.code === 'backend_unavailable') return { receipt: null }
    throw error
  }
}

async function sign(
  { identity }: Local,
  digest: Digest,
  said: { media_type: string | null; context: string | null },
  at: number,
) {
  const log = await identity.keyLog()
  const jti = newId(PREFIX.stamp, at)
  const stamp = signStamp(
    {
      jti,
      iss: identity.account,
      dev: identity.device,
      sha256: encodeBase64url(digest.sha256),
      len: digest.len,
      media_type: said.media_type,
      iat: Math.floor(at / 1000),
      clock: { source: 'server', offset_ms: 0 },
      key_log: { seq: log.seq, head: encodeBase64url(log.head) },
      ctx: said.context,
      assurance: 'device',
    },
    identity.kid,
    (await identity.keys()).sign.secret,
  )
  return { jti, stamp }
}

export const stamp: Handlers['stamp'] = {
  create: async ({ body }, { account, local }) => {
    const digest = digestOf(body)
    const said = { media_type: body.media_type ?? null, context: body.context ?? null }
    for (let tries = 1; ; tries++) {
      const at = local.now()
      const { jti, stamp: jws } = await sign(local, digest, said, at)
      const registered = await register(account, jws)
      if (registered === null) {
        if (tries < TRIES) continue
        throw new AppError(
          'conflict',
          'The account server knows the words of every stamp made here: try again later.',
        )
      }
      const { receipt } = registered
      local.state.stamps.insert({ id: jti, jws, receipt, created_at: at })
      return {
        id: jti,
        words: stampWords(jws).join(' '),
        signed_at: timeAt(Math.floor(at / 1000) * 1000),
        assurance_level: 'device',
        verification_url: `${local.backend()}/s/${jti}#${stampFragment(jws)}`,
        sha256: Buffer.from(digest.sha256).toString('hex'),
        stamp: jws,
        key_log: [...(await local.identity.keyLog()).entries],
        receipt,
      }
    }
  },
}
