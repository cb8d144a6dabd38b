/**
 * The organisation that a caller acts in. A session chooses its own, so that another device keeps its; a machine account is of one
 * organisation, and acts in that. Either way the membership must be active now, whatever it was when it was chosen.
 */
import type { Kysely } from 'kysely'
import type { Session } from '../../api/port.ts'
import type { Schema } from '../db/schema.ts'

export interface ActiveOrganisation {
  readonly id: string
  readonly name: string
  /** Of the account, there. */
  readonly role: Schema['organisation_members']['role']
}

/** The organisations in which the membership of an account is active. */
export const organisationsOf = (db: Kysely<Schema>, account: string) =>
  db
    .selectFrom('organisation_members')
    .innerJoin('organisations', 'organisations.id', 'organisation_id')
    .select(['organisations.id', 'name', 'role'])
    .where('account_id', '=', account)
    .where('state', '=', 'active')

/** The organisation that a machine account is of; null for a person. */
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

/** The organisation in which whoever asks acts; null for none, and for one where the membership is not active any more. */
export async function activeOrganisation(
  db: Kysely<Schema>,
  { account, session }: Session,
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
