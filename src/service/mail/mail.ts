/** Outgoing mail: a file each in a folder, or through the operator's relay. The library is loaded when the first is sent. */
import type { Mail } from './mailer.ts'
import { relayOf } from '../../config/relay.ts'

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
