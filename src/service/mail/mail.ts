/**
 * Outgoing mail: to files in a folder, or through the operator's relay. The mail library is
 * loaded for the first message.
 */
import type { Mail } from './mailer.ts'
import { relayOf } from '../../config/relay.ts'

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
