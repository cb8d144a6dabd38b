/**
 * Outgoing mail: to files in a folder, or through the operator's relay. The mail library is loaded
 * for the first message. The folder is checked at the start, before a code could be lost.
 */
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { relayOf } from '../../config/relay.ts'
import { StartError } from '../../errors.ts'
import { isMissing } from '../../keychain/private-file.ts'
import type { Mail } from './mailer.ts'

/**
 * The destination of mail: a folder, or the URL of a relay, which may contain a password.
 * @see relayOf
 */
export type MailPlace = { readonly dir: string } | { readonly smtp: string }

/**
 * Returns the mail service for a destination.
 * @param of `from`: the sender, an address or `Name <address>`; `now` returns Unix milliseconds
 */
export function openMail(of: { place: MailPlace; from: string; now: () => number }): Mail {
  const { place, from, now } = of
  let opened: Promise<Mail> | null = null
  const open = async (): Promise<Mail> =>
    'dir' in place
      ? (await import('./files.ts')).mailToFiles({ dir: place.dir, from, now })
      : (await import('./smtp.ts')).mailBySmtp({ relay: relayOf(place.smtp), from, now })
  return { send: async (message) => (await (opened ??= open())).send(message) }
}

/**
 * Creates the folder for mail if it is missing. A relay is not checked, since it may start later.
 * @throws StartError if no file can be written there
 */
export async function prepareMail(place: MailPlace): Promise<void> {
  if (!('dir' in place)) return
  try {
    await mkdir(place.dir, { recursive: true, mode: 0o700 })
    await access(place.dir, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    throw new StartError(
      'configuration',
      `Mail cannot be written to ${place.dir} (${code}): set SVC_MAIL_DIR to a folder that this user may write, or SVC_SMTP_URL to a relay.`,
      cause,
    )
  }
}

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
