/** The verification log of an account: written by its devices, kept as they wrote it. The words are not in it. */
import { pageOf } from '../../api/cursor.ts'
import { spanOf } from '../../api/days.ts'
import type { Service } from '../../api/port.ts'
import type { OrgEvent } from '../../api/rest/org.ts'
import type { LogEntry } from '../../api/rest/verify.ts'
import { firstIdAt } from '../../crypto/encoding/id.ts'
import type { Ground } from '../context.ts'
import { noteOwn } from '../organisations/activities.ts'
import { pageRows } from '../db/page-rows.ts'
import { noteVerified } from './history.ts'

/** What an organisation is told of an outcome; of what proves nothing either way, nothing. */
const EVENTS = {
  verified: 'verification',
  not_verified: 'verification_failed',
  inconclusive: null,
  echo: null,
} as const satisfies Record<LogEntry['outcome'], OrgEvent | null>

/**
 * What the entries of these ids are as activities. A device may have been away for days since.
 * @param now Unix milliseconds
 */
function activitiesOf(items: readonly LogEntry[], ids: readonly string[], now: number) {
  const left = new Set(ids)
  return items.flatMap(({ id: target, outcome, method, at: checked }) => {
    const event = EVENTS[outcome]
    // By a clock that is ahead it would be later than what is written next.
    const at = Math.min(Date.parse(checked), now)
    // Of two entries with one id the first is kept.
    const isNew = left.delete(target)
    return isNew && event !== null && at >= 0 ? [{ event, target, data: { method }, at }] : []
  })
}

export const verifications = (ground: Ground): Service['verifications'] => ({
  /** `accepted` counts what is new; a device may push an entry again when it did not hear the answer. */
  push: async ({ body: { items } }, session) => {
    if (items.length === 0) return { accepted: 0 }
    const { db, now } = ground
    const { account } = session
    return db.transaction().execute(async (trx) => {
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
      const at = now()
      await noteVerified(trx, account, items, at)
      const accepted = rows.map(({ id }) => id)
      await noteOwn(trx, session, activitiesOf(items, accepted, at), at, ground)
      return { accepted: accepted.length }
    })
  },
})

export const verificationLog = ({ db }: Ground): Service['verificationLog'] => ({
  /** The id of an entry begins with the time of the check. */
  list: async (page, { account }) => {
    const { since, until } = spanOf(page)
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
      rows.map((row) => JSON.parse(row.entry) as LogEntry),
      page,
    )
  },
})
