/**
 * How many mails of a kind go to one mailbox in a while, whoever has them sent: strangers name it, and whoever reads it has not said
 * yet that they want any. Each mail takes one of so many places, which is free again when the while is over; that mailbox is kept as a
 * hash, among what replicas note once.
 */
import { hash } from 'node:crypto'
import type { Kysely, Transaction } from 'kysely'
import type { Schema } from './schema.ts'

export interface Allowance {
  /** What the mails are about. */
  readonly what: string
  readonly most: number
  readonly periodMs: number
}

/**
 * Take a place in a transaction: it is taken as far as that is kept. Answers false when there is none.
 * @param address in lower case
 * @param at Unix milliseconds
 */
export async function takePlace(
  trx: Transaction<Schema>,
  { what, most, periodMs }: Allowance,
  address: string,
  at: number,
): Promise<boolean> {
  const mailbox = hash('sha256', `${what} ${address}`, 'hex')
  // Always from the first on: whoever waits for a place holds none that another waits for.
  for (let place = 0; place < most; place++) {
    const expires_at = at + periodMs
    const { numInsertedOrUpdatedRows: taken } = await trx
      .insertInto('seen_once')
      .values({ id: `${what} ${mailbox} ${place}`, expires_at })
      .onConflict((conflict) =>
        conflict.column('id').doUpdateSet({ expires_at }).where('seen_once.expires_at', '<=', at),
      )
      .executeTakeFirstOrThrow()
    if (taken === 1n) return true
  }
  return false
}

/** Forget the places that are free again. */
export async function forgetPlaces(db: Kysely<Schema>, at: number): Promise<void> {
  await db.deleteFrom('seen_once').where('expires_at', '<=', at).execute()
}
