/**
 * The newest entries of the key logs of the accounts that an account follows, and the hashes of
 * their signed profiles. With one request, a device learns which of these logs it must fetch.
 */
import { pageOf } from '../../api/cursor.ts'
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import type { ServiceContext } from '../context.ts'
import { ofPage, onPage, type PageValues } from '../db/collections.ts'
import { compiledOnce } from '../db/compiled.ts'

const hashOf = (jws: string) => encodeBase64url(entryHash(jws))

const newestEntries = compiledOnce((db, values: PageValues & { readonly account: string }) =>
  onPage(
    db
      .selectFrom('trust_cards')
      .innerJoin('key_log_entries', 'key_log_entries.account_id', 'watched_id')
      .innerJoin('accounts', 'accounts.id', 'watched_id')
      .select(['watched_id as id', 'seq', 'entry', 'profile'])
      .where('trust_cards.account_id', '=', values.account)
      .where('seq', '=', (of) =>
        of
          .selectFrom('key_log_entries as newest')
          .select(({ fn }) => fn.max('newest.seq').as('seq'))
          .whereRef('newest.account_id', '=', 'watched_id'),
      ),
    values,
    'watched_id',
  ),
)

export const followedKeyLogs = ({ db }: ServiceContext): Service['followedKeyLogs'] => ({
  list: async (page, { account }) => {
    const rows = await newestEntries(db, { ...ofPage(page, 'acc_'), account })
    const { items, next_cursor } = pageOf(rows, page)
    const heads = items.map(({ id, seq, entry, profile }) => ({
      account: id,
      seq,
      head: hashOf(entry),
      profile: profile === null ? null : hashOf(profile),
    }))
    return { items: heads, next_cursor }
  },
})
