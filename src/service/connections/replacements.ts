/**
 * Connections that replace a forked connection (protocol, section 4). What the server returns about
 * them is only a hint: devices check the fork and the opener against their own records.
 *
 * A sync without news uses this module, so it does not load the elliptic curve code.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Roster } from '../../crypto/logs/roster.ts'
import { occupiesPlace } from './invitation-rows.ts'
import type { Schema } from '../db/schema.ts'

/** Two different entries (JWS) at the same position of a forked connection's roster. */
export type Fork = [one: string, other: string]

/**
 * How many replacements one response contains at most, newest first. Each has up to three entries.
 */
const MOST = 20

/**
 * Stores which connection a connection replaces, with the fork. Does nothing if it replaces none.
 */
export async function noteReplaces(
  trx: Transaction<Schema>,
  { connection, replaces }: Roster,
  fork: Fork | undefined,
): Promise<void> {
  if (replaces === null) return
  const [fork_one, fork_other] = fork ?? [null, null]
  await trx
    .insertInto('replacements')
    .values({ connection_id: connection, replaces, fork_one, fork_other })
    .execute()
}

/** Returns the fork that was given when a connection was opened, or null. */
export async function forkOf(db: Kysely<Schema>, connection: string): Promise<Fork | null> {
  const row = await db
    .selectFrom('replacements')
    .select(['fork_one', 'fork_other'])
    .where('connection_id', '=', connection)
    .executeTakeFirst()
  return row === undefined ? null : pairOf(row)
}

const pairOf = ({
  fork_one: one,
  fork_other: other,
}: Pick<Schema['replacements'], 'fork_one' | 'fork_other'>): Fork | null =>
  one === null || other === null ? null : [one, other]

/**
 * Copies an account's own settings from the replaced connection: name, favourite, preset and tags.
 */
export async function carryOver(
  trx: Transaction<Schema>,
  { connection, replaces }: Roster,
  account: string,
): Promise<void> {
  if (replaces === null) return
  const before = await trx
    .selectFrom('memberships')
    .select(['name', 'favorite', 'preset_id'])
    .where('account_id', '=', account)
    .where('connection_id', '=', replaces)
    .executeTakeFirst()
  if (before === undefined) return
  await trx
    .updateTable('memberships')
    .set(before)
    .where('account_id', '=', account)
    .where('connection_id', '=', connection)
    .execute()
  await trx
    .insertInto('tag_assignments')
    .columns(['account_id', 'connection_id', 'tag_id'])
    .expression((from) =>
      from
        .selectFrom('tag_assignments')
        .select((of) => ['account_id', of.val(connection).as('connection_id'), 'tag_id'])
        .where('account_id', '=', account)
        .where('connection_id', '=', replaces),
    )
    .execute()
}

/**
 * Returns an account's open invitations to replacements, with the first roster entry of each. The
 * account and the inviter must both be members of the replaced connection. For each inviter and
 * replaced connection it returns only the newest invitation, so that an inviter with many
 * invitations cannot displace the invitations of others.
 */
export async function replacementsFor(db: Kysely<Schema>, account: string, at: number) {
  const newest = db
    .selectFrom('invitations')
    .innerJoin('replacements', 'replacements.connection_id', 'invitations.connection_id')
    .innerJoin('memberships as own', 'own.connection_id', 'replaces')
    .innerJoin('memberships as theirs', 'theirs.connection_id', 'replaces')
    .select(({ fn }) => fn.max('invitations.id').as('id'))
    .where('to_account', '=', account)
    .where('state', '=', 'pending')
    .where((of) => occupiesPlace(of, at))
    .where('own.account_id', '=', account)
    .whereRef('theirs.account_id', '=', 'from_account')
    .groupBy(['from_account', 'replaces'])
    .orderBy('id', 'desc')
    .limit(MOST)
  const rows = await db
    .selectFrom('invitations')
    .innerJoin('replacements', 'replacements.connection_id', 'invitations.connection_id')
    .innerJoin('roster_entries', 'roster_entries.connection_id', 'invitations.connection_id')
    .select(['invitations.id as invitation', 'entry', 'fork_one', 'fork_other'])
    .where('invitations.id', 'in', newest)
    .where('seq', '=', 0)
    .orderBy('invitations.id', 'desc')
    .execute()
  return rows.map(({ invitation, entry, ...row }) => ({ invitation, entry, fork: pairOf(row) }))
}
