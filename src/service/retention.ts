/**
 * Deletes rows that have ended, or that only record what happened, when they are older than the
 * operator wants. Rows that a request can still need are never deleted.
 */
import { type ExpressionBuilder, type Kysely, sql } from 'kysely'
import { type Retention, keptSince } from '../config/retention.ts'
import { firstIdAt } from '../crypto/encoding/id.ts'
import type { Background } from './db/background.ts'
import type { Schema } from './db/schema.ts'
import { startSweep } from './db/sweeps.ts'
import { markChanged, transactionWithMarks } from './db/sync-marks.ts'
import { markSides, SIDES } from './accounts/invitation-marks.ts'

/** How often rows are deleted, in milliseconds. */
const PERIOD_MS = 3_600_000

/** Deletes at most `most` rows that ended or happened before `before`, Unix milliseconds. */
type Batch = (
  db: Kysely<Schema>,
  before: number,
  most: number,
) => Promise<{ readonly numDeletedRows: bigint }>

interface Kind {
  readonly setting: keyof Retention
  readonly batch: Batch
}

// The conditions of partial indexes must have the text of `015-retention.ts`, so that the database
// recognises them. The limit is a literal, so that a plan for all values does not read the whole
// table. Statements of rows that can change compare the age twice.

/** An invitation by which a member joined prevents another invitation to the member's mailbox. */
const isUnused = sql<boolean>`not (state = 'approved' and consent = 2)`
/** The other events record decisions of the user. There are few of them. */
const isRepeatable = sql<boolean>`event in ('verified', 'note_changed')`
const isUnproven = sql<boolean>`proven = 0`

const endOf = (of: ExpressionBuilder<Schema, 'guest_codes' | 'machine_tokens'>) =>
  of.fn.coalesce('revoked_at', 'expires_at')

export const RETENTIONS: readonly Kind[] = [
  {
    setting: 'verifications',
    batch: (db, before, most) =>
      db
        .deleteFrom('verifications')
        .where('id', 'in', (of) =>
          of
            .selectFrom('verifications')
            .select('id')
            .where('id', '<', firstIdAt('ver_', before))
            .orderBy('id')
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
  {
    setting: 'activities',
    batch: (db, before, most) =>
      db
        .deleteFrom('organisation_activities')
        .where('id', 'in', (of) =>
          of
            .selectFrom('organisation_activities')
            .select('id')
            .where('id', '<', firstIdAt('act_', before))
            .orderBy('id')
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
  {
    setting: 'invitations',
    // Devices list guest codes and invitations, so their changes are marked.
    batch: (db, before, most) =>
      transactionWithMarks(db, async (trx) => {
        const old = await trx
          .deleteFrom('invitations')
          .where(isUnused)
          .where('expires_at', '<', before)
          .where('id', 'in', (of) =>
            of
              .selectFrom('invitations')
              .select('id')
              .where(isUnused)
              .where('expires_at', '<', before)
              .orderBy('expires_at')
              .limit(sql.lit(most)),
          )
          .returning(SIDES)
          .execute()
        await markSides(trx, old)
        return { numDeletedRows: BigInt(old.length) }
      }),
  },
  {
    setting: 'guestCodes',
    batch: (db, before, most) =>
      transactionWithMarks(db, async (trx) => {
        const ended = await trx
          .deleteFrom('guest_codes')
          .where((of) => of(endOf(of), '<', before))
          .where('id', 'in', (of) =>
            of
              .selectFrom('guest_codes')
              .select('id')
              .where((code) => code(endOf(code), '<', before))
              .orderBy((code) => endOf(code))
              .limit(sql.lit(most)),
          )
          .returning('account_id')
          .execute()
        const accounts = [...new Set(ended.map(({ account_id }) => account_id))]
        markChanged(trx, ['guest_codes'], { accounts })
        return { numDeletedRows: BigInt(ended.length) }
      }),
  },
  {
    setting: 'trustEvents',
    batch: (db, before, most) =>
      db
        .deleteFrom('trust_events')
        .where('id', 'in', (of) =>
          of
            .selectFrom('trust_events')
            .select('id')
            .where(isRepeatable)
            .where('at', '<', before)
            .orderBy('at')
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
  {
    setting: 'sessions',
    batch: (db, before, most) =>
      db
        .deleteFrom('access_tokens')
        .where('hash', 'in', (of) =>
          of
            .selectFrom('access_tokens')
            .select('hash')
            .where('expires_at', '<', before)
            .orderBy('expires_at')
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
  {
    setting: 'sessions',
    // The next sign-in of the device would delete such a session too (`devices/sessions.ts`).
    batch: (db, before, most) =>
      db
        .deleteFrom('sessions')
        .where(isUnproven)
        .where('id', 'in', (of) =>
          of
            .selectFrom('sessions')
            .select('id')
            .where(isUnproven)
            .where('created_at', '<', before)
            .orderBy('created_at')
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
  {
    setting: 'sessions',
    batch: (db, before, most) =>
      db
        .deleteFrom('machine_tokens')
        .where((of) => of(endOf(of), '<', before))
        .where('id', 'in', (of) =>
          of
            .selectFrom('machine_tokens')
            .select('id')
            .where((token) => token(endOf(token), '<', before))
            .orderBy((token) => endOf(token))
            .limit(sql.lit(most)),
        )
        .executeTakeFirstOrThrow(),
  },
]

/**
 * Deletes rows half a minute after the start and then every hour, until the server shuts down.
 * @param firstMs when it begins, in milliseconds
 */
export function startRetention(
  of: {
    readonly db: Kysely<Schema>
    readonly background: Background
    readonly now: () => number
    readonly signal: AbortSignal
    readonly retention: Retention
  },
  firstMs?: number,
): void {
  const { db, retention } = of
  const batch = RETENTIONS.flatMap(({ setting, batch: deleting }) => {
    const days = retention[setting]
    if (days === null) return []
    return [(at: number, most: number) => deleting(db, keptSince(days, at), most)]
  })
  if (batch.length === 0) return
  startSweep(of, { name: 'retention', everyMs: PERIOD_MS, batch }, firstMs)
}
