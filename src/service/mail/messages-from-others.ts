/**
 * Letters that the server sends at the request of another person. Text that this person wrote is
 * quoted.
 */
import { ENGLISH, type Language, messageText, timeText } from '../../languages/languages.ts'
import { type LetterAddress, countText, letter, personText } from './letter.ts'
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, quoted, quotedText } from './quoting.ts'

const HOUR_MS = 3_600_000

/**
 * Returns a duration as text: in whole hours, or in whole days if it is two days or more. The
 * duration must be at least one hour.
 */
function lasting(language: Language, ms: number): string {
  const hours = Math.floor(ms / HOUR_MS)
  return hours >= 48
    ? countText(language, 'days', Math.floor(hours / 24))
    : countText(language, 'hours', hours)
}

/**
 * Returns an invitation to a connection. Except for its language, it is the same whether or not the
 * address has an account.
 * @param of `from`, `connection` and `message` were written by the inviter; `fromEmail` is
 *   confirmed, and null for an inviter without a mailbox
 */
export function invitationMessage(
  of: LetterAddress & {
    from: string
    fromEmail: string | null
    connection: string
    message: string | null
    goodForMs: number
  },
): OutgoingLetter {
  const { language } = of.reader
  const { letters, invitationLetter } = language.messages
  return letter(of, invitationLetter, {
    person: personText(language, of.from, of.fromEmail),
    connection: quoted(of.connection, language),
    message:
      of.message === null
        ? ''
        : messageText(language, letters.message, { message: quotedText(of.message) }),
    lifetime: lasting(language, of.goodForMs),
  })
}

/**
 * Returns an invitation to an organisation. Except for its language, it is the same whether or not
 * the address has an account.
 * @param of `from` and `organisation` were written by others; `fromEmail` is confirmed, and null
 *   for an inviter without a mailbox
 */
export function orgInvitationMessage(
  of: LetterAddress & { from: string; fromEmail: string | null; organisation: string },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.orgInvitationLetter, {
    person: personText(language, of.from, of.fromEmail),
    organisation: quoted(of.organisation, language),
  })
}

/**
 * Returns the letter with the link that confirms a request at an open link. Except for its
 * language, it is the same whether or not the address has an account.
 * @param of `name` was written by the requester; `owner` is the display name of the link's owner
 */
export function askedMessage(
  of: LetterAddress & { name: string; owner: string; link: string; hours: number },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.askedLetter, {
    name: quoted(of.name, language),
    owner: quoted(of.owner, language),
    link: of.link,
    hours: countText(language, 'hours', of.hours),
  })
}

/**
 * Returns the letter to the owner of an open link about a new request. It has no link, and does not
 * contain the message of the requester.
 * @param of `name` was written by the requester; `email` is confirmed; `title`: the open link's
 *   title; `waiting`: how many requests wait for an answer, with this one
 */
export function newRequestMessage(
  of: LetterAddress & { name: string; email: string; title: string; waiting: number },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.newRequestLetter, {
    person: personText(language, of.name, of.email),
    title: quoted(of.title, language),
    waiting: countText(language, 'requests', of.waiting),
  })
}

/**
 * Returns the letter with a guest code's link. The link contains the guest's secret, which the
 * server stores nowhere else.
 * @param of `from` was written by the code's owner; `fromEmail` is confirmed, and null for an owner
 *   without a mailbox; `until`: when the code expires, Unix milliseconds
 */
export function guestCodeMessage(
  of: LetterAddress & { from: string; fromEmail: string | null; link: string; until: number },
): OutgoingLetter {
  const { language } = of.reader
  return letter(of, language.messages.guestCodeLetter, {
    person: personText(language, of.from, of.fromEmail),
    link: of.link,
    time: timeText(of.reader, of.until),
  })
}

/**
 * Returns the letter about an organisation's alert that has fired.
 * @param of `organisation` and `alert` are names written by others; `event`: what happened;
 *   `threshold` and `minutes`: the alert's rule
 */
export function orgAlertMessage(
  of: LetterAddress & {
    organisation: string
    alert: string
    event: keyof Language['messages']['alertEvents']
    threshold: number
    minutes: number
  },
): OutgoingLetter {
  const { language } = of.reader
  const { alertEvents, orgAlertLetter } = language.messages
  return letter(of, orgAlertLetter, {
    alert: quoted(of.alert, language),
    organisation: quoted(of.organisation, language),
    happened: alertEvents[of.event],
    times: countText(language, 'times', of.threshold),
    minutes: countText(language, 'minutes', of.minutes),
  })
}

/**
 * Returns a letter with a user's feedback for the operator, in English. The text is unchanged, but
 * each line is marked.
 * @param of `from` is confirmed, and null for a sender without a mailbox; `message` was written by
 *   the sender
 */
export const feedbackMessage = (of: {
  to: string
  from: string | null
  account: string
  category: string | null
  message: string
  version: string
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  language: ENGLISH.tag,
  subject: `Feedback${of.category === null ? '' : ` (${of.category})`} at ${hostOf(of.publicUrl)}`,
  text: `Hello,

an account of ${of.publicUrl} (version ${of.version}) sent feedback.

Account: ${of.account}
Mailbox: ${of.from === null ? 'none' : addressText(of.from)}
Kind:    ${of.category ?? 'not given'}

The feedback:

${of.message
  .split(/\r\n|[\r\n]/)
  .map((line) => `> ${line}`)
  .join('\n')}
`,
})
