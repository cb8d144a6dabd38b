/** Organisations, and who may act for one: what an account may do there is the role of its membership. */
import type { Kysely } from 'kysely'
import type { Service } from '../api/port.ts'
import { newId } from '../crypto/id.ts'
import { AppError } from '../errors.ts'
import { notFound } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

/**
 * Let only an owner or admin of the organisation pass whose membership is active.
 * @throws AppError `not_found` for an organisation that the account is not in, `forbidden` for another role or state
 */
export async function demandManager(
  db: Kysely<Schema>,
  organisation: string,
  account: string,
): Promise<void> {
  const member = await db
    .selectFrom('organisation_members')
    .select(['role', 'state'])
    .where('organisation_id', '=', organisation)
    .where('account_id', '=', account)
    .executeTakeFirst()
  if (member === undefined) throw notFound('organisation')
  if (member.state !== 'active' || member.role === 'member')
    throw new AppError(
      'forbidden',
      'Only an active owner or admin of the organisation may do this: ask one of them.',
    )
}

export const organisations = ({
  db,
  now,
}: Pick<Ground, 'db' | 'now'>): Service['organisations'] => ({
  create: ({ body }, { account }) =>
    db.transaction().execute(async (inside) => {
      const { kind } = await inside
        .selectFrom('accounts')
        .select('kind')
        .where('id', '=', account)
        .executeTakeFirstOrThrow()
      if (kind !== 'person')
        throw new AppError('forbidden', 'Only a person may create an organisation.')
      const at = now()
      const id = newId('org_', at)
      const { name } = body
      await inside.insertInto('organisations').values({ id, name, created_at: at }).execute()
      await inside
        .insertInto('organisation_members')
        .values({
          organisation_id: id,
          account_id: account,
          role: 'owner',
          state: 'active',
          joined_at: at,
        })
        .execute()
      return { id, name, role: 'owner' as const }
    }),
})
