/**
 * Links to the files of exports. Whoever has one gets the file, so a link says until when it is good, and nobody but the servers of
 * this database can make one.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Ground } from './ground.ts'
import { newServerSecret } from './server-secrets.ts'

const HOUR_MS = 3_600_000

/** What a link says. */
export interface Signed {
  /** The id of the export. */
  readonly id: string
  /** Until when the link is good: Unix seconds, in digits. */
  readonly expires: string
  /** HMAC-SHA256, base64url. */
  readonly signature: string
}

export interface DownloadLinks {
  /**
   * A link to an export, good for an hour.
   * @param until when the file is deleted: no link is good for longer. Unix milliseconds
   * @returns `expires`: Unix milliseconds
   */
  readonly linkTo: (id: string, until: number) => Promise<{ url: string; expires: number }>
  /** Whether a link was made here and is good still. */
  readonly isGood: (link: Signed) => Promise<boolean>
}

export function newDownloadLinks({
  db,
  now,
  publicUrl,
}: Pick<Ground, 'db' | 'now' | 'publicUrl'>): DownloadLinks {
  const secret = newServerSecret(db, 'download links')

  async function sign(id: string, expires: string): Promise<string> {
    const mac = createHmac('sha256', await secret())
    return mac.update(`countersign export link v1\n${id}\n${expires}`).digest('base64url')
  }

  return {
    linkTo: async (id, until) => {
      const seconds = Math.floor(Math.min(now() + HOUR_MS, until) / 1000)
      const expires = String(seconds)
      const query = new URLSearchParams({ expires, signature: await sign(id, expires) })
      return { url: `${publicUrl()}/exports/${id}?${query.toString()}`, expires: seconds * 1000 }
    },

    isGood: async ({ id, expires, signature }) => {
      // As text: two spellings of one number or of the same bytes are not the same link.
      const expected = Buffer.from(await sign(id, expires))
      const given = Buffer.from(signature)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false
      return Number(expires) * 1000 > now()
    },
  }
}
