/**
 * Download links for export files. Anyone with a valid link can download the file, without another
 * credential. Therefore a link contains its expiry and the API token for which it was made, and is
 * signed with a secret that only the servers of this database have. A link is no longer valid after
 * its token has ended. The file is streamed part by part as the client reads it.
 */
import type { Kysely } from 'kysely'
import { createHmac, hash, timingSafeEqual } from 'node:crypto'
import { DOWNLOAD_LINK_MS } from '../../api/device/downloads.ts'
import type { Open } from '../../api/port.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { newServerSecret } from '../db/server-secrets.ts'
import { machineTokenState } from '../devices/machine-tokens.ts'

/**
 * How long the end of a token is stored, in milliseconds. It is longer than a link is valid,
 * because a request that began before the token ended may still create a link.
 */
const ENDED_MS = 2 * DOWNLOAD_LINK_MS

/** The values in a link. */
interface SignedLink {
  /** The id of the export. */
  readonly id: string
  /** When the link expires: Unix seconds, in digits. */
  readonly expires: string
  /** The id of the API token with which the link was requested; empty for a session. */
  readonly holder: string
  /** HMAC-SHA256, base64url. */
  readonly signature: string
}

interface DownloadLinks {
  /**
   * Creates a link to an export, which is valid for at most five minutes.
   * @param of `holder`: the id of the caller's token, or null for a session; `until`: the latest
   *   expiry of the link in Unix milliseconds, when the file is deleted or the token expires
   * @returns `expires`: Unix milliseconds
   */
  readonly linkTo: (of: {
    id: string
    holder: string | null
    until: number
  }) => Promise<{ url: string; expires: number }>
  /** Returns whether a link has a valid signature and has not expired. */
  readonly isGood: (link: SignedLink) => Promise<boolean>
  /** Returns whether the token for which a link was made has ended. */
  readonly hasEnded: (account: string, holder: string) => Promise<boolean>
  /** Ends the links made for a token of one of the account's daemons. */
  readonly end: (account: string, holder: string) => Promise<void>
}

const endOf = (account: string, holder: string): string =>
  `download links ended ${hash('sha256', `${account} ${holder}`, 'hex')}`

export function newDownloadLinks({
  db,
  now,
  publicUrl,
}: Pick<ServiceContext, 'db' | 'now' | 'publicUrl'>): DownloadLinks {
  const secret = newServerSecret(db, 'download links')

  async function sign(id: string, expires: string, holder: string): Promise<string> {
    const mac = createHmac('sha256', await secret())
    const text = `countersign export link v2\n${id}\n${expires}\n${holder}`
    return mac.update(text).digest('base64url')
  }

  return {
    linkTo: async ({ id, holder, until }) => {
      const seconds = Math.floor(Math.min(now() + DOWNLOAD_LINK_MS, until) / 1000)
      const expires = String(seconds)
      const query = new URLSearchParams({
        expires,
        ...(holder === null ? {} : { holder }),
        signature: await sign(id, expires, holder ?? ''),
      })
      return { url: `${publicUrl()}/exports/${id}?${query.toString()}`, expires: seconds * 1000 }
    },

    isGood: async ({ id, expires, holder, signature }) => {
      // Compared as text, so that another spelling of the same number or bytes is not accepted.
      const expected = Buffer.from(await sign(id, expires, holder))
      const given = Buffer.from(signature)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
      return Number(expires) * 1000 > now()
    },

    // Machine accounts' tokens are in a table. For a daemon's tokens, the server stores only that
    // they have ended.
    hasEnded: async (account, holder) => {
      if (holder === '') return false
      const { kind } = await db
        .selectFrom('accounts')
        .select('kind')
        .where('id', '=', account)
        .executeTakeFirstOrThrow()
      if (kind === 'machine') {
        const state = await machineTokenState(db, account, holder)
        if (state !== 'unknown') return state === 'ended'
      }
      const ended = await db
        .selectFrom('seen_once')
        .select('id')
        .where('id', '=', endOf(account, holder))
        .executeTakeFirst()
      return ended !== undefined
    },

    end: async (account, holder) => {
      const expires_at = now() + ENDED_MS
      await db
        .insertInto('seen_once')
        .values({ id: endOf(account, holder), expires_at })
        .onConflict((conflict) => conflict.column('id').doUpdateSet({ expires_at }))
        .execute()
    },
  }
}

/** Returns the error for a wrong or expired link or a deleted file. It does not reveal which. */
const noSuchFile = () =>
  new AppError(
    'not_found',
    'There is no such file. The link is wrong or has expired, or the export was deleted. Request a new link.',
  )

/**
 * Yields an export file, part by part.
 * @throws AppError `not_found` if the file is deleted while it is being read. The response is then
 *   incomplete.
 */
async function* piecesOf(db: Kysely<Schema>, id: string, size: number): AsyncGenerator<Uint8Array> {
  let sent = 0
  for (let seq = 0; sent < size; seq++) {
    const part = await db
      .selectFrom('export_parts')
      .select('bytes')
      .where('export_id', '=', id)
      .where('seq', '=', seq)
      .executeTakeFirst()
    if (part === undefined) throw noSuchFile()
    sent += part.bytes.length
    yield part.bytes
  }
}

export const exportFiles = (ground: ServiceContext): Open['exportFiles'] => {
  const { db, now } = ground
  const links = newDownloadLinks(ground)
  return {
    read: async ({ id, expires, holder, signature }) => {
      const link = { id, expires, holder, signature }
      if (!isId('exp_', id) || !(await links.isGood(link))) throw noSuchFile()
      const row = await db
        .selectFrom('exports')
        .select(['account_id', 'size_bytes', 'finished_at', 'expires_at'])
        .where('id', '=', id)
        .where('state', '=', 'ready')
        .where('expires_at', '>', now())
        .executeTakeFirst()
      if (row === undefined || (await links.hasEnded(row.account_id, holder))) throw noSuchFile()
      const size = row.size_bytes as number
      const day = new Date(row.finished_at as number).toISOString().slice(0, 10)
      return {
        type: 'application/zip',
        body: piecesOf(db, id, size),
        headers: {
          'Content-Disposition': `attachment; filename="countersign-export-${day}.zip"`,
          'Content-Length': String(size),
        },
      }
    },
  }
}
