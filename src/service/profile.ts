/** The own profile: what others see of an account, as far as it chooses. */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../api/port.ts'
import type { Profile } from '../api/rest/profiles.ts'
import { AppError } from '../errors.ts'
import { accountGone } from './faults.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'
import { holdTurn } from './turns.ts'

async function read(db: Kysely<Schema>, account: string): Promise<Profile> {
  const row = await db
    .selectFrom('accounts')
    .select(['display_name', 'handle', 'headline'])
    .where('id', '=', account)
    .executeTakeFirstOrThrow(accountGone)
  // Its words are a device's to say.
  return { ...row, public_code: null }
}

/** Handles are taken one at a time, by all replicas together: of two who want the same at the same moment, one gets it. */
async function demandFree(
  trx: Transaction<Schema>,
  account: string,
  handle: string,
): Promise<void> {
  await holdTurn(trx, 'turn of handles')
  const taken = await trx
    .selectFrom('accounts')
    .select('id')
    .where('handle', '=', handle)
    .where('id', '!=', account)
    .executeTakeFirst()
  if (taken !== undefined)
    throw new AppError('conflict', `The handle "${handle}" is taken: choose another.`)
}

export const profile = ({ db }: Ground): Service['profile'] => ({
  read: (_, { account }) => read(db, account),

  update: ({ body }, { account }) =>
    db.transaction().execute(async (trx) => {
      if (typeof body.handle === 'string') await demandFree(trx, account, body.handle)
      const set = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined),
      )
      if (Object.keys(set).length > 0)
        await trx.updateTable('accounts').set(set).where('id', '=', account).execute()
      return read(trx, account)
    }),
})
