/**
 * Ends an API token's download links when the token is revoked.
 *
 * An expired token needs no action here, because the account server stores the token's expiry and
 * ends its links then.
 */
import { DOWNLOAD_LINK_MS } from '../api/device/downloads.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { DownloadLink } from '../api/rest/account.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { MetaRows } from '../state/meta.ts'

const HELD = 'download_links/'
/**
 * Returns the `meta` key that stores until when a token may have a valid link, Unix milliseconds.
 *
 * It is stored because links survive a restart.
 */
const linkKeyOf = (token: string) => HELD + token

export interface TokenLinks {
  /**
   * Creates a link to an export for a token.
   * @param of `expiry` is when the token expires, Unix milliseconds, or null
   * @throws AppError for any error from the account server
   */
  get(
    account: Account,
    of: { id: string; token: string; expiry: number | null },
  ): Promise<DownloadLink>
  /**
   * Ends the links of a token that was revoked.
   *
   * If the account server is unavailable, logs a warning. The links then expire within five
   * minutes.
   */
  end(account: Account, token: string): Promise<void>
}

export function newTokenLinks(of: { meta: MetaRows; now: () => number; log: Log }): TokenLinks {
  const { meta, now, log } = of
  return {
    get(account, { id, token, expiry }) {
      meta.deleteUpTo(HELD, now())
      // Stored before the request, so that a concurrent revocation ends this link too.
      meta.set(linkKeyOf(token), now() + DOWNLOAD_LINK_MS)
      const token_expires_at = expiry === null ? null : timeAt(expiry)
      return account.downloads.create({
        body: { export_id: id, token_id: token, token_expires_at },
      })
    },

    async end(account, token) {
      const until = meta.get(linkKeyOf(token)) as number | null
      if (until === null) return
      try {
        if (now() < until) await account.downloads.end({ id: token })
        meta.delete(linkKeyOf(token))
      } catch (cause) {
        if (!(cause instanceof AppError)) throw cause
        log('warn', 'could not end the download links of a revoked token', { token, cause })
      }
    },
  }
}
