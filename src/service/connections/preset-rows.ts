/** What a connection takes from a preset of whoever makes it, at once and with every invitation to it. */
import type { Transaction } from 'kysely'
import { notFound } from '../db/faults.ts'
import type { Inviter } from './invitation-rows.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'

const DAY_MS = 24 * 3_600_000
/** How long an invitation is good where no preset says. */
const USUAL_MS = 14 * DAY_MS

/**
 * The preset that a new connection takes, which nobody changes until the transaction ends; null for none.
 * @param wanted the one that is asked for, null for none, undefined for the default
 * @throws AppError `not_found` for one that is not the account's
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

/** Give a connection the tags of the preset that its member made it with. */
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

/** Whoever invites to a connection that they are in, and what their invitations to it say, by the preset that they made it with. */
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
