/** The profile of the caller's own account, which other accounts see. */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import type { Profile } from '../../api/rest/profiles.ts'
import { AppError } from '../../errors.ts'
import { accountGone } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { compiledOnce } from '../db/compiled.ts'
import type { Schema } from '../db/schema.ts'
import { acquireLock } from '../db/locks.ts'
import { markChanged, transactionWithMarks } from '../db/sync-marks.ts'
import { markInvitationsOf } from './invitation-marks.ts'

const profileOf = compiledOnce((db, { account }: { account: string }) =>
  db
    .selectFrom('accounts')
    .select(['display_name', 'handle', 'headline'])
    .where('id', '=', account),
)

async function read(db: Kysely<Schema>, account: string): Promise<Profile> {
  const [row] = await profileOf(db, { account })
  if (row === undefined) throw accountGone()
  // Only a device can compute the words of the public code.
  return { ...row, public_code: null }
}

/**
 * Checks that no other account has the handle. Because of a lock across all replicas, only one of
 * two concurrent requests for the same handle succeeds.
 * @throws AppError `conflict`
 */
async function requireFree(
  trx: Transaction<Schema>,
  account: string,
  handle: string,
): Promise<void> {
  await acquireLock(trx, 'turn of handles')
  const taken = await trx
    .selectFrom('accounts')
    .select('id')
    .where('handle', '=', handle)
    .where('id', '!=', account)
    .executeTakeFirst()
  if (taken !== undefined)
    throw new AppError('conflict', `The handle "${handle}" is taken. Choose another.`)
}

/**
 * Throws AppError `no_device` if a device signed the name, because then only a device can change
 * it.
 */
async function requireUnsigned(trx: Transaction<Schema>, account: string): Promise<void> {
  const { profile } = await trx
    .selectFrom('accounts')
    .select('profile')
    .where('id', '=', account)
    .executeTakeFirstOrThrow(accountGone)
  if (profile !== null)
    throw new AppError(
      'no_device',
      'The name of this account is signed by one of its devices, so only a device can change the name. Change the name on a device that is signed in.',
    )
}

export const profile = ({ db }: ServiceContext): Service['profile'] => ({
  read: (_, { account }) => read(db, account),

  update: ({ body }, { account }) =>
    transactionWithMarks(db, async (trx) => {
      if (body.display_name !== undefined) await requireUnsigned(trx, account)
      if (typeof body.handle === 'string') await requireFree(trx, account, body.handle)
      const set = Object.fromEntries(
        Object.entries(body).filter(([, value]) => value !== undefined),
      )
      if (Object.keys(set).length > 0)
        await trx.updateTable('accounts').set(set).where('id', '=', account).execute()
      if (body.display_name !== undefined) {
        markChanged(trx, ['trust_cards'], { followersOf: [account] })
        await markInvitationsOf(trx, account)
      }
      return read(trx, account)
    }),
})
