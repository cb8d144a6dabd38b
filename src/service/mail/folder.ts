/** Checks the destination of mail at the start, before a code could be lost. */
import { constants } from 'node:fs'
import { access, mkdir } from 'node:fs/promises'
import { StartError } from '../../errors.ts'
import type { MailPlace } from './mail.ts'

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
