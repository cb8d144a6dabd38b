import type { SendMailOptions } from 'nodemailer'

export interface Message {
  /** One address. */
  readonly to: string
  readonly subject: string
  readonly text: string
}

export interface Mail {
  /**
   * @throws AppError `backend_unavailable` when a relay does not take it now, `backend_error` when it never will; and what node:fs
   * throws
   */
  send(message: Message): Promise<void>
}

/** A message as the library composes it. The address is given apart, so that nothing in it is read as a list of them. */
export const composed = (
  { to, subject, text }: Message,
  from: string,
  now: number,
): SendMailOptions => ({
  from,
  to: { name: '', address: to },
  subject,
  text,
  date: new Date(now),
  // RFC 3834 section 5: nobody's holiday notice should answer.
  headers: { 'Auto-Submitted': 'auto-generated' },
  disableFileAccess: true,
  disableUrlAccess: true,
})

/** Sends letters, one after the other. After a failure it sends the others, then throws the first error. */
export async function sendAll(mail: Mail, letters: readonly Message[]): Promise<void> {
  const failed: unknown[] = []
  for (const letter of letters)
    await mail.send(letter).catch((error: unknown) => void failed.push(error))
  if (failed.length > 0) throw failed[0]
}
