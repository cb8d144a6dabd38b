/** Mail as files (RFC 5322), one each, for an operator without a relay and for whoever tries this out. They hold codes. */
import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { newId } from '../../crypto/encoding/id.ts'
import { composed, type Mail } from './mailer.ts'

/** Sorts by time, also within a millisecond. */
const nameAt = (now: number) =>
  `${new Date(now).toISOString().replace(/[:.]/g, '-')}-${newId('', now)}.eml`

/** The folder is made when there is something to put in; a file appears there whole. */
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
