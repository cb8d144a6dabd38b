/**
 * Limits how many mails of one kind all senders together can send to one mailbox in a period. The
 * limit is needed because strangers choose the mailbox, and its reader has not agreed to any mail.
 * Each mail takes one of a fixed number of places, which becomes free again after the period. All
 * replicas share the table `seen_once`, which stores the mailbox as a hash.
 *
 * Many servers deliver `ada+anything@example.org` to `ada@example.org` (RFC 5233), so limits ignore
 * the tag after the `+`. Dots are not ignored, because `a.da@` and `ada@` are two people at most
 * servers. Rules of individual providers are not applied.
 */
import type { Transaction } from 'kysely'
import { hash } from 'node:crypto'
import type { Schema } from '../db/schema.ts'

/** Splits an address at its last @. */

const parts = (address: string): [local: string, domain: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

/** Returns an address without its tag. The address must be in lower case. */
export function mailboxOf(address: string): string {
  const [local, domain] = parts(address)
  const plus = local.indexOf('+')
  return plus <= 0 ? address : `${local.slice(0, plus)}@${domain}`
}

/** Returns the part of an address after the @. */
export const domainOf = (address: string): string => parts(address)[1]

export interface Allowance {
  /** The kind of mail that is limited. */
  readonly what: string
  readonly most: number
  readonly periodMs: number
}

/**
 * Takes a place for each address in a transaction. The places stay taken only if the transaction
 * commits. Addresses that belong to one mailbox share its places.
 * @param addresses in lower case, each once
 * @param at Unix milliseconds
 * @returns the addresses that got a place
 */
export async function takePlaces(
  trx: Transaction<Schema>,
  { what, most, periodMs }: Allowance,
  addresses: readonly string[],
  at: number,
): Promise<string[]> {
  const expires_at = at + periodMs
  const left = Map.groupBy(addresses, (address) =>
    hash('sha256', `${what} ${mailboxOf(address)}`, 'hex'),
  )
  const taken: string[] = []
  // Places are always taken in the same order, so that two concurrent transactions cannot deadlock.
  for (let place = 0; place < most && left.size > 0; place++) {
    const rows = [...left.keys()].sort().map((mailbox) => `${what} ${mailbox} ${place}`)
    const made = await trx
      .insertInto('seen_once')
      .values(rows.map((id) => ({ id, expires_at })))
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ expires_at })
          // A place that expires this late was taken while the clock was wrong, because replicas'
          // clocks differ by less than a period. It counts as free.
          .where((of) =>
            of.or([
              of('seen_once.expires_at', '<=', at),
              of('seen_once.expires_at', '>', at + 2 * periodMs),
            ]),
          ),
      )
      .returning('id')
      .execute()
    for (const { id } of made) {
      const mailbox = id.split(' ').at(-2)!
      const waiting = left.get(mailbox)!
      taken.push(waiting.shift()!)
      if (waiting.length === 0) left.delete(mailbox)
    }
  }
  return taken
}

/** Takes a place for one address. Returns false if no place is free. */
export const takePlace = async (
  trx: Transaction<Schema>,
  allowance: Allowance,
  address: string,
  at: number,
): Promise<boolean> => (await takePlaces(trx, allowance, [address], at)).length > 0

const YOUNG_MS = 24 * 3_600_000

/**
 * Returns whether an account was created within the last day. The creation time is when the server
 * stored the first key log entry. The time in the account id is not used, because a device chose
 * it.
 * @param at Unix milliseconds
 */
export async function isYoung(
  trx: Transaction<Schema>,
  account: string,
  at: number,
): Promise<boolean> {
  const first = await trx
    .selectFrom('key_log_entries')
    .select('stored_at')
    .where('account_id', '=', account)
    .where('seq', '=', 0)
    .executeTakeFirst()
  return first !== undefined && first.stored_at > at - YOUNG_MS
}
