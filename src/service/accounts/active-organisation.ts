/**
 * Finds a caller's active organisation. Each session has its own active organisation, so a change
 * does not affect the account's other devices. A machine account belongs to one organisation, which
 * is always its active one. In both cases the membership must be active at the time of the request.
 */
import type { Kysely } from 'kysely'
import type { CallerSession } from '../../api/port.ts'
import type { Schema } from '../db/schema.ts'

export interface ActiveOrganisation {
  readonly id: string
  readonly name: string
  /** The role of the account in this organisation. */
  readonly role: Schema['organisation_members']['role']
}

/** Selects the organisations in which the membership of an account is active. */
export const organisationsOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('organisation_members')
    .innerJoin('organisations', 'organisations.id', 'organisation_id')
    .select(['organisations.id', 'name', 'role'])
    .where('account_id', '=', account)
    .where('state', '=', 'active')

/** Returns the organisation of a machine account; null for a person. */
export async function organisationOfMachine(
  db: Kysely<Schema>,
  account: string,
): Promise<string | null> {
  const row = await db
    .selectFrom('machines')
    .select('organisation_id')
    .where('account_id', '=', account)
    .executeTakeFirst()
  return row?.organisation_id ?? null
}

/**
 * Returns the caller's active organisation; null if there is none, or if the caller is not an
 * active member of it.
 */
export async function activeOrganisation(
  db: Kysely<Schema>,
  { account, session }: CallerSession,
): Promise<ActiveOrganisation | null> {
  const row = await organisationsOf(db, account)
    .where((of) =>
      of.or([
        of(
          'organisation_id',
          '=',
          of.selectFrom('machines').select('organisation_id').where('account_id', '=', account),
        ),
        of(
          'organisation_id',
          '=',
          of
            .selectFrom('sessions')
            .select('active_organisation_id')
            .where('id', '=', session)
            .where('account_id', '=', account),
        ),
      ]),
    )
    .executeTakeFirst()
  return row ?? null
}
