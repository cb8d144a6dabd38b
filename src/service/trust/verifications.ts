/**
 * The verification log of an account, stored exactly as its devices sent it. It does not contain
 * words.
 */
import { pageOf } from '../../api/cursor.ts'
import { daySpan } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { VerificationEntry } from '../../api/rest/verify.ts'
import { keptSince } from '../../config/retention.ts'
import { firstIdAt } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'

export const verifications = ({
  events,
  now,
  retention,
}: Pick<ServiceContext, 'events' | 'now' | 'retention'>): Service['verifications'] => ({
  /**
   * Stores entries. `accepted` is the number of new entries. A device that lost the response sends
   * its entries again. Entries beyond their retention are not stored, because an entry that was
   * deleted would count as new.
   */
  push: async ({ body: { items } }, session) => {
    if (items.length === 0) return { accepted: 0 }
    const { account } = session
    const first = firstIdAt('ver_', keptSince(retention.verifications, now()))
    const kept = items.filter(({ id }) => id >= first)
    return events.transaction(async (trx) => {
      const rows =
        kept.length === 0
          ? []
          : await trx
              .insertInto('verifications')
              .values(
                kept.map((entry) => ({
                  account_id: account,
                  id: entry.id,
                  entry: JSON.stringify(entry),
                })),
              )
              .onConflict((conflict) => conflict.doNothing())
              .returning('id')
              .execute()
      const accepted = rows.map(({ id }) => id)
      await events.publish(trx, {
        type: 'verification.logged',
        by: session,
        entries: items,
        accepted,
        at: now(),
      })
      return { accepted: accepted.length }
    })
  },
})

export const verificationLog = ({ db }: ServiceContext): Service['verificationLog'] => ({
  /** Lists entries by time, newest first. The id of an entry begins with the time of the check. */
  list: async (page, { account }) => {
    const { since, until } = daySpan(page)
    const rows = await pageRows(
      db
        .selectFrom('verifications')
        .select('entry')
        .where('account_id', '=', account)
        .where('id', '>=', firstIdAt('ver_', since))
        .where('id', '<', firstIdAt('ver_', until)),
      page,
      'ver_',
    )
    return pageOf(
      rows.map((row) => JSON.parse(row.entry) as VerificationEntry),
      page,
    )
  },
})
