/** Who the account is. */
import type { Kysely } from 'kysely'
import type { Service } from '../api/port.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

/** Where the server writes to a person; null for a machine, and for somebody who never proved a mailbox. */
export async function primaryAddress(db: Kysely<Schema>, account: string): Promise<string | null> {
  const row = await db
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .where('is_primary', '=', 1)
    .executeTakeFirst()
  return row?.address ?? null
}

/** The account that has proven to be at a mailbox, in lower case; null for nobody. */
export async function accountAt(db: Kysely<Schema>, email: string): Promise<string | null> {
  const row = await db
    .selectFrom('emails')
    .select('account_id')
    .where('address', '=', email)
    .executeTakeFirst()
  return row?.account_id ?? null
}

export const context = ({ db }: Ground): Service['context'] => ({
  read: async (_, { account }) => {
    const [user, email, organisations] = await Promise.all([
      db
        .selectFrom('accounts')
        .select(['id', 'display_name', 'kind'])
        .where('id', '=', account)
        .executeTakeFirstOrThrow(),
      primaryAddress(db, account),
      db
        .selectFrom('organisation_members')
        .innerJoin('organisations', 'organisations.id', 'organisation_id')
        .select(['id', 'name', 'role'])
        .where('account_id', '=', account)
        .where('state', '=', 'active')
        .orderBy('id')
        .execute(),
    ])
    return { user: { ...user, email }, organisations: organisations.map((one) => ({ ...one })) }
  },
})
