/**
 * Machine accounts. Each is an account of an organisation that is controlled by a key instead of
 * a mailbox: the holder of the key signs in with assertions (`oauth.ts`).
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
 * Selects the machines with an active membership. The key and tokens of a suspended one are
 * invalid.
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
 * Rejects a machine account without an active membership. Its sessions stay, for when it is
 * active again.
 * @throws AppError `forbidden`, not a session error, so that its device does not sign in again
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
 * Returns the accounts of ids that may be machine ids, in the same order. A machine's account has
 * its own id once its first device is enrolled. Ids of other kinds are returned unchanged.
 */
export async function accountIdsOf(db: Kysely<Schema>, ids: readonly string[]): Promise<string[]> {
  const those = ids.filter((id) => isId(ID_PREFIX.machine, id))
  if (those.length === 0) return [...ids]
  const query = db.selectFrom('machines').select(['id', 'account_id']).where('id', 'in', those)
  const known = new Map((await query.execute()).map(({ id, account_id }) => [id, account_id]))
  return ids.map((id) => known.get(id) ?? id)
}
