/** Outgoing mail: a file each in a folder, or through the operator's relay. The library is loaded when the first is sent. */
import type { SendMailOptions } from 'nodemailer'
import { relayOf } from '../../config/relay.ts'

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

/** Where mail goes: a folder, or the URL of a relay (see `relayOf`), which may hold a password. */
export type MailPlace = { readonly dir: string } | { readonly smtp: string }

/**
 * @param of `from`: the sender, an address or `Name <address>`; `now` gives Unix milliseconds
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
