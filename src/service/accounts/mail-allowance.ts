/**
 * The limit of mails of one kind to one mailbox in a period, for all senders together. Strangers
 * name the mailbox, and its reader has not agreed to any mail yet. Each mail takes one of a number
 * of places, which is free again after the period. The table `seen_once` stores the mailbox as a
 * hash, shared by all replicas.
 *
 * Many servers deliver `ada+anything@example.org` to `ada@example.org` (RFC 5233), so limits for a
 * mailbox leave out the tag. Dots and the rules of single providers are not applied: `a.da@` and
 * `ada@` are two people at most servers.
 */
import type { Kysely, Transaction } from 'kysely'
import { hash } from 'node:crypto'
import type { Schema } from '../db/schema.ts'

/**
 * Addresses as limits count them. Many servers deliver `ada+anything@example.org` to
 * `ada@example.org` (RFC 5233), so limits for a mailbox leave out the tag. Dots and the rules of
 * single providers are not applied: `a.da@` and `ada@` are two people at most servers.
 */

const parts = (address: string): [local: string, domain: string] => {
  const at = address.lastIndexOf('@')
  return [address.slice(0, at), address.slice(at + 1)]
}

/** Returns the mailbox of an address in lower case: the address without its tag. */
export function mailboxOf(address: string): string {
  const [local, domain] = parts(address)
  const plus = local.indexOf('+')
  return plus <= 0 ? address : `${local.slice(0, plus)}@${domain}`
}

/** Returns the part of an address after the @. */
export const domainOf = (address: string): string => parts(address)[1]

export interface Allowance {
  /** The subject of the mails. */
  readonly what: string
  readonly most: number
  readonly periodMs: number
}

/**
 * Takes a place for each address in a transaction. The places stay taken only if it commits.
 * Addresses of one mailbox share its places.
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
  // In one order, from the first place on, so that two waiting transactions cannot deadlock.
  for (let place = 0; place < most && left.size > 0; place++) {
    const rows = [...left.keys()].sort().map((mailbox) => `${what} ${mailbox} ${place}`)
    const made = await trx
      .insertInto('seen_once')
      .values(rows.map((id) => ({ id, expires_at })))
      .onConflict((conflict) =>
        conflict
          .column('id')
          .doUpdateSet({ expires_at })
          // Or taken when the clock was far ahead: replicas differ by less than a period.
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

/** Takes a place for one address. Returns false if there is none. */
export const takePlace = async (
  trx: Transaction<Schema>,
  allowance: Allowance,
  address: string,
  at: number,
): Promise<boolean> => (await takePlaces(trx, allowance, [address], at)).length > 0

/** Deletes the places that are free again. */
export async function forgetPlaces(db: Kysely<Schema>, at: number): Promise<void> {
  await db.deleteFrom('seen_once').where('expires_at', '<=', at).execute()
}

const YOUNG_MS = 24 * 3_600_000

/**
 * Returns whether an account began within the last day. The start is the time at which the server
 * stored the first key log entry, because the device chooses the time in the account id.
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
