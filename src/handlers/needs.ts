/**
 * What needs a person on this device besides the notices: each as a sentence with the command to
 * run.
 *
 * It is read from this device's own data, as the last sync left it, so it is known offline too.
 */
import { inQuotes } from '../api/name-text.ts'
import type { ChangedKeys, ForkedConnection } from '../api/rest/status.ts'
import { nameOf } from '../device/names.ts'
import type { LocalDevice } from '../device/device.ts'
import { waitingDevices } from '../device/sync/waiting-devices.ts'
import { readSchedule, scheduleFault } from '../state/backup-schedule.ts'
import type { State } from '../state/state.ts'
import { keyStatusOf } from '../state/trust.ts'
import { namingOf } from './named.ts'

/** Returns the number of a list's items in a state, with ids that have a beginning. */
function listed({ listed: rows }: State, list: string, state: string, beginning = ''): number {
  const items = [...(rows.of(list) ?? [])]
  return items.filter(([id, is]) => is === state && id.startsWith(beginning)).length
}

/** Returns a sentence about a number of things; none for zero. */
const counted = (count: number, one: string, many: string, rest: string): string[] =>
  count === 0 ? [] : [`${count === 1 ? one : `${count} ${many}`} ${rest}`]

/** Returns a sentence about the devices that wait for approval; none if no device waits. */
function waiting(state: State): string[] {
  const devices = waitingDevices(state)
  const one = `The device ${inQuotes(devices[0]?.name ?? '')} waits`
  return counted(devices.length, one, 'devices wait', 'for approval: countersignd device approve')
}

const changedAccounts = ({ trust }: State): string[] =>
  trust
    .all()
    .filter((row) => keyStatusOf(row) === 'changed_unverified')
    .map(({ account }) => account)

/** Returns the people with changed keys that the user has not confirmed. */
export const changedKeys = (device: Pick<LocalDevice, 'state' | 'identity'>): ChangedKeys[] =>
  changedAccounts(device.state).map((user_id) => ({
    user_id,
    ...nameOf(namingOf(device), user_id, user_id),
  }))

/** Returns the connections with two histories, newest first. */
export const forkedConnections = ({ connections, replacements }: State): ForkedConnection[] =>
  connections.forked().map((one) => ({ ...one, replaced_by: replacements.inPlaceOf(one.id) }))

/** Returns a sentence if the scheduled backups fail; none if they do not. */
function missingBackup(state: State, now: number): string[] {
  const schedule = readSchedule(state)
  const fault = schedule === null ? null : scheduleFault(schedule, now)
  return fault === null
    ? []
    : [
        `The scheduled backup ${fault.replace(/\.$/, '')}. To try again: countersignd backup --scheduled`,
      ]
}

/**
 * Returns the sentences, the most urgent first.
 * @param now Unix milliseconds
 */
export function needsOf(state: State, now: number): string[] {
  return [
    ...missingBackup(state, now),
    ...counted(
      changedAccounts(state).length,
      'A person you follow has',
      'people you follow have',
      'other keys than before. Compare the safety number: countersignd trust list',
    ),
    ...state.connections
      .forked()
      .map(
        ({ name }) =>
          `The account server showed two histories of ${inQuotes(name)}. Its words prove nothing now: countersignd connection list`,
      ),
    ...waiting(state),
    ...counted(
      listed(state, 'invitations', 'pending', 'received '),
      'An invitation',
      'invitations',
      'to answer: countersignd invite list',
    ),
    ...counted(
      listed(state, 'open_link_requests', 'pending'),
      'A request at your open links',
      'requests at your open links',
      'to answer: countersignd link requests',
    ),
    ...counted(
      listed(state, 'notifications', 'new'),
      'An unread notification:',
      'unread notifications:',
      'countersignd notification list',
    ),
  ]
}
