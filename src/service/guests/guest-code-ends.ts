/** Finds the guest codes that are about to end, so that their owners are notified. */
import type { Kysely } from 'kysely'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'
import { startSweep } from '../db/sweeps.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How often codes are looked for. */
const PERIOD_MS = HOUR_MS
/** How long before its end a code is announced. */
const AHEAD_MS = DAY_MS
/** A code that is valid for less is not announced: its owner has just created it. */
const LEAST_VALIDITY_MS = 2 * DAY_MS

/**
 * Selects at most `most` codes to announce.
 * @param at Unix milliseconds
 */
export const endingCodes = (db: Kysely<Schema>, at: number, most: number) =>
  db
    .selectFrom('guest_codes')
    .select('id')
    // The index `guest_codes_by_end` finds these codes. No revoked code is in this range.
    .where((of) => of(of.fn.coalesce('revoked_at', 'expires_at'), '>', at))
    .where((of) => of(of.fn.coalesce('revoked_at', 'expires_at'), '<=', at + AHEAD_MS))
    .where('revoked_at', 'is', null)
    .where('ending_noticed_at', 'is', null)
    .where((of) => of(of('expires_at', '-', of.ref('created_at')), '>=', LEAST_VALIDITY_MS))
    .limit(most)

/** Announces at most `most` codes, each once. Returns how many were found. */
async function announce(
  { db, events }: Pick<ServiceContext, 'db' | 'events'>,
  at: number,
  most: number,
): Promise<number> {
  const found = await endingCodes(db, at, most).execute()
  if (found.length === 0) return 0
  return events.transaction(async (trx) => {
    const codes = await trx
      .updateTable('guest_codes')
      .set({ ending_noticed_at: at })
      .where(
        'id',
        'in',
        found.map(({ id }) => id),
      )
      // A code may have been revoked since, and another replica may have announced it.
      .where('revoked_at', 'is', null)
      .where('ending_noticed_at', 'is', null)
      .returning(['account_id as account', 'id as code', 'label', 'expires_at as expires'])
      .execute()
    await events.publish(trx, { type: 'guest_code.ending', codes, at })
    return found.length
  })
}

/**
 * Announces ending guest codes half a minute after the start and then every hour, until the server
 * shuts down.
 * @param firstMs when it begins, in milliseconds
 */
export function startGuestCodeEnds(
  of: Pick<ServiceContext, 'db' | 'events' | 'background' | 'now'> & {
    readonly signal: AbortSignal
  },
  firstMs?: number,
): void {
  const sweep = {
    name: 'ending guest codes',
    everyMs: PERIOD_MS,
    batch: (at: number, most: number) => announce(of, at, most),
  } as const
  startSweep(of, sweep, firstMs)
}
