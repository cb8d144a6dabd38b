import { AlertEvent } from '../../../api/rest/org.ts'
import {
  createCommand,
  deleteCommand,
  itemLine,
  listCommand,
  updateCommand,
} from '../../collection.ts'
import { UsageError } from '../../command.ts'
import {
  parseSeconds,
  span,
  eitherField,
  flagField,
  listField,
  textField,
} from '../../option-fields.ts'

export const alertList = listCommand({
  help: 'Lists the alerts of the organisation that this device acts in, newest first. TELLS is the number of members who get a notification.',
  work: (api, query) => api.orgAlerts.list(query),
  heading: ['ID', 'NAME', 'EVENT', 'TIMES', 'WITHIN', 'STATE', 'TELLS', 'LAST FIRED'],
  row: (alert) => [
    alert.id,
    alert.name,
    alert.event,
    String(alert.threshold),
    span(alert.window_minutes * 60),
    alert.enabled ? 'on' : 'off',
    String(alert.notify.length),
    alert.last_fired_at ?? 'never',
  ],
})

/**
 * Parses the value of `--event`.
 * @throws UsageError
 */
function eventOf(text: string): AlertEvent {
  const event = AlertEvent.options.find((one) => one === text)
  if (event === undefined)
    throw new UsageError(`--event takes one of: ${AlertEvent.options.join(', ')}.`)
  return event
}

/**
 * Parses the value of `--threshold`.
 * @throws UsageError
 */
function timesOf(text: string): number {
  if (!/^\d{1,7}$/.test(text))
    throw new UsageError(`--threshold takes a whole number such as 5, not "${text}".`)
  return Number(text)
}

/**
 * Parses the value of `--window` and returns it in minutes.
 * @throws UsageError
 */
function minutesOf(text: string): number {
  const minutes = parseSeconds('window', text) / 60
  if (!Number.isInteger(minutes))
    throw new UsageError(`--window takes whole minutes, as in 10m or 2h, not "${text}".`)
  return minutes
}

const FIELDS = {
  name: textField('name'),
  event: textField('event', eventOf),
  threshold: textField('threshold', timesOf),
  window_minutes: textField('window', minutesOf),
  notify: listField('notify'),
  enabled: flagField('off', false),
}

const CHANGES = {
  ...FIELDS,
  notify: eitherField(FIELDS.notify, flagField('no-notify', [])),
  enabled: eitherField(flagField('on', true), FIELDS.enabled),
}

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

const ALL_NEEDED = 'An alert takes --name, --event, --threshold and --window; give all.'

export const alertCreate = createCommand({
  usage: '--name NAME --event EVENT --threshold N --window 10m [--notify MEMBER]… [--off] [--json]',
  help: `
Creates an alert in the organisation that this device acts in: it fires when an event occurs often enough in a period. Owners and admins
may. The named members get a notification, and a mail unless they turned mails off.
${HELP}`,
  fields: FIELDS,
  needed: {
    name: ALL_NEEDED,
    event: ALL_NEEDED,
    threshold: ALL_NEEDED,
    window_minutes: ALL_NEEDED,
  },
  work: (api, body) => api.orgAlerts.create({ body }),
  line: itemLine,
})

export const alertUpdate = updateCommand({
  kind: 'alert',
  usage:
    'ID [--name NAME] [--event EVENT] [--threshold N] [--window 10m] [--notify MEMBER… | --no-notify] [--on | --off] [--json]',
  help: `
Changes an alert. What happened before it was switched on counts as far as its window reaches.
${HELP}

  --on               it is on
  --no-notify        no member gets a notification`,
  fields: CHANGES,
  remedy: '"countersignd org alert update --help" lists the options.',
  work: (api, id, body) => api.orgAlerts.update({ id, body }),
  line: itemLine,
})

export const alertDelete = deleteCommand({
  kind: 'alert',
  help: 'Deletes an alert.',
  work: (api, id) => api.orgAlerts.delete({ id }),
})
