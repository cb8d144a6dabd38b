/** What the server writes to people. A subject is shown on locked screens, so no code is in one. */
import type { Message } from './mail.ts'

const hostOf = (publicUrl: string) => new URL(publicUrl).host

/** The code of a sign-in. It reads the same whether the address has an account or not. */
export const codeMessage = (of: {
  to: string
  code: string
  minutes: number
  publicUrl: string
}): Message => ({
  to: of.to,
  subject: `Your sign-in code for ${hostOf(of.publicUrl)}`,
  text: `Hello,

somebody, probably you, is signing in to the Countersign account server
${of.publicUrl} with this address. The code is:

    ${of.code}

Type it on the device where you began. It works for ${of.minutes} minutes and for one
device. Tell it to nobody: whoever asks you for it wants to sign in as you.

If it was not you, ignore this mail: without the code nothing happens.
`,
})

/** The most of a name that goes into a mail. */
const LONGEST_NAME = 60

/** What somebody wrote, in somebody else's mailbox: one line, not long, and nothing that a mail program makes a link of. */
function quoted(text: string): string {
  const line = text
    .toWellFormed()
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, ' ')
    .replaceAll(/["<>]/g, "'")
    .replaceAll(/[.:/@\\](?=\S)/g, '$& ')
    .trim()
  const characters = Array.from(line)
  return characters.length <= LONGEST_NAME
    ? `"${line}"`
    : `"${characters.slice(0, LONGEST_NAME - 1).join('')}…"`
}

/**
 * An invitation to a connection. It reads the same whether the address has an account or not.
 * @param of `from` and `connection` are what the inviter wrote; `fromEmail` is proven, null for somebody without a mailbox
 */
export const invitationMessage = (of: {
  to: string
  from: string
  fromEmail: string | null
  connection: string
  days: number
  publicUrl: string
}): Message => ({
  to: of.to,
  subject: `An invitation to connect at ${hostOf(of.publicUrl)}`,
  text: `Hello,

somebody who calls themselves
    ${quoted(of.from)}${of.fromEmail === null ? '' : `\n    ${of.fromEmail}`}
invites you to a connection that they call
    ${quoted(of.connection)}
on the Countersign account server
    ${of.publicUrl}
People who are connected recognise each other by three words.

Anybody can write any name: ask them whether it was they, by a way that you
know. To answer, sign in to that server with this address, look at the
invitation, and approve or decline it:

    countersignd login --email <this address>
    countersignd invite list

It is good for ${of.days} days. If you do not know them, ignore this mail: then nothing
happens.
`,
})

/** After a further device was added to the key log. */
export const deviceAddedMessage = (of: {
  to: string
  deviceName: string
  publicUrl: string
}): Message => ({
  to: of.to,
  subject: `A new device on your account at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a new device, "${of.deviceName}", was added to your account at
${of.publicUrl}. Another device of yours approved it.

If that was you, there is nothing to do.

If it was not, revoke it at once on a device that you trust:

    countersignd device list
    countersignd device revoke <the device>
`,
})

/** After every device was replaced. */
export const resetMessage = (of: {
  to: string
  deviceName: string
  publicUrl: string
}): Message => ({
  to: of.to,
  subject: `All devices of your account at ${hostOf(of.publicUrl)} were replaced`,
  text: `Hello,

all devices of your account at ${of.publicUrl}
were replaced by a new one, "${of.deviceName}". Whoever did it had a sign-in
code. The earlier devices are signed out, and the people you are connected
with are asked to confirm you anew.

If that was you, there is nothing to do.

If it was not, somebody may read your mail. Make your mailbox safe first, with
a new password; then take the account back:

    countersignd reset --email ${of.to}
`,
})
