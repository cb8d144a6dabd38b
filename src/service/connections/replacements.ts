/**
 * Connections that replace a forked one (protocol, section 4). The server's answers about
 * them are hints: devices judge the fork and the opener by their own records.
 */
import type { Kysely, Transaction } from 'kysely'
import { requireThat } from '../../crypto/refusal.ts'
import { type RosterEntry, type Roster, readRosterEntry } from '../../crypto/logs/roster.ts'
import { isStanding } from './invitation-rows.ts'
import type { Schema } from '../db/schema.ts'

/** Two entries (JWSs) at one position of the roster of a forked connection. */
type Fork = [one: string, other: string]

/** The most replacements in one response, the newest first: each has up to three entries. */
const MOST = 20

/**
 * Checks the form of a fork that comes with the opening of a connection.
 * @throws Refusal as `readEntry` does; `superfluous_member` if the opening replaces nothing;
 *   `wrong_connection` for entries of another roster; `bad_value` unless they are two entries at
 *   one position
 */
export function requireFork({ replaces }: Roster, fork: Fork | undefined): void {
  if (fork === undefined) return
  requireThat(
    replaces !== null,
    'superfluous_member',
    'there is a fork, but the entry replaces nothing',
  )
  const [one, other] = fork.map((jws) => readRosterEntry(jws)) as [RosterEntry, RosterEntry]
  const isTheirs = one.connection === replaces && other.connection === replaces
  requireThat(isTheirs, 'wrong_connection', 'the fork belongs to another connection')
  const isFork = one.seq === other.seq && one.prev === other.prev && fork[0] !== fork[1]
  requireThat(isFork, 'bad_value', 'the fork must be two different entries at the same place')
}

/** Stores which connection a connection replaces, if any, with the fork. */
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

/** Returns the fork that the opener of a connection gave; null for none. */
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
 * Copies what an account chose for the replaced connection to its new membership: name,
 * favourite, preset and tags.
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
 * Returns the open invitations of an account to replacements of connections that it shares with
 * the inviter. It returns the newest of each inviter for each such connection, with the first
 * entry: an inviter who opens many cannot displace those of others.
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
    .where((of) => isStanding(of, at))
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
