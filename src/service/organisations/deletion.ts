/**
 * What happens to a person's organisations when the account is deleted. No organisation may remain
 * without an owner or without an active person.
 */
import type { Kysely, Transaction } from 'kysely'
import { AppError } from '../../errors.ts'
import { lockOrganisation } from './organisations.ts'
import type { Schema } from '../db/schema.ts'

const lastOwner = ({ id, name }: { id: string; name: string }) =>
  new AppError(
    'invalid_state',
    `This account is the only owner of the organisation ${JSON.stringify(name)} (${id}), which has other members. First make one of them an owner (invite their address again, as owner), or suspend all of them, so that the organisation is deleted with the account. Nothing was deleted.`,
    { details: { state: 'last_owner' } },
  )

/**
 * Checks that all organisations that an account left had been locked before. Organisations that
 * were not locked were not included in the check for the last owner.
 * @throws AppError `conflict` if the account joined an organisation after the locks were acquired
 */
export function requireHeld(
  left: readonly { readonly organisation_id: string }[],
  locked: readonly string[],
): void {
  if (left.some(({ organisation_id }) => !locked.includes(organisation_id)))
    throw new AppError(
      'conflict',
      'This account was just added to an organisation. Nothing was deleted. Try again.',
    )
}

/** Selects the organisations in which an account is active. */
const ownOrganisations = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('organisation_members')
    .innerJoin('organisations', 'organisations.id', 'organisation_id')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['organisations.id as id', 'name', 'role'])
    .where('account_id', '=', account)
    .where('state', '=', 'active')
    .where('kind', '=', 'person')
    .orderBy('organisations.id')
    .execute()

/**
 * Locks an account's organisations until the transaction ends. If two owners are deleted at the
 * same time, the second then counts as the last owner. Organisations in which the account is not
 * active are locked too, because two members who are deleted at the same time write to the same
 * organisation and could deadlock.
 * @returns the ids of the organisations
 */
export async function lockOrganisations(
  trx: Transaction<Schema>,
  account: string,
): Promise<string[]> {
  const memberships = await trx
    .selectFrom('organisation_members')
    .select('organisation_id')
    .where('account_id', '=', account)
    .orderBy('organisation_id')
    .execute()
  for (const { organisation_id } of memberships) await lockOrganisation(trx, organisation_id)
  return memberships.map(({ organisation_id }) => organisation_id)
}

/**
 * Returns the organisations to delete with an account, because they have no other active person.
 * @throws AppError `invalid_state` (`last_owner`) if an organisation would remain without an owner
 */
export async function endingWith(db: Kysely<Schema>, account: string): Promise<string[]> {
  const own = await ownOrganisations(db, account)
  if (own.length === 0) return []
  const ids = own.map(({ id }) => id)
  const others = await db
    .selectFrom('organisation_members')
    .innerJoin('accounts', 'accounts.id', 'account_id')
    .select(['organisation_id', 'role'])
    .where('organisation_id', 'in', ids)
    .where('account_id', '!=', account)
    .where('state', '=', 'active')
    .where('kind', '=', 'person')
    .execute()
  const staying = Map.groupBy(others, ({ organisation_id }) => organisation_id)
  for (const organisation of own) {
    const rest = staying.get(organisation.id) ?? []
    const isLast = organisation.role === 'owner' && rest.every(({ role }) => role !== 'owner')
    if (isLast && rest.length > 0) throw lastOwner(organisation)
  }
  return ids.filter((id) => !staying.has(id))
}
