import type { SendMailOptions } from 'nodemailer'
import { waitingMails } from './mail-counts.ts'

export interface OutgoingLetter {
  /** The recipient, exactly one address. */
  readonly to: string
  /** The language tag of the letter. */
  readonly language: string
  readonly subject: string
  readonly text: string
}

export interface Mail {
  /** Whether a relay gets the messages. Otherwise they are files on this machine. */
  readonly isRelayed: boolean
  /**
   * Sends a message.
   * @throws AppError `backend_unavailable` if a relay cannot accept it now, `backend_error` if it
   *   rejects it permanently; and the errors of node:fs
   */
  send(message: OutgoingLetter): Promise<void>
}

export type MailSender = Pick<Mail, 'send'>

/**
 * Returns a message for the mail library. The address is passed as an object, so that the library
 * does not parse it as a list of addresses.
 */
export const composed = (
  { to, language, subject, text }: OutgoingLetter,
  from: string,
  now: number,
): SendMailOptions => ({
  from,
  to: { name: '', address: to },
  subject,
  text,
  date: new Date(now),
  headers: {
    // Prevents automatic replies (RFC 3834 section 5).
    'Auto-Submitted': 'auto-generated',
    'Content-Language': language,
  },
  disableFileAccess: true,
  disableUrlAccess: true,
})

/**
 * Sends letters, one after the other. If some fail, it still sends the others, and then throws the
 * first error.
 */
export async function sendAll(mail: Mail, letters: readonly OutgoingLetter[]): Promise<void> {
  const failed: unknown[] = []
  const begun = waitingMails(letters.length)
  for (const letter of letters) {
    begun()
    await mail.send(letter).catch((error: unknown) => void failed.push(error))
  }
  if (failed.length > 0) throw failed[0]
}
