/**
 * How many mails of a kind go to one mailbox in a while, whoever has them sent: strangers name it, and whoever reads it has not said
 * yet that they want any. Each mail takes one of so many places, which is free again when the while is over; that mailbox is kept as a
 * hash, among what replicas note once.
 */
import { hash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import { mailboxOf } from './mailboxes.ts'
import type { Schema } from '../db/schema.ts'

export interface Allowance {
  /** What the mails are about. */
  readonly what: string
  readonly most: number
  readonly periodMs: number
}

/**
 * Take a place for each of some addresses in a transaction: they are taken as far as that is kept.
 * Addresses of one mailbox share its places.
 * @param addresses in lower case, each once
 * @param at Unix milliseconds
 * @returns those that there was a place for
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
  // Always from the first on, and in one order: whoever waits for a place holds none that another waits for.
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

/** The same for one address. Answers false when there is no place. */
export const takePlace = async (
  trx: Transaction<Schema>,
  allowance: Allowance,
  address: string,
  at: number,
): Promise<boolean> => (await takePlaces(trx, allowance, [address], at)).length > 0

/** Forget the places that are free again. */
export async function forgetPlaces(db: Kysely<Schema>, at: number): Promise<void> {
  await db.deleteFrom('seen_once').where('expires_at', '<=', at).execute()
}
