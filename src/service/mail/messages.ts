/**
 * Letters to people about their own account. Subjects are visible on lock screens, so no subject
 * contains a code.
 */
import { timeText } from '../../languages/languages.ts'
import { type LetterAddress, countText, letter, personText } from './letter.ts'
import type { OutgoingLetter } from './mailer.ts'
import { addressText, quoted } from './quoting.ts'

/** Returns the letter with a sign-in code. Except for its language, it is the same for all. */
export function codeMessage(of: LetterAddress & { code: string; minutes: number }): OutgoingLetter {
  const { language } = of.reader
  const minutes = countText(language, 'minutes', of.minutes)
  return letter(of, language.messages.codeLetter, { code: of.code, minutes })
}

/** Returns the letter after an additional device was added to the key log. */
export function deviceAddedMessage(of: LetterAddress & { deviceName: string }): OutgoingLetter {
  const { language } = of.reader
  const device = quoted(of.deviceName, language)
  return letter(of, language.messages.deviceAddedLetter, { device })
}

/** Returns the letter after a device set a recovery key. */
export function recoveryKeyMessage(of: LetterAddress & { deviceName: string }): OutgoingLetter {
  const { language } = of.reader
  const device = quoted(of.deviceName, language)
  return letter(of, language.messages.recoveryKeyLetter, { device })
}

/**
 * Returns the letter after a reset replaced all devices.
 * @param of `withKey`: whether a recovery key signed the reset
 */
export function resetMessage(
  of: LetterAddress & { deviceName: string; withKey: boolean },
): OutgoingLetter {
  const { language } = of.reader
  const { letters, resetLetter } = language.messages
  const device = quoted(of.deviceName, language)
  return letter(of, resetLetter, {
    device,
    recovery: of.withKey ? letters.withKey : letters.withoutKey,
  })
}

/**
 * Returns the letter with the link that confirms an address. The text is the same whether or not
 * the address has an account.
 * @param of `name` was written by the account's owner; `primary` is confirmed, and null for an
 *   account without a mailbox
 */
export function confirmAddressMessage(
  of: LetterAddress & { name: string; primary: string | null; link: string; hours: number },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.confirmAddressLetter, {
    person: personText(language, of.name, of.primary),
    link: of.link,
    hours: countText(language, 'hours', of.hours),
  })
}

/** Returns the letter after another address was added to an account. */
export function emailAddedMessage(of: LetterAddress & { address: string }): OutgoingLetter {
  const { language } = of.reader
  const address = addressText(of.address, language)
  return letter(of, language.messages.emailAddedLetter, { address })
}

/**
 * Returns the letter after a device gave a webhook up.
 * @param of `name`: the webhook's name or host; `on`: the name of the device; `since`: when the
 *   first attempt failed, Unix milliseconds
 */
export function webhookMessage(
  of: LetterAddress & { name: string; webhook: string; on: string; since: number },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.webhookLetter, {
    device: quoted(of.on, language),
    name: quoted(of.name, language),
    time: timeText(of.reader, of.since),
    webhook: of.webhook,
  })
}
