/**
 * Claims: mail addresses that an account added but has not yet confirmed through the link in a
 * mail. The database stores only the SHA-256 of the link's token. Whether the address belongs to
 * another account is checked only when the link is opened. An address of another account stays with
 * that account. Only the page at the link shows this, so only the reader of the mailbox sees it.
 */
import type { Kysely, Transaction } from 'kysely'
import { hash, randomBytes } from 'node:crypto'
import type { ServiceContext } from '../context.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { accountAt, displayName, primaryAddress } from './account-record.ts'

/** Returns the stored form of a token: SHA-256 in hex. */
export const tokenHash = (token: string): string => hash('sha256', token, 'hex')

/**
 * Returns a new confirmation link, and the hash of its token. The token is 32 random bytes in
 * base64url.
 */
export function newLink(publicUrl: string): { link: string; tokenHash: string } {
  const token = randomBytes(32).toString('base64url')
  return { link: `${publicUrl}/confirm/${token}`, tokenHash: tokenHash(token) }
}

/** A claim at a confirmation link, as its page shows it. */
export type DisplayedClaim =
  /** `name` and `primary`: the name of the account, and its primary address if it has one. */
  | {
      readonly kind: 'address'
      readonly address: string
      readonly name: string
      readonly primary: string | null
    }
  /** The address already belongs to an account, so nothing is left to confirm. */
  | { readonly kind: 'taken'; readonly address: string }
  | { readonly kind: 'added'; readonly address: string }

type Claim = Schema['email_claims']

/** Returns the pending claim of a token. */
const waiting = (db: Kysely<Schema>, tokenHash: string, at: number): Promise<Claim | undefined> =>
  db
    .selectFrom('email_claims')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', at)
    .executeTakeFirst()

/**
 * Returns what a link would confirm; null unless the link belongs to a pending claim.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 * @param now Unix milliseconds
 */
export async function findClaim(
  db: Kysely<Schema>,
  tokenHash: string,
  now: number,
): Promise<DisplayedClaim | null> {
  const claim = await waiting(db, tokenHash, now)
  if (claim === undefined) return null
  const { account_id: account, address } = claim
  if ((await accountAt(db, address)) !== null) return { kind: 'taken', address }
  const name = await displayName(db, account)
  const primary = await primaryAddress(db, account)
  return { kind: 'address', address, name, primary }
}

/**
 * Deletes one claim. Returns false if the claim no longer exists. Other accounts' claims for the
 * address stay, because deleting them would reveal that the address now has an owner.
 */
async function end(trx: Kysely<Schema>, id: string): Promise<boolean> {
  const { numDeletedRows: ended } = await trx
    .deleteFrom('email_claims')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return ended === 1n
}

/**
 * Deletes the pending claim of a token, so that its link ends. Returns whether there was one.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function rejectClaim({ db, now }: ServiceContext, tokenHash: string) {
  const claim = await waiting(db, tokenHash, now())
  return claim !== undefined && end(db, claim.id)
}

/**
 * Adds the address to the account. Returns null if another account has the address. Otherwise
 * `primary` is the account's previous primary address, or null if it had none.
 */
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
 * Confirms an address. The address is added to the account, which is notified, also by mail to its
 * previous primary address. Returns null as `findClaim` does.
 * @param tokenHash SHA-256 of the link's token, lower-case hex
 */
export async function confirmClaim(
  ground: ServiceContext,
  tokenHash: string,
): Promise<DisplayedClaim | null> {
  const { events, now } = ground
  return events.transaction(async (trx) => {
    const at = now()
    const seen = await waiting(trx, tokenHash, at)
    if (seen === undefined) return null
    const { account_id: account, address } = seen
    // Of two concurrent requests with the same link, the second waits here for the first.
    await lockAccount(trx, account)
    const claim = await waiting(trx, tokenHash, at)
    // `end` also waits for a transaction that deletes the claim because it revokes a device.
    if (claim === undefined || !(await end(trx, claim.id))) return null
    const given = await give(trx, claim, at)
    if (given === null) return { kind: 'taken', address }
    const { primary } = given
    await events.publish(trx, {
      type: 'email.added',
      account,
      email: claim.id,
      address,
      primary,
      at,
    })
    return { kind: 'added', address }
  })
}
