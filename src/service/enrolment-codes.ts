/**
 * Enrolment codes: proof that a person may have an account here. Sixteen characters; four name the code, so that wrong guesses
 * are counted against it, and twelve (60 bits) prove it, too many to be found from the hash while the code lives. Five
 * presentations in all, right or wrong. A code serves one account: the one it was made for, else the first that used it.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import { AppError } from '../errors.ts'
import type { Ground } from './ground.ts'
import type { Schema } from './schema.ts'

const LIFETIME_MS = 15 * 60_000
const TRIES = 5
const LOCATOR = 4
const LENGTH = 16

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const FORM = new RegExp(`^[${ALPHABET}]{${LENGTH}}$`)

const hashed = (text: string) => hash('sha256', text, 'hex')
const randomText = () =>
  Array.from(randomBytes(LENGTH), (byte) => ALPHABET.charAt(byte & 31)).join('')

/** As typed by people: any case, with or without hyphens, and the letters that look like digits (Crockford base32). */
const normal = (code: string) =>
  code.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')

const refused = () =>
  new AppError('invalid_token', 'This enrolment code is wrong, used or expired: ask for a new one.')

/**
 * Make a code. A power of the operator; whoever holds the code may enrol.
 * @param account the only account it serves; without one, the first that uses it
 */
export async function newEnrolmentCode(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  account: string | null,
): Promise<string> {
  const at = now()
  await db.deleteFrom('enrolment_codes').where('expires_at', '<=', at).execute()
  for (;;) {
    const text = randomText()
    const { numInsertedOrUpdatedRows: made } = await db
      .insertInto('enrolment_codes')
      .values({
        locator: text.slice(0, LOCATOR),
        secret_hash: hashed(text.slice(LOCATOR)),
        account_id: account,
        tries: 0,
        expires_at: at + LIFETIME_MS,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    // Another live code may have the same name.
    if (made === 1n) return text.replace(/(.{4})(?!$)/g, '$1-')
  }
}

/**
 * Count one presentation of a code and check it. Answers its locator. Throws AppError `invalid_token`.
 * Not inside the caller's transaction: a roll-back there must not give the try back.
 */
export async function presentCode(
  { db, now }: Pick<Ground, 'db' | 'now'>,
  code: string,
): Promise<string> {
  const text = normal(code)
  if (!FORM.test(text)) throw refused()
  const locator = text.slice(0, LOCATOR)
  const row = await db
    .updateTable('enrolment_codes')
    .set((fields) => ({ tries: fields('tries', '+', 1) }))
    .where('locator', '=', locator)
    .where('tries', '<', TRIES)
    .where('expires_at', '>', now())
    .returning('secret_hash')
    .executeTakeFirst()
  if (row?.secret_hash !== hashed(text.slice(LOCATOR))) throw refused()
  return locator
}

/**
 * Bind a presented code to the account that uses it. Answers whether it was that account's before: only then may it open an
 * account that exists. Throws AppError `invalid_token` when it serves another.
 */
export async function bindCode(
  db: Kysely<Schema>,
  locator: string,
  account: string,
): Promise<boolean> {
  const { numUpdatedRows: bound } = await db
    .updateTable('enrolment_codes')
    .set({ account_id: account })
    .where('locator', '=', locator)
    .where('account_id', 'is', null)
    .executeTakeFirst()
  if (bound === 1n) return false
  const row = await db
    .selectFrom('enrolment_codes')
    .select('account_id')
    .where('locator', '=', locator)
    .executeTakeFirst()
  if (row?.account_id !== account) throw refused()
  return true
}
