/**
 * Mail as files (RFC 5322), one per message, for operators without a relay and for trials. The
 * files contain codes.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { newId } from '../../crypto/encoding/id.ts'
import { composed, type Mail } from './mailer.ts'

/** Returns a file name that sorts by time, also within a millisecond. */
const nameAt = (now: number) =>
  `${new Date(now).toISOString().replace(/[:.]/g, '-')}-${newId('', now)}.eml`

/**
 * Returns a mail service that writes each message to a file. It creates the folder for the first
 * message, and a file appears only when it is complete.
 */
export function mailToFiles(of: { dir: string; from: string; now: () => number }): Mail {
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
