/**
 * Letters that the server sends at the request of another person. Text that this person wrote is
 * quoted.
 */
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, minuteText, quoted, quotedText } from './quoting.ts'

const HOUR_MS = 3_600_000

/**
 * Returns a duration as text: in whole hours, or in whole days if it is two days or more. The
 * duration must be at least one hour.
 */
function lasting(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS)
  if (hours >= 48) return `${Math.floor(hours / 24)} days`
  return hours === 1 ? '1 hour' : `${hours} hours`
}

/**
 * Returns an invitation to a connection. The text is the same whether or not the address has an
 * account.
 * @param of `from`, `connection` and `message` were written by the inviter; `fromEmail` is
 *   confirmed, and null for an inviter without a mailbox
 */
export const invitationMessage = (of: {
  to: string
  from: string
  fromEmail: string | null
  connection: string
  message: string | null
  goodForMs: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `An invitation to connect at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a person who uses the name
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
invites you to the connection
    ${quoted(of.connection)}
on the Countersign account server
    ${of.publicUrl}
${of.message === null ? '' : `Their message:\n${quotedText(of.message)}`}People in a connection recognise each other by three words.

Anyone can use any name. Ask this person whether they invited you, in a way
that you already trust. To answer, sign in to that server with this address,
look at the invitation, and approve or decline it:

    countersignd login --email <this address>
    countersignd invite list

The invitation is valid for ${lasting(of.goodForMs)}. If you do not know this person, ignore
this mail. Then nothing happens.
`,
})

/**
 * Returns an invitation to an organisation. The text is the same whether or not the address has an
 * account.
 * @param of `from` and `organisation` were written by others; `fromEmail` is confirmed, and null
 *   for an inviter without a mailbox
 */
export const orgInvitationMessage = (of: {
  to: string
  from: string
  fromEmail: string | null
  organisation: string
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `An invitation to an organisation at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a person who uses the name
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
invites you to an organisation with the name
    ${quoted(of.organisation)}
on the Countersign account server
    ${of.publicUrl}

Anyone can use any name. Ask this person whether they invited you, in a way
that you already trust. To become a member, sign in to that server with this
address:

    countersignd login --email <this address>

If an account already has this address, it becomes a member the next time it
renews its session. The members of an organisation see each other's names and
addresses. They see nothing else that you have on the server.

If you do not know this person and have no account there, ignore this mail.
Then nothing happens.
`,
})

/**
 * Returns the letter with the link that confirms a request at an open link. The text is the same
 * whether or not the address has an account.
 * @param of `name` was written by the requester; `owner` is the display name of the link's owner
 */
export const askedMessage = (of: {
  to: string
  name: string
  owner: string
  link: string
  hours: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `Confirm your request at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a person, probably you, entered this address and the name
    ${quoted(of.name)}
in a form on the Countersign account server
    ${of.publicUrl}
The form asks for a connection with a person who uses the name
    ${quoted(of.owner)}

If that was you, open this page within ${of.hours} hours and confirm your request there:

    ${of.link}

Until you confirm it, the other person does not see your request. Anyone can use
any name, and so can the other person.

If it was not you, ignore this mail. Then nothing happens.
`,
})

/**
 * Returns the letter to the owner of an open link about a new request. It has no link, and does not
 * contain the message of the requester.
 * @param of `name` was written by the requester; `email` is confirmed; `title`: the open link's
 *   title; `waiting`: how many requests wait for an answer, with this one
 */
export const newRequestMessage = (of: {
  to: string
  name: string
  email: string
  title: string
  waiting: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A request to connect at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a person who uses the name
    ${quoted(of.name)}
    ${addressText(of.email)}
asks to connect with you. The person used your open link
    ${quoted(of.title)}
on the Countersign account server
    ${of.publicUrl}

The mailbox is confirmed. The name is not: anyone can use any name.
${of.waiting === 1 ? '1 request waits' : `${of.waiting} requests wait`} for your answer. To read and answer requests, use a device
that is signed in:

    countersignd link requests

You get at most one of these mails an hour, also if there are more requests.
To turn these mails off:

    countersignd preferences set --email-notifications off
`,
})

/**
 * Returns the letter with a guest code's link. The link contains the guest's secret, which the
 * server stores nowhere else.
 * @param of `from` was written by the code's owner; `fromEmail` is confirmed, and null for an owner
 *   without a mailbox; `until`: when the code expires, Unix milliseconds
 */
export const guestCodeMessage = (of: {
  to: string
  from: string
  fromEmail: string | null
  link: string
  until: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A link for you at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a person who uses the name
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
sends you a link through the Countersign account server
    ${of.publicUrl}
The link opens a page with three words, which change every minute. On a call
with this person you read out the words, and the person knows that it is you.
The page also checks the words of the person. You need no account. The link:

    ${of.link}

Anyone can use any name. Ask this person whether they sent the link, in a way
that you already trust. Anyone who has the link can use your words. Do not pass
it on, and delete this mail when you no longer need it.

The link is valid until ${minuteText(of.until)}. If you do not know this person,
ignore this mail. Then nothing happens.
`,
})

/**
 * Returns the letter about an organisation's alert that has fired.
 * @param of `organisation` and `alert` are names written by others; `happened`: the server's
 *   description of the event; `threshold` and `minutes`: the alert's rule
 */
export const orgAlertMessage = (of: {
  to: string
  organisation: string
  alert: string
  happened: string
  threshold: number
  minutes: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `An alert at ${hostOf(of.publicUrl)}`,
  text: `Hello,

the alert
    ${quoted(of.alert)}
of the organisation
    ${quoted(of.organisation)}
on the Countersign account server
    ${of.publicUrl}
fired, because ${of.happened} there ${of.threshold} ${of.threshold === 1 ? 'time' : 'times'} or more
within ${of.minutes} ${of.minutes === 1 ? 'minute' : 'minutes'}. The next mail about this alert comes ${of.minutes} ${of.minutes === 1 ? 'minute' : 'minutes'}
later at the earliest.

You get this mail because an owner or admin of the organisation added you to
the alert. To see what happened:

    countersignd org activity

To turn these mails off:

    countersignd preferences set --email-notifications off
`,
})

/**
 * Returns a letter with a user's feedback for the operator. The text is unchanged, but each line is
 * marked.
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
