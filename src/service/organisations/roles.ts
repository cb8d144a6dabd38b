/**
 * Changes roles in an organisation, which is locked. Roles only become wider: suspension replaces
 * a narrower role.
 */
import type { Transaction } from 'kysely'
import { type Role, isWider } from './member-rows.ts'
import type { Schema } from '../db/schema.ts'

/** Gives an active member a role. Returns false, without a change, if the role is not wider. */
export async function widenMember(
  trx: Transaction<Schema>,
  of: { organisation: string; account: string; role: Role },
): Promise<boolean> {
  const { organisation, account, role } = of
  const before = await trx
    .selectFrom('organisation_members')
    .select(['role', 'state'])
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .executeTakeFirstOrThrow()
  if (before.state !== 'active' || !isWider(role, before.role)) return false
  await trx
    .updateTable('organisation_members')
    .set({ role })
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .execute()
  return true
}

/** Changes the role that an invitation gives. */
export const changeInvite = (trx: Transaction<Schema>, { id, role }: { id: string; role: Role }) =>
  trx.updateTable('organisation_invites').set({ role }).where('id', '=', id).execute()
