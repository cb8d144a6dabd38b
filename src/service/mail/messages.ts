/**
 * Letters to people about their own account. Subjects are visible on lock screens, so no subject
 * contains a code.
 */
import type { OutgoingLetter } from './mailer.ts'
import { addressText, hostOf, minuteText, quoted } from './quoting.ts'

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

a person, probably you, is signing in to the Countersign account server
${of.publicUrl} with this address. The code is:

    ${of.code}

Type it on the device on which you started to sign in. It is valid for
${of.minutes} minutes and for one device. Give it to no other person: a person
who asks you for it wants to sign in as you.

If it was not you, ignore this mail. Without the code nothing happens.
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

If it was not you, revoke the new device at once, on a device that you trust:

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
${of.publicUrl}. A person who has its 24 words
and can read this mailbox can replace all your devices. Your contacts then do
not have to confirm the new keys.

If that was you, there is nothing to do.

If it was not you, reset the account on a device that you trust, without a
recovery key. It is not enough to revoke the device, because the recovery key
would stay in force.

    countersignd reset --email <this address>

Then compare the safety number with each contact. Until a contact confirms
your new keys, the device of that contact accepts a reset with those words.
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
This needed a sign-in code${
    of.withKey
      ? ` and the words of a recovery key of your account.
The earlier devices are signed out. Contacts who accepted keys that belong to
this recovery key do not have to confirm you again. All others have to.`
      : `. The earlier devices are signed out, and your
contacts are asked to confirm you again.`
  }

If that was you, there is nothing to do.

If it was not you, another person may be able to read your mail. First give
your mailbox a new password. Then reset the account yourself:

    countersignd reset --email <this address>

If you have the 24 words of your recovery key, add --recovery-key.
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

a person who uses the name
    ${quoted(of.name)}${of.primary === null ? '' : `\n    ${addressText(of.primary)}`}
wants to add this address to their account on the Countersign account server
    ${of.publicUrl}

If that is you, open this page within ${of.hours} hours and confirm the address there:

    ${of.link}

If it is not you, ignore this mail. Then nothing happens. Do not confirm for
another person: that person would get the invitations to this address.
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
${of.publicUrl}. A code that is mailed to this address
signs a device in to your account. Until you approve that device, it can only
read. The code cannot reset the account.

If that was you, there is nothing to do.

If it was not you, another person has one of your devices or API tokens.
Revoke the devices and the tokens that you do not recognise:

    countersignd device list
    countersignd device revoke <the device>
    countersignd token list
    countersignd token revoke <the token>

Then ask the operator of the account server to remove the address. Until it
is removed, approve only devices on which you signed in yourself.
`,
})

/**
 * Returns the letter after a device gave a webhook up.
 * @param of `name`: the webhook's name or host; `on`: the name of the device; `since`: when the
 *   first attempt failed, Unix milliseconds
 */
export const webhookMessage = (of: {
  to: string
  name: string
  webhook: string
  on: string
  since: number
  publicUrl: string
}): OutgoingLetter => ({
  to: of.to,
  subject: `A webhook was given up at ${hostOf(of.publicUrl)}`,
  text: `Hello,

your device ${quoted(of.on)}
at the account server ${of.publicUrl}
sends nothing more to the webhook
    ${quoted(of.name)}
because it has accepted no event since ${minuteText(of.since)}.

When its receiver works again, run this on that device. It then continues with
the first event that was not delivered:

    countersignd webhook update ${of.webhook} --enable

You get at most one of these mails an hour, also if more webhooks are given
up. To see them all:

    countersignd notification list

To turn these mails off:

    countersignd preferences set --email-notifications off
`,
})
