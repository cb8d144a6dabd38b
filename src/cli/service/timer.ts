/**
 * The timers that run a command of this program every day.
 *
 * A timer consists of files, and of the commands that start and remove it. On Linux a missed run is
 * made up for after the next start of the machine, and the run waits for the mount of the folder.
 */
import { posix, win32 } from 'node:path'
import { StartError } from '../../errors.ts'
import {
  type CommandWords,
  type ServiceFile,
  type ServicePlatform,
  unitPath,
} from './definition.ts'
import { calendarList, launchdDomain } from './launchd.ts'
import { backupUnit, systemctlFor, timerUnit, unitFolder } from './systemd.ts'
import { dailyTask, schtasksOf } from './task-scheduler.ts'
import type { TimerSettings } from './timer-settings.ts'

export interface Timer {
  /** The name in the service manager. */
  readonly name: string
  readonly files: readonly ServiceFile[]
  /** A command that fails if the service manager cannot be reached; null if it is always there. */
  readonly demand: CommandWords | null
  /** Commands after the files were written. */
  readonly start: readonly CommandWords[]
  /** Commands before the files are removed. Their result is ignored. */
  readonly end: readonly CommandWords[]
  /** Commands after the files were removed. Their result is ignored. */
  readonly after: readonly CommandWords[]
}

const text = (path: string, content: string): ServiceFile => ({
  path,
  content,
  mode: 0o644,
  encoding: 'utf8',
})

function systemdTimer(wanted: TimerSettings): Timer {
  const systemctl = systemctlFor(wanted.scope)
  const folder = unitFolder(wanted)
  const name = `countersignd-backup-${wanted.id}`
  return {
    name: `${name}.timer`,
    files: [
      text(posix.join(folder, `${name}.service`), backupUnit(wanted)),
      text(posix.join(folder, `${name}.timer`), timerUnit(wanted)),
    ],
    demand: systemctl('show', '--property=Version'),
    start: [
      systemctl('daemon-reload'),
      systemctl('enable', `${name}.timer`),
      systemctl('restart', `${name}.timer`),
    ],
    end: [systemctl('disable', '--now', `${name}.timer`)],
    after: [systemctl('daemon-reload')],
  }
}

function launchdTimer(wanted: TimerSettings): Timer {
  const { home, id, scope } = wanted
  const isSystem = scope === 'system'
  const domain = launchdDomain(wanted)
  const name = `org.countersign.backup-${id}`
  const folder = isSystem ? '/Library/LaunchDaemons' : `${home}/Library/LaunchAgents`
  const path = posix.join(folder, `${name}.plist`)
  return {
    name,
    files: [text(path, calendarList(wanted, name))],
    demand: null,
    start: [
      ['launchctl', 'enable', `${domain}/${name}`],
      ['launchctl', 'bootstrap', domain, path],
    ],
    end: [['launchctl', 'bootout', `${domain}/${name}`]],
    after: [],
  }
}

function windowsTimer(wanted: TimerSettings): Timer {
  const name = `Countersign backup ${wanted.id}`
  const folder = win32.dirname(unitPath('win32', { ...wanted, scope: 'user' }))
  const path = win32.join(folder, `countersignd-backup-${wanted.id}.task.xml`)
  const schtasks = schtasksOf(wanted)
  return {
    name,
    files: [
      {
        path,
        content: `\ufeff${dailyTask(wanted)}`,
        mode: 0o644,
        encoding: 'utf16le',
      },
    ],
    demand: null,
    start: [schtasks('/Create', '/TN', name, '/XML', path, '/F')],
    end: [schtasks('/Delete', '/TN', name, '/F')],
    after: [],
  }
}

/**
 * Returns the timer for a platform.
 * @throws StartError `failed` for a platform without timers
 */
export function timerOf(platform: NodeJS.Platform, wanted: TimerSettings): Timer {
  const timers: Readonly<Record<ServicePlatform, (of: TimerSettings) => Timer>> = {
    linux: systemdTimer,
    darwin: launchdTimer,
    win32: windowsTimer,
  }
  if (Object.hasOwn(timers, platform)) return timers[platform as ServicePlatform](wanted)
  throw new StartError('failed', `There are no timers for ${platform}.`)
}
