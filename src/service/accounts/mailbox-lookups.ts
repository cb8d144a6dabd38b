/**
 * Look-ups by mailbox, which reveal whether a mailbox has an account. The number per hour is
 * limited for each account, and for all accounts of the server together, because an attacker with a
 * domain that accepts any address can create any number of accounts.
 */
import { newId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { accountAt } from './account-record.ts'
import type { ServiceContext } from '../context.ts'
import { type Brake, countTry } from '../db/attempts.ts'
import { acquireLock } from '../db/locks.ts'

const HOUR_MS = 3_600_000
const MOST_OF_SERVER = 600

const OF_ACCOUNT: Brake = {
  what: 'follow by mailbox',
  most: 30,
  periodMs: HOUR_MS,
  message: 'Too many people were looked up by their mailbox. The limit is 30 an hour.',
}

/**
 * The prefix of the ids of counted look-ups, and the first string that sorts after all those ids.
 */
const PREFIX = 'look-up by mailbox '
const AFTER = 'look-up by mailbox!'

/**
 * Counts a look-up for the server. Throws AppError `rate_limited` if all accounts together made too
 * many.
 */
const countForServer = ({ db, now }: Pick<ServiceContext, 'db' | 'now'>): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const at = now()
    // Because of this lock, concurrent requests cannot exceed the limit together.
    await acquireLock(trx, 'turn of look-ups by mailbox')
    const { count, first } = await trx
      .selectFrom('seen_once')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('expires_at').as('first')])
      .where('id', '>=', PREFIX)
      .where('id', '<', AFTER)
      .where('expires_at', '>', at)
      // A row that expires later was written while the clock was wrong, because replicas' clocks
      // differ by less than a period. It is not counted.
      .where('expires_at', '<=', at + 2 * HOUR_MS)
      .executeTakeFirstOrThrow()
    if (Number(count) >= MOST_OF_SERVER) {
      const seconds = Math.max(1, Math.ceil(((first ?? at) - at) / 1000))
      throw new AppError(
        'rate_limited',
        `Too many people were looked up by their mailbox at this account server. Try again in ${seconds} s, or follow by user_id.`,
        { headers: { 'Retry-After': String(seconds) } },
      )
    }
    await trx
      .insertInto('seen_once')
      .values({ id: newId(PREFIX, at), expires_at: at + HOUR_MS })
      .execute()
  })

/**
 * Returns the account that confirmed a mailbox, unless the owner of the account chose not to be
 * found by mailbox.
 * @param asking the caller's account. The look-up is counted for the caller in every case.
 * @throws AppError `not_found`, with the same message whether there is no account or its owner is
 *   hidden; `rate_limited`
 */
export async function accountBehind(
  ground: ServiceContext,
  asking: string,
  email: string,
): Promise<string> {
  await countTry(ground, asking, OF_ACCOUNT)
  await countForServer(ground)
  const account = await accountAt(ground.db, email.toLowerCase())
  const hidden = await ground.db
    .selectFrom('preferences')
    .select('account_id')
    .where('account_id', '=', account)
    .where('findable_by_email', '=', 0)
    .executeTakeFirst()
  if (account === null || (hidden !== undefined && account !== asking))
    throw new AppError('not_found', 'No account here has confirmed this mailbox.')
  return account
}
