/**
 * Outgoing mail, written to files in a folder or sent through the operator's relay. The mail
 * library is loaded when the first message is sent. The folder is checked when the server starts,
 * so that no code is lost because it is not writable.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { relayOf } from '../../config/relay.ts'
import { newId } from '../../crypto/encoding/id.ts'
import { StartError } from '../../errors.ts'
import { isMissing } from '../../keychain/private-file.ts'
import { countedMail } from './mail-counts.ts'
import { composed, type Mail, type MailSender } from './mailer.ts'

/** Returns a file name. Names sort by time, also within one millisecond. */
const nameAt = (now: number) =>
  `${new Date(now).toISOString().replace(/[:.]/g, '-')}-${newId('', now)}.eml`

/**
 * Returns a mail service that writes each message to a file (RFC 5322). It is for operators without
 * a relay, and for trials. The files contain codes, so only their owner can read them. The folder
 * is created for the first message. A file appears under its name only when it is complete.
 */
async function mailToFiles(of: {
  dir: string
  from: string
  now: () => number
}): Promise<MailSender> {
  const { createTransport } = await import('nodemailer')
  const { dir, from, now } = of
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    send: async (message) => {
      const at = now()
      const { message: bytes } = await composer.sendMail(composed(message, from, at))
      await mkdir(dir, { recursive: true, mode: 0o700 })
      const draft = join(dir, `.${randomBytes(8).toString('hex')}.tmp`)
      try {
        await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' })
        await rename(draft, join(dir, nameAt(at)))
      } catch (error) {
        await rm(draft, { force: true })
        throw error
      }
    },
  }
}

/**
 * Where mail goes: to a folder, or to the relay with this URL, which may contain a password.
 * @see relayOf
 */
export type MailPlace = { readonly dir: string } | { readonly smtp: string }

/**
 * Returns the mail service for a destination.
 * @param of `from`: the sender, an address or `Name <address>`; `now` returns Unix milliseconds
 */
export function openMail(of: { place: MailPlace; from: string; now: () => number }): Mail {
  const { place, from, now } = of
  let opened: Promise<MailSender> | null = null
  const open = async (): Promise<MailSender> =>
    'dir' in place
      ? mailToFiles({ dir: place.dir, from, now })
      : (await import('./smtp.ts')).mailBySmtp({ relay: relayOf(place.smtp), from, now })
  return {
    isRelayed: 'smtp' in place,
    send: (message) => countedMail(async () => (await (opened ??= open())).send(message)),
  }
}

/**
 * Creates the folder for mail if it is missing. A relay is not checked, because it may start later
 * than this server.
 * @throws StartError if the folder is not writable
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
      `Mail cannot be written to ${place.dir} (${code}). Set SVC_MAIL_DIR to a folder that this user may write, or SVC_SMTP_URL to a relay.`,
      cause,
    )
  }
}

/**
 * Returns the recipient of a stored letter, in lower case; null if there is none.
 * @see RFC 5322 section 3.6.3
 */
const recipientOf = (letter: string): string | null =>
  /^to:\s*<?([^\s<>]+)>?\s*$/im.exec(letter.split('\r\n\r\n', 1)[0]!)?.[1]?.toLowerCase() ?? null

/** The file names of letters (see `nameAt`). Other files in the folder are not touched. */
const NAME = /^[\dTZ-]{24}-[\da-z]{26}\.eml$/

/**
 * Deletes the stored letters to these addresses. Letters that were sent through a relay cannot be
 * deleted.
 * @param addresses the addresses, in lower case; null to delete all letters
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
    // The letter may no longer exist, because another program may have moved it in order to send
    // it.
    const to = addresses === null ? null : recipientOf(await readFile(path, 'utf8').catch(() => ''))
    if (to === null ? addresses === null : addresses?.includes(to)) await rm(path, { force: true })
  }
}
