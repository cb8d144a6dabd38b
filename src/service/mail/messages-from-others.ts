/**
 * Letters that the server sends at the request of another person. Text that this person wrote is
 * quoted.
 */
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, quoted, quotedText } from './quoting.ts'

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

someone who calls themselves
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
invites you to a connection that they call
    ${quoted(of.connection)}
on the Countersign account server
    ${of.publicUrl}
${of.message === null ? '' : `They write:\n${quotedText(of.message)}`}People who are connected recognise each other by three words.

Anyone can write any name: ask them whether it was they, by a way that you
know. To answer, sign in to that server with this address, look at the
invitation, and approve or decline it:

    countersignd login --email <this address>
    countersignd invite list

It is good for ${lasting(of.goodForMs)}. If you do not know them, ignore this mail: then nothing
happens.
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

someone who calls themselves
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
invites you to an organisation that they call
    ${quoted(of.organisation)}
on the Countersign account server
    ${of.publicUrl}

Anyone can write any name: ask them whether it was they, by a way that you
know. To become a member, sign in to that server with this address:

    countersignd login --email <this address>

An account that has this address already is a member the next time it renews
its session. The members of an organisation see each other's names and
addresses, and nothing else that you have on the server.

If you do not know them and have no account there, ignore this mail: then
nothing happens.
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

someone, probably you, wrote this address and the name
    ${quoted(of.name)}
into a form on the Countersign account server
    ${of.publicUrl}
by which people ask to be connected with someone who is called
    ${quoted(of.owner)}

If that was you, open this page within ${of.hours} hours and confirm it there:

    ${of.link}

Until then they see nothing of your request. Anyone can write any name, they too.

If it was not you, ignore this mail: then nothing happens.
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

someone who calls themselves
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${addressText(of.fromEmail)}`}
sends you a link by the Countersign account server
    ${of.publicUrl}
It shows three words, new ones every minute. On a call with them you say the
words, and they know that it is you; the page also checks theirs. It takes no
account. The link:

    ${of.link}

Anyone can write any name: ask them whether it was they, by a way that you
know. Anyone with the link can use your words: pass it on to no one, and
delete this mail when you need it no more.

It is good until ${new Date(of.until).toISOString().slice(0, 16).replace('T', ' ')} UTC. If you do not know them, ignore this mail: then
nothing happens.
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
fired: ${of.happened} there ${of.threshold} ${of.threshold === 1 ? 'time' : 'times'} or more
within ${of.minutes} ${of.minutes === 1 ? 'minute' : 'minutes'}. No further mail comes for as long.

You get this mail because an owner or admin of the organisation named you in
the alert. To see what happened:

    countersignd org activity

To get no such mails:

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

an account of ${of.publicUrl} (version ${of.version}) sends feedback.

Account: ${of.account}
Mailbox: ${of.from === null ? 'none' : addressText(of.from)}
Kind:    ${of.category ?? 'not said'}

They write:

${of.message
  .split(/\r\n|[\r\n]/)
  .map((line) => `> ${line}`)
  .join('\n')}
`,
})
