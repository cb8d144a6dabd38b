/**
 * Letters about invitations, and their limits. One limit is for letters to one mailbox from all
 * accounts. Another is for letters from one account to one domain, because a domain may deliver all
 * addresses to one person. An invitation above a limit is not mailed, but the invited person finds
 * it after signing in.
 */
import { sql, type Transaction } from 'kysely'
import { hash } from 'node:crypto'
import { newId } from '../../crypto/encoding/id.ts'
import { acceptsMail, accountAt, displayName, primaryAddress } from '../accounts/account-record.ts'
import { type Allowance, domainOf, isYoung, takePlaces } from '../accounts/mail-allowance.ts'
import { readerAt, readerOf } from '../accounts/readers.ts'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import type { InvitationTarget, Inviter, Subscriber } from '../events.ts'
import { invitationMessage } from '../mail/messages-from-others.ts'
import { roleIn } from './connection-rows.ts'

const HOUR_MS = 3_600_000
const WHAT = 'invitation mail'
/**
 * How many letters an account may send to one domain per hour. It equals the number of people that
 * one request to an organisation may invite, so that a whole company can be invited on its first
 * day.
 */
const MOST_TO_DOMAIN = 500
/** How many letters an account less than a day old may send per hour, to all domains together. */
const MOST_OF_YOUNG = 100

/** Returns the SHA-256 of an address's domain in hex, which has a fixed length. */
const tagOf = (address: string): string => hash('sha256', domainOf(address), 'hex')
const TAG_LENGTH = 64

/** Returns how many letters an account has sent in the last hour, by `tagOf` of the domain. */
async function countsOf(
  trx: Transaction<Schema>,
  account: string,
  at: number,
): Promise<Map<string, number>> {
  await trx
    .deleteFrom('tries')
    .where('account_id', '=', account)
    .where('what', '=', WHAT)
    // A row that expires later was written while the clock was wrong, because replicas' clocks
    // differ by less than a period.
    .where((of) => of.or([of('expires_at', '<=', at), of('expires_at', '>', at + 2 * HOUR_MS)]))
    .execute()
  const rows = await trx
    .selectFrom('tries')
    .select(({ fn }) => [
      sql<string>`substr(id, 1, ${sql.lit(TAG_LENGTH)})`.as('tag'),
      fn.countAll<number>().as('count'),
    ])
    .where('account_id', '=', account)
    .where('what', '=', WHAT)
    .groupBy('tag')
    .execute()
  return new Map(rows.map(({ tag, count }) => [tag, Number(count)]))
}

/**
 * Counts letters about invitations in a transaction, and returns which of them to send.
 * @param by `account`: the inviter; `toMailbox`: the limit for letters to one mailbox
 * @param addresses in lower case, each once
 * @param at Unix milliseconds
 * @returns the addresses to which a letter may be sent
 */
export async function takeInvitationMails(
  trx: Transaction<Schema>,
  { account, toMailbox }: { account: string; toMailbox: Allowance },
  addresses: readonly string[],
  at: number,
): Promise<string[]> {
  if (addresses.length === 0) return []
  // Because of this lock, concurrent requests cannot exceed the limit together.
  await lockAccount(trx, account)
  const counts = await countsOf(trx, account, at)
  let all = [...counts.values()].reduce((sum, count) => sum + count, 0)
  const most = (await isYoung(trx, account, at)) ? MOST_OF_YOUNG : Infinity
  const mailed = (await takePlaces(trx, toMailbox, addresses, at)).filter((address) => {
    const tag = tagOf(address)
    const count = counts.get(tag) ?? 0
    if (count >= MOST_TO_DOMAIN || all >= most) return false
    counts.set(tag, count + 1)
    all++
    return true
  })
  if (mailed.length > 0)
    await trx
      .insertInto('tries')
      .values(
        mailed.map((address) => ({
          account_id: account,
          what: WHAT,
          id: newId(tagOf(address), at),
          expires_at: at + HOUR_MS,
        })),
      )
      .execute()
  return mailed
}

/**
 * The limit for letters to one mailbox from all accounts. The owner finds other invitations after
 * signing in.
 */
const MAILS: Allowance = { what: 'invitation', most: 10, periodMs: 3_600_000 }

/** Returns the address for a letter about an invitation; null if no letter should be sent. */
async function addressFor(
  trx: Transaction<Schema>,
  by: Inviter,
  { account, email }: InvitationTarget,
): Promise<string | null> {
  const person = account ?? (await accountAt(trx, email!))
  const address = email ?? (await primaryAddress(trx, account!))
  if (address === null) return null
  if (person !== null) {
    if (!(await acceptsMail(trx, person))) return null
    if ((await roleIn(trx, by.connection, person)) !== null) return null
  }
  return address
}

/** Mails an invitation. */
export const letterOfInvitation =
  ({ publicUrl }: Pick<ServiceContext, 'publicUrl'>): Subscriber<'invitation.sent'> =>
  async ({ trx, send }, { by, target, at }) => {
    const address = await addressFor(trx, by, target)
    if (address === null) return
    const inviter = { account: by.account, toMailbox: MAILS }
    const [to] = await takeInvitationMails(trx, inviter, [address], at)
    if (to === undefined) return
    const from = await displayName(trx, by.account)
    const fromEmail = await primaryAddress(trx, by.account)
    send(
      invitationMessage({
        to,
        reader: await readerAt(trx, to, await readerOf(trx, by.account)),
        from,
        fromEmail,
        connection: by.name,
        message: by.message,
        goodForMs: by.goodForMs,
        publicUrl: publicUrl(),
      }),
    )
  }
