/**
 * Addresses that an account wants to have, until the link in a mail proves that it may. Of the link's token only SHA-256 is kept. What
 * a claim is worth is judged when it is confirmed: a mailbox that is an account's by then stays that one's, and the page says so to
 * whoever reads that mailbox, and to nobody else.
 */
import type { Kysely, Transaction } from 'kysely'
import { accountAt, displayName, primaryAddress } from './account-record.ts'
import type { Ground } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import { quoted } from '../mail/quoting.ts'
import type { Schema } from '../db/schema.ts'

/** What a page says of a confirmation, as plain text. */
export interface Said {
  readonly title: string
  readonly text: string
  /** Nothing is left to confirm. */
  readonly settled?: boolean
}

type Claim = Schema['email_claims']

/** The claim whose link holds a token, while it waits. */
const waiting = (db: Kysely<Schema>, tokenHash: string, at: number): Promise<Claim | undefined> =>
  db
    .selectFrom('email_claims')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', at)
    .executeTakeFirst()

const taken = (address: string): Said => ({
  title: 'This address belongs to an account already',
  text: `${address} is an address of an account on this server, and an address belongs to one account. Nothing changes. If that account is yours, sign in to it with this address.`,
  settled: true,
})

/**
 * What following a link will confirm; null when it is no link of an address, or none that waits.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 * @param now Unix milliseconds
 */
export async function findClaim(
  db: Kysely<Schema>,
  tokenHash: string,
  now: number,
): Promise<Said | null> {
  const claim = await waiting(db, tokenHash, now)
  if (claim === undefined) return null
  const { account_id: account, address } = claim
  if ((await accountAt(db, address)) !== null) return taken(address)
  const name = await displayName(db, account)
  const primary = await primaryAddress(db, account)
  const who = primary === null ? quoted(name) : `${quoted(name)} (${primary})`
  return {
    title: 'Confirm your address',
    text: `The account of ${who} wants ${address} to be an address of its own. From then on a code that is mailed there signs in to that account, and invitations to that address reach it. If it is not your account, close this page: then nothing happens.`,
  }
}

/** A claim ends, and no other: what others claimed tells them nothing of who has the address. Answers false for one that is gone. */
async function end(trx: Transaction<Schema>, id: string): Promise<boolean> {
  const { numDeletedRows: ended } = await trx
    .deleteFrom('email_claims')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return ended === 1n
}

/** The account has the address from now on. Answers null when it is another account's; else where the account was written to before. */
async function give(
  trx: Transaction<Schema>,
  { id, account_id: account, address, created_at }: Claim,
  at: number,
): Promise<{ primary: string | null } | null> {
  const primary = await primaryAddress(trx, account)
  const { numInsertedOrUpdatedRows: made } = await trx
    .insertInto('emails')
    .values({
      id,
      address,
      account_id: account,
      is_primary: primary === null ? 1 : 0,
      created_at,
      verified_at: at,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow()
  return made === 1n ? { primary } : null
}

/**
 * Confirm an address: from then on it is its account's, which is told, at its earlier address as well. Null as in `findClaim`.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function confirmClaim(ground: Ground, tokenHash: string): Promise<Said | null> {
  const { events, now } = ground
  return events.transaction(async (trx) => {
    const at = now()
    const seen = await waiting(trx, tokenHash, at)
    if (seen === undefined) return null
    const { account_id: account, address } = seen
    // Two that follow the link at once: the second finds what the first did.
    await lockAccount(trx, account)
    const claim = await waiting(trx, tokenHash, at)
    // One that is being forgotten with a device is waited for.
    if (claim === undefined || !(await end(trx, claim.id))) return null
    const given = await give(trx, claim, at)
    if (given === null) return taken(address)
    const { primary } = given
    await events.publish(trx, {
      type: 'email.added',
      account,
      email: claim.id,
      address,
      primary,
      at,
    })
    return {
      title: 'Your address is confirmed',
      text: `${address} is an address of that account now. You can close this page.`,
    }
  })
}
