/** Whether mail can go where it shall go, asked before the first code is lost. */
import { constants } from 'node:fs'
import { access, mkdir } from 'node:fs/promises'
import { StartError } from '../../errors.ts'
import type { MailPlace } from './mail.ts'

/**
 * Make the folder for mail where there is none. A relay may come up later.
 * @throws StartError when no file can be written there
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
