/** The language and the time zone of letters, by the preferences of their recipients. */
import type { Kysely } from 'kysely'
import { ANY_READER, languageFor, type ReaderPreferences } from '../../languages/languages.ts'
import type { Schema } from '../db/schema.ts'

/** The columns of preferences that letters follow. Null means not chosen. */
type Chosen = { readonly locale: string | null; readonly time_zone: string | null }

/**
 * Returns how a recipient with these preferences reads.
 * @param otherwise what applies if the recipient has not chosen a language or a time zone
 */
export const readerWith = (
  chosen: Chosen | undefined,
  otherwise: ReaderPreferences = ANY_READER,
): ReaderPreferences => ({
  language: languageFor(chosen?.locale ?? '') ?? otherwise.language,
  timeZone: chosen?.time_zone ?? otherwise.timeZone,
})

/** Returns how an account's owner reads. */
export async function readerOf(db: Kysely<Schema>, account: string): Promise<ReaderPreferences> {
  const chosen = await db
    .selectFrom('preferences')
    .select(['locale', 'time_zone'])
    .where('account_id', '=', account)
    .executeTakeFirst()
  return readerWith(chosen)
}

/**
 * Returns how the recipient at an address reads.
 * @param address the address, in lower case
 * @param otherwise what applies if no account has the address, or its owner has not chosen
 */
export async function readerAt(
  db: Kysely<Schema>,
  address: string,
  otherwise: ReaderPreferences,
): Promise<ReaderPreferences> {
  const chosen = await db
    .selectFrom('emails')
    .innerJoin('preferences', 'preferences.account_id', 'emails.account_id')
    .select(['locale', 'time_zone'])
    .where('address', '=', address)
    .executeTakeFirst()
  return readerWith(chosen, otherwise)
}
