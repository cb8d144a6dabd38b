/**
 * Letters to people about their own account. Subjects are visible on lock screens, so no subject
 * contains a code.
 */
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, quoted } from './quoting.ts'

/**
 * Returns the letter with a sign-in code. The text is the same whether or not the address has an
 * account.
 */
export const codeMessage = (of: {
  to: string
  code: string
  minutes: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `Your sign-in code for ${hostOf(of.publicUrl)}`,
  text: `Hello,

someone, probably you, is signing in to the Countersign account server
${of.publicUrl} with this address. The code is:

    ${of.code}

Type it on the device where you began. It works for ${of.minutes} minutes and for one
device. Give it to no one: a person who asks for it wants to
sign in as you.

If it was not you, ignore this mail: without the code nothing happens.
`,
})

/** Returns the letter after an additional device was added to the key log. */
export const deviceAddedMessage = (of: {
  to: string
  deviceName: string
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A new device on your account at ${hostOf(of.publicUrl)}`,
  text: `Hello,

a new device, ${quoted(of.deviceName)},
was added to your account at
${of.publicUrl}. Another device of yours approved it.

If that was you, there is nothing to do.

If it was not, revoke it at once on a device that you trust:

    countersignd device list
    countersignd device revoke <the device>
`,
})

/** Returns the letter after a device set a recovery key. */
export const recoveryKeyMessage = (of: {
  to: string
  deviceName: string
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A new recovery key for your account at ${hostOf(of.publicUrl)}`,
  text: `Hello,

the device ${quoted(of.deviceName)}
made a recovery key for your account at
${of.publicUrl}. A person with its 24 words and
this mailbox can replace all your devices, and your contacts accept that.

If that was you, there is nothing to do.

If it was not, reset the account on a device that you trust, without a
recovery key. To revoke the device is not enough: the key stays in force.

    countersignd reset --email <this address>

Then compare the safety number with each contact: until they confirm your new
keys, they accept a reset with those words.
`,
})

/** Returns the letter after a reset replaced all devices. */
export const resetMessage = (of: {
  to: string
  deviceName: string
  /** Whether a recovery key signed the reset. */
  withKey: boolean
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `All devices of your account at ${hostOf(of.publicUrl)} were replaced`,
  text: `Hello,

all devices of your account at ${of.publicUrl}
were replaced by a new one, ${quoted(of.deviceName)}.
That took a sign-in code${
    of.withKey
      ? ` and the words of a recovery key of yours.
The earlier devices are signed out. People who know you by keys that those
words vouch for need not confirm you again; all others have to.`
      : `. The earlier devices are signed out, and the
people you are connected with are asked to confirm you anew.`
  }

If that was you, there is nothing to do.

If it was not, a thief may read your mail. Make your mailbox safe first, with
a new password; then take the account back:

    countersignd reset --email <this address>

With the 24 words of your recovery key, add --recovery-key.
`,
})

/**
 * Returns the letter with the link that confirms an address. The text is the same whether or not
 * the address has an account.
 * @param of `name` was written by the account's owner; `primary` is confirmed, and null for an
 *   account without a mailbox
 */
export const confirmAddressMessage = (of: {
  to: string
  name: string
  primary: string | null
  link: string
  hours: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `Confirm your address for ${hostOf(of.publicUrl)}`,
  text: `Hello,

someone who calls themselves
    ${quoted(of.name)}${of.primary === null ? '' : `\n    ${addressText(of.primary)}`}
wants this address to be one of their account on the Countersign account
server
    ${of.publicUrl}

If that is you, open this page within ${of.hours} hours and confirm it there:

    ${of.link}

If it is not you, ignore this mail: then nothing happens. Confirm nothing for
someone else: the invitations to this address would reach them.
`,
})

/** Returns the letter after another address was added to an account. */
export const emailAddedMessage = (of: {
  to: string
  address: string
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A new address of your account at ${hostOf(of.publicUrl)}`,
  text: `Hello,

the address
    ${addressText(of.address)}
was added to your account at
${of.publicUrl}. A code that is mailed there signs in to
the account, on a device that may only read until you approve it. It cannot
reset the account.

If that was you, there is nothing to do.

If it was not, someone has a device or an API token of yours. Revoke the
devices and the tokens that you do not know:

    countersignd device list
    countersignd device revoke <the device>
    countersignd token list
    countersignd token revoke <the token>

Then ask the operator of the account server to take the address away. Until
then, approve no device that you did not sign in yourself.
`,
})
