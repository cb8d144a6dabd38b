import { every } from '../../../api/cursor.ts'
import { AlertEvent, type OrgAlert } from '../../../api/rest/org.ts'
import { byId } from '../../by-id.ts'
import { type Command, type Invocation, UsageError } from '../../command.ts'
import { parseSeconds, span } from '../../duration.ts'
import { shown, table } from '../../table.ts'

const lineOf = ({ id, name }: Pick<OrgAlert, 'id' | 'name'>) => `${id}  ${shown(name)}`

export const alertList: Command = {
  usage: '[--json]',
  help: 'Lists the alerts of the organisation that this device acts in, newest first. TELLS is the number of members who get a notification.',
  args: [0, 0],
  async run({ withApi, print }) {
    const items = await withApi((api) => every((query) => api.orgAlerts.list(query)))
    print(
      { items },
      await table(
        ['ID', 'NAME', 'EVENT', 'TIMES', 'WITHIN', 'STATE', 'TELLS', 'LAST FIRED'],
        items.map((alert) => [
          alert.id,
          alert.name,
          alert.event,
          String(alert.threshold),
          span(alert.window_minutes * 60),
          alert.enabled ? 'on' : 'off',
          String(alert.notify.length),
          alert.last_fired_at ?? 'never',
        ]),
      ),
    )
  },
}

/**
 * Parses the value of --event.
 * @throws UsageError
 */
function eventOf(text: string): AlertEvent {
  const event = AlertEvent.options.find((one) => one === text)
  if (event === undefined)
    throw new UsageError(`--event takes one of: ${AlertEvent.options.join(', ')}.`)
  return event
}

/**
 * Parses the value of --threshold.
 * @throws UsageError
 */
function timesOf(text: string): number {
  if (!/^\d{1,7}$/.test(text))
    throw new UsageError(`--threshold takes a whole number such as 5, not "${text}".`)
  return Number(text)
}

/**
 * Parses the value of --window and returns minutes.
 * @throws UsageError
 */
function minutesOf(text: string): number {
  const minutes = parseSeconds('window', text) / 60
  if (!Number.isInteger(minutes))
    throw new UsageError(`--window takes whole minutes, as in 10m or 2h, not "${text}".`)
  return minutes
}

const OPTIONS = {
  name: { type: 'string' },
  event: { type: 'string' },
  threshold: { type: 'string' },
  window: { type: 'string' },
  notify: { type: 'string', multiple: true },
  off: { type: 'boolean' },
} as const

const HELP = `
  --name NAME        what the alert is called
  --event EVENT      what it waits for, one of:
                     ${AlertEvent.options.slice(0, 6).join(', ')},
                     ${AlertEvent.options.slice(6, 11).join(', ')},
                     ${AlertEvent.options.slice(11, 16).join(', ')},
                     ${AlertEvent.options.slice(16).join(', ')}
  --threshold N      how many of them
  --window 10m       the period, from a minute to 30 days; the alert fires once in a period
  --notify MEMBER    a member who gets a notification, by the id of the account (acc_…); may be given several times
  --off              it is off, and does not fire`

/**
 * Returns the fields that the options change; a field without an option is absent.
 * @throws UsageError if an option and its opposite are both given
 */
function changesOf(options: Invocation['options']) {
  const { name, event, threshold, window } = options
  // An option with `multiple` is a list.
  const notify = options['notify'] as unknown as readonly string[] | undefined
  for (const [some, none] of [
    ['notify', 'no-notify'],
    ['on', 'off'],
  ] as const)
    if (options[some] !== undefined && options[none] === true)
      throw new UsageError(`Give either --${some} or --${none}, not both.`)
  return {
    ...(name === undefined ? {} : { name: String(name) }),
    ...(event === undefined ? {} : { event: eventOf(String(event)) }),
    ...(threshold === undefined ? {} : { threshold: timesOf(String(threshold)) }),
    ...(window === undefined ? {} : { window_minutes: minutesOf(String(window)) }),
    ...(notify === undefined ? {} : { notify: [...notify] }),
    ...(options['no-notify'] === true ? { notify: [] } : {}),
    ...(options['on'] === true ? { enabled: true } : {}),
    ...(options['off'] === true ? { enabled: false } : {}),
  }
}

export const alertCreate: Command = {
  usage: '--name NAME --event EVENT --threshold N --window 10m [--notify MEMBER]… [--off] [--json]',
  help: `
Creates an alert in the organisation that this device acts in: it fires when an event occurs often enough in a period. Owners and admins
may. The named members get a notification, and a mail unless they turned mails off.
${HELP}`,
  options: OPTIONS,
  args: [0, 0],
  async run({ options, withApi, print }) {
    const { name, event, threshold, window_minutes, ...more } = changesOf(options)
    if (
      name === undefined ||
      event === undefined ||
      threshold === undefined ||
      window_minutes === undefined
    )
      throw new UsageError('An alert takes --name, --event, --threshold and --window; give all.')
    const body = { name, event, threshold, window_minutes, ...more }
    const made = await withApi((api) => api.orgAlerts.create({ body }))
    print(made, lineOf(made))
  },
}

export const alertUpdate: Command = {
  usage:
    'ID [--name NAME] [--event EVENT] [--threshold N] [--window 10m] [--notify MEMBER… | --no-notify] [--on | --off] [--json]',
  help: `
Changes an alert. What happened before it was switched on counts as far as its window reaches.
${HELP}

  --on               it is on
  --no-notify        no member gets a notification`,
  options: { ...OPTIONS, on: { type: 'boolean' }, 'no-notify': { type: 'boolean' } },
  args: [1, 1],
  async run({ args: [id = ''], options, withApi, print }) {
    const body = changesOf(options)
    if (Object.keys(body).length === 0)
      throw new UsageError(
        'Nothing to change was given: "countersignd org alert update --help" lists the options.',
      )
    const alert = await withApi((api) =>
      byId('alert', id, () => api.orgAlerts.update({ id, body })),
    )
    print(alert, lineOf(alert))
  },
}

export const alertDelete: Command = {
  usage: 'ID [--json]',
  help: 'Deletes an alert.',
  args: [1, 1],
  async run({ args: [id = ''], withApi, print, say }) {
    await withApi((api) => byId('alert', id, () => api.orgAlerts.delete({ id })))
    print({ id, state: 'deleted' }, [])
    say(`Deleted ${id}.`)
  },
}
