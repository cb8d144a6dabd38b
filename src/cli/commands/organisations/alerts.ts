import { AlertEvent } from '../../../api/rest/org.ts'
import {
  createCommand,
  deleteCommand,
  itemAnswer,
  listCommand,
  updateCommand,
} from '../../collection.ts'
import { UsageError } from '../../command.ts'
import {
  parseSeconds,
  span,
  eitherField,
  flagField,
  idsField,
  textField,
} from '../../option-fields.ts'
import { whenOr } from '../../times.ts'

export const alertList = listCommand({
  help: `
Lists the alerts of the current organisation, newest first. The column NOTIFIES shows how many members get a
notification.`,
  work: (api, query) => api.orgAlerts.list(query),
  heading: ['ID', 'NAME', 'EVENT', 'TIMES', 'WITHIN', 'STATE', 'NOTIFIES', 'LAST FIRED'],
  row: (alert) => [
    alert.id,
    alert.name,
    alert.event,
    String(alert.threshold),
    span(alert.window_minutes * 60),
    alert.enabled ? 'on' : 'off',
    String(alert.notify.length),
    whenOr('never', alert.last_fired_at),
  ],
})

/**
 * Parses the value of `--event`.
 * @throws UsageError
 */
function eventOf(text: string): AlertEvent {
  const event = AlertEvent.options.find((one) => one === text)
  if (event === undefined)
    throw new UsageError(`--event must be one of: ${AlertEvent.options.join(', ')}.`)
  return event
}

/**
 * Parses the value of `--threshold`.
 * @throws UsageError
 */
function timesOf(text: string): number {
  if (!/^\d{1,7}$/.test(text))
    throw new UsageError(`--threshold must be a whole number such as 5, not "${text}".`)
  return Number(text)
}

/**
 * Parses the value of `--window` and returns it in minutes.
 * @throws UsageError
 */
function minutesOf(text: string): number {
  const minutes = parseSeconds('window', text) / 60
  if (!Number.isInteger(minutes))
    throw new UsageError(`--window must be whole minutes, for example 10m or 2h, not "${text}".`)
  return minutes
}

const FIELDS = {
  name: textField('name'),
  event: textField('event', eventOf),
  threshold: textField('threshold', timesOf),
  window_minutes: textField('window', minutesOf),
  notify: idsField('notify', 'organisation member'),
  enabled: flagField('off', false),
}

const CHANGES = {
  ...FIELDS,
  notify: eitherField(FIELDS.notify, flagField('no-notify', [])),
  enabled: eitherField(flagField('on', true), FIELDS.enabled),
}

const HELP = `
  --name NAME        the name of the alert
  --event EVENT      the kind of event that is counted, one of:
                     ${AlertEvent.options.slice(0, 5).join(', ')},
                     ${AlertEvent.options.slice(5, 11).join(', ')},
                     ${AlertEvent.options.slice(11, 16).join(', ')},
                     ${AlertEvent.options.slice(16).join(', ')}
  --threshold N      the number of events at which the alert fires
  --window 10m       the period in which the events are counted: 1 minute to 30 days. The alert fires at most once
                     per period
  --notify MEMBER    a member who gets a notification; can be given several times
  --off              switch the alert off, so that it does not fire`

export const alertCreate = createCommand({
  usage: '--name NAME --event EVENT --threshold N --window 10m [--notify MEMBER]… [--off] [--json]',
  help: `
Creates an alert in the current organisation. The alert fires when an event happens a given number of times within a
period. The members given with --notify then get a notification, and a mail unless they have turned mails off. Only
owners and admins can do this.
${HELP}`,
  examples: {
    'org alert create --name Leaving --event member_left --threshold 5 --window 1d':
      'fire after five departures in a day',
  },
  fields: FIELDS,
  needed: ['name', 'event', 'threshold', 'window_minutes'],
  work: (api, body) => api.orgAlerts.create({ body }),
  shows: itemAnswer,
})

export const alertUpdate = updateCommand({
  kind: 'alert',
  usage:
    'ALERT [--name NAME] [--event EVENT] [--threshold N] [--window 10m] [--notify MEMBER… | --no-notify] [--on | --off] [--json]',
  help: `
Changes an alert. Settings without an option stay unchanged. Only owners and admins can do this. When you switch an
alert on, it also counts the events of the last period (--window) before that time.
${HELP}

  --on               switch the alert on
  --no-notify        notify no members`,
  fields: CHANGES,
  remedy: '"countersignd org alert update --help" lists the options.',
  work: (api, id, body) => api.orgAlerts.update({ id, body }),
  shows: itemAnswer,
})

export const alertDelete = deleteCommand({
  kind: 'alert',
  help: 'Deletes an alert.',
  work: (api, id) => api.orgAlerts.delete({ id }),
})
