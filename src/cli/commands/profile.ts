/** The commands for the user's addresses, profile and preferences. */
import type { Email } from '../../api/rest/account.ts'
import type { Preferences } from '../../api/rest/preferences.ts'
import type { Profile } from '../../api/rest/profiles.ts'
import { listCommand } from '../collection.ts'
import { type Command, UsageError } from '../command.ts'
import { changesOf, eitherField, flagField, optionsOf, textField } from '../option-fields.ts'
import { shown } from '../table.ts'

const stateOf = ({ primary, verified }: Email): string => {
  if (!verified) return 'waits for its link'
  return primary ? 'confirmed; mail goes there' : 'confirmed'
}

export const emailList = listCommand({
  help: 'Lists the e-mail addresses of the account, newest first; those that were not confirmed yet for a day.',
  work: (api, query) => api.emails.list(query),
  heading: ['ADDRESS', 'STATE', 'ADDED'],
  row: (email) => [email.address, stateOf(email), email.created_at],
})

export const emailAdd: Command = {
  usage: 'ADDRESS [--json]',
  help: `
Adds an e-mail address to the account: a link is mailed there; open it and confirm. From then on a code
that is mailed there signs in to the account, and invitations to the address reach it.

A second run mails another link, and the one before ends. At most three such mails an hour go to one address, from all accounts
together. After that none is sent, and the newest link stays valid.`,
  args: [1, 1],
  async run({ args: [address = ''], withApi, print, say }) {
    const made = await withApi((api) => api.emails.create({ body: { address } }))
    print(made, [])
    say(
      `A link goes to ${shown(made.address)}: open it within 24 hours, and confirm there. ` +
        'At most three mails an hour go to one address; the newest link counts.',
    )
  },
}

function profileLines({ display_name, handle, headline, public_code }: Profile): string[] {
  const rows: (readonly [name: string, value: string | null])[] = [
    ['name', display_name],
    ['handle', handle],
    ['headline', headline],
    ['words', public_code && `${public_code.words}  (until ${public_code.valid_until})`],
  ]
  return rows.flatMap(([name, value]) =>
    value === null ? [] : [`${name.padEnd(8)}  ${shown(value)}`],
  )
}

export const profileCommand: Command = {
  usage: '[--json]',
  help: 'Shows your profile; with the public code on ("countersignd preferences set"), also the current words of the public code.',
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
Changes your profile; the rest stays. The name and the handle are visible to all who know the id of your account.

  --name NAME       your name
  --handle HANDLE   a name that is unique on this server: 3 to 40 of a-z, 0-9 and -
  --headline TEXT   a line about you`,
  options: optionsOf(PROFILE),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const body = changesOf(PROFILE, options, 'use --name, --handle or --headline.')
    const profile = await withApi((api) => api.profile.update({ body }))
    print(profile, profileLines(profile))
  },
}

const onOff = (value: boolean) => (value ? 'on' : 'off')

function preferenceLines(of: Preferences): string[] {
  const rows = [
    ['language', of.locale],
    ['time zone', of.time_zone],
    ['public code', onOff(of.public_code)],
    ['mail', onOff(of.email_notifications)],
    ['findable', onOff(of.findable_by_email)],
  ] as const
  return rows.map(([name, value]) => `${name.padEnd(11)}  ${shown(value)}`)
}

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
    if (text !== 'on' && text !== 'off') throw new UsageError(`--${option} is on or off.`)
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
Changes your preferences; others stay as they are.

  --locale TAG                   a language tag, as in en or de-CH
  --time-zone ZONE               as in Europe/Zurich
  --public-code on|off           words for people who are not connected to you; they use "verify --public", and "countersignd profile" shows you the words
  --email-notifications on|off   whether you get a mail about an invitation
  --findable-by-email on|off     whether others who know an address of yours can follow you by it`,
  options: optionsOf(PREFERENCES),
  args: [0, 0],
  async run({ options, withApi, print }) {
    const remedy = '"countersignd preferences set --help" lists the options.'
    const body = changesOf(PREFERENCES, options, remedy)
    const preferences = await withApi((api) => api.preferences.update({ body }))
    print(preferences, preferenceLines(preferences))
  },
}
