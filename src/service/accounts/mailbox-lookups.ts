/**
 * Look-ups by mailbox, which reveal whether a mailbox has an account. One account may make a
 * number of them an hour, and all accounts of the server together another number, since a domain
 * that accepts any address can open any number of accounts.
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
  told: 'Too many people were looked up by their mailbox. The limit is 30 an hour.',
}

/** The prefix of the ids of counted look-ups, and the first text after all of them. */
const PREFIX = 'look-up by mailbox '
const AFTER = 'look-up by mailbox!'

/** Counts a look-up. Throws AppError `rate_limited` if all accounts together made too many. */
const countForServer = ({ db, now }: Pick<ServiceContext, 'db' | 'now'>): Promise<void> =>
  db.transaction().execute(async (trx) => {
    const at = now()
    // The lock makes the limit exact for concurrent requests.
    await acquireLock(trx, 'turn of look-ups by mailbox')
    const { count, first } = await trx
      .selectFrom('seen_once')
      .select(({ fn }) => [fn.countAll<number>().as('count'), fn.min('expires_at').as('first')])
      .where('id', '>=', PREFIX)
      .where('id', '<', AFTER)
      .where('expires_at', '>', at)
      // Rows counted while the clock was far ahead are left out: replicas differ by less than a
      // period.
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
 * Returns the account that proved a mailbox, unless its owner does not want to be found by it.
 * @param asking the account of the caller, against which the look-up is counted in every case
 * @throws AppError `not_found`, in the same words for both; `rate_limited`
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
