import type { Preferences } from '../../api/rest/preferences.ts'
import { type Command, UsageError } from '../command.ts'
import { shown } from '../table.ts'

const onOff = (value: boolean) => (value ? 'on' : 'off')

function lines(of: Preferences): string[] {
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
    print(preferences, lines(preferences))
  },
}

/**
 * Parses the value of a switch.
 * @throws UsageError
 */
function switched(name: string, value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new UsageError(`--${name} is on or off.`)
  return value === 'on'
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
  options: {
    locale: { type: 'string' },
    'time-zone': { type: 'string' },
    'public-code': { type: 'string' },
    'email-notifications': { type: 'string' },
    'findable-by-email': { type: 'string' },
  },
  args: [0, 0],
  async run({ options, withApi, print }) {
    const {
      locale,
      'time-zone': zone,
      'public-code': code,
      'email-notifications': mail,
      'findable-by-email': findable,
    } = options as Readonly<Record<string, string | undefined>>
    const body = {
      ...(locale === undefined ? {} : { locale }),
      ...(zone === undefined ? {} : { time_zone: zone }),
      ...(code === undefined ? {} : { public_code: switched('public-code', code) }),
      ...(mail === undefined ? {} : { email_notifications: switched('email-notifications', mail) }),
      ...(findable === undefined
        ? {}
        : { findable_by_email: switched('findable-by-email', findable) }),
    }
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'Nothing to change was given: "countersignd preferences set --help" lists the options.',
      )
    const preferences = await withApi((api) => api.preferences.update({ body }))
    print(preferences, lines(preferences))
  },
}
