/**
 * Machine accounts. A machine account belongs to an organisation, and is controlled by a key
 * instead of a mailbox. Whoever has the key signs in with assertions (`oauth.ts`).
 */
import type { Kysely } from 'kysely'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'

/** Returns the URL at which assertions are exchanged for tokens. */
export const tokenEndpoint = ({ publicUrl }: Pick<ServiceContext, 'publicUrl'>): string =>
  `${publicUrl()}/oauth/token`

/**
 * Selects the machines with an active membership. A suspended machine's key and tokens are not
 * valid.
 */
export const activeMachines = (db: Kysely<Schema>) =>
  db
    .selectFrom('machines')
    .innerJoin('organisation_members', (join) =>
      join
        .onRef('organisation_members.account_id', '=', 'machines.account_id')
        .onRef('organisation_members.organisation_id', '=', 'machines.organisation_id'),
    )
    .where('organisation_members.state', '=', 'active')

/**
 * Rejects a machine account without an active membership. Its sessions are kept, because the
 * account may be activated again.
 * @throws AppError `forbidden`. It is not a session error, so that the device does not try to sign
 *   in again.
 */
export async function requireActiveMachine(db: Kysely<Schema>, account: string): Promise<void> {
  const row = await activeMachines(db)
    .select('machines.account_id')
    .where('machines.account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined)
    throw new AppError(
      'forbidden',
      'This machine account is suspended in its organisation. Ask an owner or admin to activate it.',
    )
}

/**
 * Replaces machine ids with account ids, in the same order. The two differ after a machine's first
 * device has enrolled. Other ids are returned unchanged.
 */
export async function accountIdsOf(db: Kysely<Schema>, ids: readonly string[]): Promise<string[]> {
  const those = ids.filter((id) => isId(ID_PREFIX.machine, id))
  if (those.length === 0) return [...ids]
  const query = db.selectFrom('machines').select(['id', 'account_id']).where('id', 'in', those)
  const known = new Map((await query.execute()).map(({ id, account_id }) => [id, account_id]))
  return ids.map((id) => known.get(id) ?? id)
}
