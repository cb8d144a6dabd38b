/** The commands for the user's addresses, profile and preferences. */
import type { Email } from '../../api/rest/account.ts'
import type { Preferences } from '../../api/rest/preferences.ts'
import type { Profile } from '../../api/rest/profiles.ts'
import { listCommand } from '../collection.ts'
import { type Command, UsageError } from '../command.ts'
import { labelledLines, NO_RELAY } from '../labels.ts'
import { changesOf, eitherField, flagField, optionsOf, textField } from '../option-fields.ts'
import { shown } from '../table.ts'
import { when } from '../times.ts'

const stateOf = ({ primary, verified }: Email): string => {
  if (!verified) return 'not confirmed yet'
  return primary ? 'confirmed; receives the mail' : 'confirmed'
}

export const emailList = listCommand({
  help: 'Lists the e-mail addresses of the account, newest first. An address that is not confirmed is listed for one day.',
  work: (api, query) => api.emails.list(query),
  heading: ['ADDRESS', 'STATE', 'ADDED'],
  row: (email) => [email.address, stateOf(email), when(email.created_at)],
})

export const emailAdd: Command = {
  usage: 'ADDRESS [--json]',
  help: `
Adds an e-mail address to the account. A link is mailed to the address: open the link and confirm the address. Then
you can sign in with codes that are mailed to this address, and invitations to it reach your account.

If you run the command again, a new link is mailed and the previous link is no longer valid. At most three such
mails per hour are sent to one address, from all accounts together. When this limit is reached, no further mail is
sent, and the link in the newest mail stays valid.`,
  examples: {
    'email add ada@example.org': 'send a link to this address',
  },
  args: [1, 1],
  async run({ args: [address = ''], withApi, print, say }) {
    const made = await withApi((api) => api.emails.create({ body: { address } }))
    print(made, [])
    const to = shown(made.address)
    say(
      made.mailed === false
        ? `The mail with a link for ${to} was only stored. ${NO_RELAY} Open the link in it within 24 hours and confirm.`
        : `A link was sent to ${to}. Open the link within 24 hours and confirm. ` +
            'At most three mails per hour are sent to one address. Only the newest link is valid.',
    )
  },
}

const profileLines = ({ display_name, handle, headline, public_code }: Profile): string[] =>
  labelledLines([
    ['Name', display_name],
    ['Handle', handle],
    ['Headline', headline],
    ['Words', public_code?.words],
    ['Valid until', public_code && when(public_code.valid_until)],
  ])

export const profileCommand: Command = {
  usage: '[--json]',
  help: 'Shows your profile. If your public code is on ("countersignd preferences set"), also shows its current words.',
  args: [0, 0],
  async run({ withApi, print }) {
    const profile = await withApi((api) => api.profile.read({}))
    print(profile, profileLines(profile))
  },
}

const PROFILE = {
  display_name: textField('name'),
  handle: eitherField(textField('handle'), flagField('no-handle', null)),
  headline: eitherField(textField('headline'), flagField('no-headline', null)),
}

export const profileSet: Command = {
  usage: '[--name NAME] [--handle HANDLE | --no-handle] [--headline TEXT | --no-headline] [--json]',
  help: `
Changes your profile. Fields without an option stay unchanged. Everyone who knows the id of your account can see the
name and the handle.

  --name NAME       your name
  --handle HANDLE   a name that is unique on this server: 3 to 40 characters of a-z, 0-9 and -
  --no-handle       remove the handle
  --headline TEXT   a line about you
  --no-headline     remove the headline`,
  examples: {
    'profile set --name "Ada Lovelace"': 'change the name that other people see',
  },
  options: optionsOf(PROFILE),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const body = changesOf(PROFILE, options, 'use --name, --handle or --headline.')
    const profile = await withApi((api) => api.profile.update({ body }))
    print(profile, profileLines(profile))
  },
}

const onOff = (value: boolean) => (value ? 'on' : 'off')

const preferenceLines = (of: Preferences): string[] =>
  labelledLines([
    ['Language', of.locale],
    ['Time zone', of.time_zone],
    ['Public code', onOff(of.public_code)],
    ['Mail', onOff(of.email_notifications)],
    ['Findable', onOff(of.findable_by_email)],
  ])

export const preferencesCommand: Command = {
  usage: '[--json]',
  help: 'Shows your preferences.',
  args: [0, 0],
  async run({ withApi, print }) {
    const preferences = await withApi((api) => api.preferences.read({}))
    print(preferences, preferenceLines(preferences))
  },
}

/** Returns a field with the value of an option that is `on` or `off`. */
const switchField = (option: string) =>
  textField(option, (text) => {
    if (text !== 'on' && text !== 'off') throw new UsageError(`--${option} must be on or off.`)
    return text === 'on'
  })

const PREFERENCES = {
  locale: textField('locale'),
  time_zone: textField('time-zone'),
  public_code: switchField('public-code'),
  email_notifications: switchField('email-notifications'),
  findable_by_email: switchField('findable-by-email'),
}

export const preferencesSet: Command = {
  usage:
    '[--locale TAG] [--time-zone ZONE] [--public-code on|off] [--email-notifications on|off] [--findable-by-email on|off] [--json]',
  help: `
Changes your preferences. Preferences without an option stay unchanged.

  --locale TAG                   your language, for example en or de-CH
  --time-zone ZONE               your time zone, for example Europe/Zurich
  --public-code on|off           whether you have a public code: three words that prove who you are to people who are
                                 not connected to you. "countersignd profile" shows you the words. Other people check
                                 them with "countersignd verify --public"
  --email-notifications on|off   whether you get mails about invitations, alerts, requests at open links and
                                 given-up webhooks
  --findable-by-email on|off     whether people who know one of your e-mail addresses can follow you by it`,
  examples: {
    'preferences set --email-notifications off': 'get no mails about notifications',
  },
  options: optionsOf(PREFERENCES),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const remedy = '"countersignd preferences set --help" lists the options.'
    const body = changesOf(PREFERENCES, options, remedy)
    const preferences = await withApi((api) => api.preferences.update({ body }))
    print(preferences, preferenceLines(preferences))
  },
}
