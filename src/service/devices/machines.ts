/**
 * Machine accounts. Each is an account of an organisation, and its owner is a key instead of a
 * mailbox: the owner of the key signs in with assertions (`assertions.ts`).
 */
import type { Kysely } from 'kysely'
import { PREFIX, isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import type { Ground } from '../context.ts'
import type { Schema } from '../db/schema.ts'

/** Where assertions are exchanged for tokens, a URL. */
export const tokenEndpoint = ({ publicUrl }: Pick<Ground, 'publicUrl'>): string =>
  `${publicUrl()}/oauth/token`

/** The machines whose membership is active: the key and the tokens of a suspended one are good for nothing. */
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
 * A machine account whose membership is not active is refused, and its sessions wait until it is again.
 * @throws AppError `forbidden`: nothing is wrong with the session, so its device is not to sign in anew
 */
export async function demandActiveMachine(db: Kysely<Schema>, account: string): Promise<void> {
  const row = await activeMachines(db)
    .select('machines.account_id')
    .where('machines.account_id', '=', account)
    .executeTakeFirst()
  if (row === undefined)
    throw new AppError(
      'forbidden',
      'This machine account is suspended in its organisation: have an owner or admin activate it.',
    )
}

/**
 * The accounts of ids that may be those of machines, in the same order: a machine's account has an
 * id of its own once its first device is there. Ids of other kinds stay as they are.
 */
export async function accountsOf(db: Kysely<Schema>, ids: readonly string[]): Promise<string[]> {
  const those = ids.filter((id) => isId(PREFIX.machine, id))
  if (those.length === 0) return [...ids]
  const query = db.selectFrom('machines').select(['id', 'account_id']).where('id', 'in', those)
  const known = new Map((await query.execute()).map(({ id, account_id }) => [id, account_id]))
  return ids.map((id) => known.get(id) ?? id)
}
