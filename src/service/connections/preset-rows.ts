/**
 * The values that a connection takes from a preset of its creator: at once, and with every
 * invitation to it.
 */
import type { Transaction } from 'kysely'
import { notFound } from '../db/faults.ts'
import type { Inviter } from './invitation-rows.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'

const DAY_MS = 24 * 3_600_000
/** How long an invitation is good without a preset. */
const USUAL_MS = 14 * DAY_MS

/**
 * Returns the preset for a new connection; null for none. The account is locked, so that the
 * preset stays unchanged until the transaction ends.
 * @param wanted the requested preset, null for none, undefined for the default
 * @throws AppError `not_found` if it is not the account's
 */
export async function presetFor(
  trx: Transaction<Schema>,
  account: string,
  wanted: string | null | undefined,
): Promise<Pick<Schema['presets'], 'id' | 'favorite'> | null> {
  if (wanted === null) return null
  await lockAccount(trx, account)
  const preset = await trx
    .selectFrom('presets')
    .select(['id', 'favorite'])
    .where('account_id', '=', account)
    .$if(wanted === undefined, (query) => query.where('is_default', '=', 1))
    .$if(wanted !== undefined, (query) => query.where('id', '=', wanted!))
    .executeTakeFirst()
  if (preset === undefined && wanted !== undefined) throw notFound('preset')
  return preset ?? null
}

/** Gives a connection the tags of the preset with which its member created it. */
export async function tagByPreset(
  trx: Transaction<Schema>,
  { account, connection }: { account: string; connection: string },
): Promise<void> {
  await trx
    .insertInto('tag_assignments')
    .columns(['account_id', 'connection_id', 'tag_id'])
    .expression((from) =>
      from
        .selectFrom('memberships')
        .innerJoin('preset_tags', 'preset_tags.preset_id', 'memberships.preset_id')
        .select(['account_id', 'connection_id', 'tag_id'])
        .where('account_id', '=', account)
        .where('connection_id', '=', connection),
    )
    .execute()
}

/**
 * Returns a member as inviter. The message and validity of invitations come from the preset with
 * which the member created the connection.
 */
export async function inviterIn(
  trx: Transaction<Schema>,
  account: string,
  connection: string,
): Promise<Inviter> {
  const { name, message, seconds } = await trx
    .selectFrom('memberships')
    .leftJoin('presets', 'presets.id', 'memberships.preset_id')
    .select([
      'memberships.name as name',
      'invite_message as message',
      'invitation_expires_in as seconds',
    ])
    .where('memberships.account_id', '=', account)
    .where('connection_id', '=', connection)
    .executeTakeFirstOrThrow()
  const goodForMs = seconds === null ? USUAL_MS : seconds * 1000
  return { account, connection, name, message, goodForMs }
}
