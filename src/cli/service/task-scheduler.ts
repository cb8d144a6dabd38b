/**
 * The task for the Windows Task Scheduler.
 *
 * A Windows service must use the service manager's API, which a Node program cannot do. A user's
 * task starts when the user logs on. The system's task starts at boot, as the account LocalService.
 */
import { win32 } from 'node:path'
import {
  type Definition,
  type ServiceState,
  TITLE,
  type ServiceSettings,
  type CommandWords,
  unitPath,
} from './definition.ts'
import { SCHEDULED, type TimerSettings } from './timer-settings.ts'
import { escaped } from './xml.ts'

const TASK = 'Countersign'
/**
 * The well-known SID of LocalService. The name of the account depends on the language of Windows.
 */
const LOCAL_SERVICE = 'S-1-5-19'

/** Quotes an argument for CommandLineToArgvW. */
export function argument(text: string): string {
  if (text !== '' && !/[\s"]/.test(text)) return text
  return `"${text.replace(/(\\*)"/g, '$1$1\\"').replace(/\\+$/, '$&$&')}"`
}

const userOf = ({ env }: Omit<ServiceSettings, 'socket'>) =>
  `${env['USERDOMAIN'] ?? env['COMPUTERNAME'] ?? '.'}\\${env['USERNAME'] ?? 'user'}`

/** Returns the principal of a task that runs as the user, while the user is signed in. */
const asUser = (wanted: Omit<ServiceSettings, 'socket'>) =>
  `      <UserId>${escaped(userOf(wanted))}</UserId>\n      <LogonType>InteractiveToken</LogonType>`

/** Returns a command that runs in a console without a window, which the user would see. */
const withoutWindow = (words: readonly string[]): readonly [string, ...string[]] => [
  '%SystemRoot%\\System32\\conhost.exe',
  '--headless',
  ...words,
]

/** Returns a task; the parts of it are lines of XML, except the command, and the description. */
const taskOf = (of: {
  readonly description: string
  /** Further elements after the description. */
  readonly about?: string
  readonly trigger: string
  readonly principal: string
  readonly settings: string
  readonly command: readonly [string, ...string[]]
}) => {
  const [command, ...args] = of.command
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>${escaped(of.description)}</Description>
${of.about ?? ''}  </RegistrationInfo>
  <Triggers>
${of.trigger}
  </Triggers>
  <Principals>
    <Principal id="Author">
${of.principal}
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
${of.settings}
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${escaped(command)}</Command>
      <Arguments>${escaped(args.map(argument).join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`.replaceAll('\n', '\r\n')
}

function task(wanted: Omit<ServiceSettings, 'socket'>): string {
  const isSystem = wanted.scope === 'system'
  const words: readonly [string, ...string[]] = [...wanted.program, 'serve']
  return taskOf({
    description: TITLE,
    about: `    <URI>\\${TASK}</URI>\n`,
    trigger: isSystem
      ? '    <BootTrigger>\n      <Enabled>true</Enabled>\n    </BootTrigger>'
      : `    <LogonTrigger>\n      <Enabled>true</Enabled>\n      <UserId>${escaped(userOf(wanted))}</UserId>\n    </LogonTrigger>`,
    principal: isSystem ? `      <UserId>${LOCAL_SERVICE}</UserId>` : asUser(wanted),
    settings: `    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <AllowHardTerminate>true</AllowHardTerminate>
    <StartWhenAvailable>true</StartWhenAvailable>
    <RunOnlyIfNetworkAvailable>false</RunOnlyIfNetworkAvailable>
    <IdleSettings>
      <StopOnIdleEnd>false</StopOnIdleEnd>
      <RestartOnIdle>false</RestartOnIdle>
    </IdleSettings>
    <AllowStartOnDemand>true</AllowStartOnDemand>
    <Enabled>true</Enabled>
    <Hidden>true</Hidden>
    <RunOnlyIfIdle>false</RunOnlyIfIdle>
    <WakeToRun>false</WakeToRun>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Priority>5</Priority>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>10</Count>
    </RestartOnFailure>`,
    command: isSystem ? words : withoutWindow(words),
  })
}

/** Returns the task of a command that runs once a day as the user, and after a missed run. */
export const dailyTask = (wanted: TimerSettings): string =>
  taskOf({
    description: 'Countersign: a daily backup of this device',
    trigger: `    <CalendarTrigger>
      <StartBoundary>2026-01-01T${wanted.at}:00</StartBoundary>
      <Enabled>true</Enabled>
      <ScheduleByDay>
        <DaysInterval>1</DaysInterval>
      </ScheduleByDay>
    </CalendarTrigger>`,
    principal: asUser(wanted),
    settings: `    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <StartWhenAvailable>true</StartWhenAvailable>
    <Enabled>true</Enabled>
    <Hidden>true</Hidden>
    <ExecutionTimeLimit>PT4H</ExecutionTimeLimit>`,
    command: withoutWindow([...wanted.program, ...SCHEDULED]),
  })

/**
 * Parses the state that `Get-ScheduledTask` prints.
 *
 * Unlike the output of schtasks, it is in English in every language of Windows.
 */
function standing({
  code,
  out,
}: {
  readonly code: number | null
  readonly out: string
}): ServiceState {
  const state = out.trim()
  const isThere = code === 0
  return {
    enabled: isThere && state !== 'Disabled' && state !== '',
    running: isThere && state === 'Running',
    since: null,
  }
}

/** Returns a function that returns commands of schtasks. */
// The path is absolute, because Windows searches the current folder first for a name without a
// path.
export const schtasksOf =
  ({ env }: Pick<ServiceSettings, 'env'>) =>
  (...words: string[]): CommandWords => [
    `${env['SystemRoot'] ?? 'C:\\Windows'}\\System32\\schtasks.exe`,
    ...words,
  ]

/** Returns the task for a scope, and the commands of schtasks. */
export function taskScheduler(wanted: Omit<ServiceSettings, 'socket'>): Definition {
  const { scope, env, program } = wanted
  const isSystem = scope === 'system'
  const path = win32.join(win32.dirname(unitPath('win32', wanted)), 'countersignd.task.xml')
  const windows = env['SystemRoot'] ?? 'C:\\Windows'
  const schtasks = schtasksOf(wanted)
  const stateDir = isSystem
    ? `${windows}\\ServiceProfiles\\LocalService\\AppData\\Local\\countersign`
    : null
  return {
    name: TASK,
    // schtasks accepts only UTF-16 with a byte order mark.
    file: { path, content: `\ufeff${task(wanted)}`, mode: 0o644, encoding: 'utf16le' },
    socket: null,
    mark: isSystem
      ? `<Command>${escaped(program[0])}<`
      : escaped(`--headless ${program.map(argument).join(' ')} serve`),
    demands: [],
    // A program cannot be replaced while it is running.
    before: [schtasks('/End', '/TN', TASK)],
    start: [schtasks('/Create', '/TN', TASK, '/XML', path, '/F'), schtasks('/Run', '/TN', TASK)],
    startWaits: false,
    end: [schtasks('/End', '/TN', TASK), schtasks('/Delete', '/TN', TASK, '/F')],
    after: [],
    ask: [
      `${windows}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`,
      '-NoProfile',
      '-NonInteractive',
      '-Command',
      `(Get-ScheduledTask -TaskName ${TASK} -ErrorAction Stop).State`,
    ],
    standing,
    refusesState: () => false,
    health: {
      words: [...program, 'health'],
      env: stateDir === null ? {} : { SVC_STATE_DIR: stateDir },
    },
    stateDir,
    settings: isSystem ? 'the variables of the system' : 'the variables of the user',
    remainingFolder: null,
    log: 'a scheduled task has none. To see it, run "countersignd serve" in a window',
  }
}
