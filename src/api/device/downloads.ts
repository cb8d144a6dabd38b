import * as v from 'valibot'
import { Time, id } from '../fields.ts'
import { DownloadLink } from '../rest/account.ts'
import type { Routes } from '../route.ts'

/** The maximum validity of a link to an export, in milliseconds. */
export const DOWNLOAD_LINK_MS = 300_000

/**
 * Links to exports. A daemon requests them for one of its API tokens and ends them with the token.
 */
export const downloads = {
  create: {
    method: 'POST',
    path: '/device/v1/downloads',
    by: 'account',
    errors: ['not_found', 'export_not_ready'],
    body: v.strictObject({
      export_id: v.pipe(
        v.string(),
        v.description('The id of an export. Returns 404 if there is no such export.'),
      ),
      token_id: id('tok_'),
      token_expires_at: v.nullable(Time),
    }),
    reply: DownloadLink,
    repeats: true,
  },
  end: {
    method: 'DELETE',
    path: '/device/v1/downloads/{id}',
    by: 'account',
    status: 204,
  },
} as const satisfies Routes
