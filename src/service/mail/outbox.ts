/** Letters that lie in the folder of outgoing mail and are not to lie there any longer. */
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing } from '../../keychain/private-file.ts'
import type { MailPlace } from './mail.ts'

/** To whom a letter is, as `composed` writes it (RFC 5322 section 3.6.3): one address, in lower case. */
const recipientOf = (letter: string): string | null =>
  /^to:\s*<?([^\s<>]+)>?\s*$/im.exec(letter.split('\r\n\r\n', 1)[0]!)?.[1]?.toLowerCase() ?? null

/** As letters are named (see `mailToFiles`): what else lies in the folder is somebody else's. */
const NAME = /^[\dTZ-]{24}-[\da-z]{26}\.eml$/

/**
 * Delete the letters to these addresses; what a relay was given is not here any more.
 * @param addresses in lower case; null for all, since whoever wrote them is gone
 * @throws what node:fs throws
 */
export async function forgetLetters(
  place: MailPlace,
  addresses: readonly string[] | null,
): Promise<void> {
  if (!('dir' in place) || addresses?.length === 0) return
  const names = await readdir(place.dir).catch((error: unknown) => {
    // No letter was ever written.
    if (isMissing(error)) return []
    throw error
  })
  for (const name of names.filter((one) => NAME.test(one))) {
    const path = join(place.dir, name)
    // Somebody may take a letter away meanwhile, to send it.
    const to = addresses === null ? null : recipientOf(await readFile(path, 'utf8').catch(() => ''))
    if (to === null ? addresses === null : addresses?.includes(to)) await rm(path, { force: true })
  }
}
