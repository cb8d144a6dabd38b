/** Deletes letters from the folder of outgoing mail. */
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../keychain/private-file.ts'
import type { MailPlace } from './mail.ts'

/**
 * Returns the recipient of a letter as `composed` writes it: one address, in lower case.
 * @see RFC 5322 section 3.6.3
 */
const recipientOf = (letter: string): string | null =>
  /^to:\s*<?([^\s<>]+)>?\s*$/im.exec(letter.split('\r\n\r\n', 1)[0]!)?.[1]?.toLowerCase() ?? null

/** The file names of letters (see `mailToFiles`). Other files in the folder are left alone. */
const NAME = /^[\dTZ-]{24}-[\da-z]{26}\.eml$/

/**
 * Deletes the letters to these addresses. Letters that a relay accepted are out of reach.
 * @param addresses in lower case; null for all letters, if no account is left
 * @throws the errors of node:fs
 */
export async function forgetLetters(
  place: MailPlace,
  addresses: readonly string[] | null,
): Promise<void> {
  if (!('dir' in place) || addresses?.length === 0) return
  const names = await readdir(place.dir).catch((error: unknown) => {
    // No letter was written yet.
    if (isMissing(error)) return []
    throw error
  })
  for (const name of names.filter((one) => NAME.test(one))) {
    const path = join(place.dir, name)
    // Another program may move a letter away at the same time, to send it.
    const to = addresses === null ? null : recipientOf(await readFile(path, 'utf8').catch(() => ''))
    if (to === null ? addresses === null : addresses?.includes(to)) await rm(path, { force: true })
  }
}
