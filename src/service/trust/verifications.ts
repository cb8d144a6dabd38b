/**
 * The verification log of an account, stored exactly as its devices sent it. It does not contain
 * words.
 */
import { pageOf } from '../../api/cursor.ts'
import { daySpan } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { VerificationEntry } from '../../api/rest/verify.ts'
import { firstIdAt } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { pageRows } from '../db/collections.ts'

export const verifications = ({
  events,
  now,
}: Pick<ServiceContext, 'events' | 'now'>): Service['verifications'] => ({
  /**
   * Stores entries. `accepted` is the number of new entries. A device that lost the response sends
   * its entries again.
   */
  push: async ({ body: { items } }, session) => {
    if (items.length === 0) return { accepted: 0 }
    const { account } = session
    return events.transaction(async (trx) => {
      const rows = await trx
        .insertInto('verifications')
        .values(
          items.map((entry) => ({
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
