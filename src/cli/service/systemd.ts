/**
 * The systemd units.
 *
 * The system unit runs as a dynamic user, can see only its own folder of the machine, and gets the
 * key of its keychain as a credential. The user unit uses only settings that need no namespace. In
 * a namespace, the daemon could not reach the user's session bus or see the owner of a connection.
 */
import { SYSTEM } from '../../config/config.ts'
import { StartError } from '../../errors.ts'
import {
  type Definition,
  type ServiceFile,
  type ServiceState,
  type SocketDefinition,
  TITLE,
  type ServiceSettings,
  type CommandWords,
} from './definition.ts'
import { SCHEDULED, type TimerSettings } from './timer-settings.ts'

const UNIT = 'countersignd.service'
const SOCKET_UNIT = 'countersignd.socket'

/** The state folder of a service with a dynamic user. */
export const SYSTEM_STATE = '/var/lib/private/countersign'
/** The link to that folder, which systemd creates. */
export const STATE_LINK = SYSTEM.state
/** The folder with the settings and the key of the system service. The operator manages it. */
export const SYSTEM_SETTINGS = '/etc/countersign'

/**
 * Returns a text as one word of a line in a unit.
 * @see systemd.syntax(7)
 */
function unitWord(text: string): string {
  // A line feed ends a line of a unit, so systemd would not run the rest of the command.
  if (/\p{Cc}/u.test(text)) throw unaccepted(text)
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')
  return /^[\w@%+=:,./-]+$/.test(escaped) ? escaped : `"${escaped}"`
}

const unaccepted = (text: string) =>
  new StartError(
    'failed',
    `${JSON.stringify(text)} contains a character that systemd does not accept in the path of a program. Move the program elsewhere.`,
  )

/**
 * Returns one word of a command line in a unit.
 * @param isPath whether it is the first word, in which systemd expands no variables
 * @see systemd.service(5) "Command lines"
 */
function word(text: string, isPath: boolean): string {
  if (isPath && /["'\\]/.test(text)) throw unaccepted(text)
  return unitWord(isPath ? text : text.replaceAll('$', '$$$$'))
}

const commandLine = (program: readonly string[], rest: string) =>
  `${program.map((text, at) => word(text, at === 0)).join(' ')} ${rest}`

/**
 * Settings of both units. A blocked system call returns an error, as on a kernel without it.
 *
 * `@privileged` contains `@chown`, which the daemon needs to give its socket to a group.
 */
const HARDENED = `NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallFilter=@chown
SystemCallErrorNumber=EPERM
LimitCORE=0
UMask=0077`

// Two settings are missing on purpose. With MemoryDenyWriteExecute, V8 could not compile code. With
// PrivateUsers, every peer would have uid 65534.
const CONFINED = `CapabilityBoundingSet=
PrivateDevices=yes
PrivateMounts=yes
PrivateTmp=yes
ProcSubset=pid
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes`

/**
 * The user, the folders and the credentials of the system unit.
 *
 * The key of a machine account is optional, because its path is relative (systemd.exec(5)).
 */
const OWN = `User=countersign
DynamicUser=yes
StateDirectory=countersign
StateDirectoryMode=0700
RuntimeDirectory=countersign
RuntimeDirectoryMode=0755
Environment=SVC_STATE_DIR=${SYSTEM_STATE}
EnvironmentFile=-${SYSTEM_SETTINGS}/countersignd.env
LoadCredential=countersign-key:${SYSTEM_SETTINGS}/key
LoadCredential=countersign-machine-key`

/**
 * The exit codes after which a restart is useless, because the error would recur.
 *
 * These are wrong usage or configuration, and a state folder that is unsafe, too new, or older than
 * the first release.
 */
const FINAL = '2 3 6 7 12'

/** @param head the first lines of the unit, up to its description */
const unit = (wanted: ServiceSettings, head: string) => {
  const isSystem = wanted.scope === 'system'
  // After exit code 8, systemd restarts the user unit: the user may unlock the keychain later.
  const final = isSystem ? `${FINAL} 8` : FINAL
  return `${head}
[Unit]
Description=${TITLE}
${isSystem ? 'After=network.target\n' : ''}StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${commandLine(wanted.program, 'serve')}
ExecStartPost=${commandLine(wanted.program, 'health --wait 60 --pid $MAINPID')}
${isSystem ? OWN : 'EnvironmentFile=-%E/countersign/environment'}
StandardOutput=null
StandardError=journal
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=${final}
TimeoutStartSec=90
TimeoutStopSec=20
KillSignal=SIGTERM
${HARDENED}
${isSystem ? `${CONFINED}\n` : ''}
[Install]
WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}
`
}

/** Returns a path as one word of a list of paths in a unit. */
function listed(path: string): string {
  if (/[\p{Cc}"'\\]/u.test(path))
    throw new StartError(
      'failed',
      `${JSON.stringify(path)} contains a character that systemd does not accept in a path. Choose another folder.`,
    )
  const escaped = path.replaceAll('%', '%%')
  return /\s/.test(escaped) ? `"${escaped}"` : escaped
}

// The unit of the machine runs as root: the state is the service's, the folder may be anyone's, and
// only root can read one and write to the other.
const backupConfined = (
  folder: string,
) => `CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectSystem=strict
ReadWritePaths=${listed(folder)}
`

/** Returns the unit that makes one backup. Unlike command lines, Environment= has no variables. */
export function backupUnit(wanted: TimerSettings): string {
  const { scope, program, folder, stateDir } = wanted
  const isSystem = scope === 'system'
  return `# Written by "countersignd backup --schedule"
[Unit]
Description=Countersign: a backup of this device
# After the program was removed, the timer does nothing until it is installed again.
ConditionFileIsExecutable=${program[0]!.replaceAll('%', '%%')}
RequiresMountsFor=${listed(folder)}
After=countersignd.service

[Service]
Type=oneshot
ExecStart=${commandLine(program, SCHEDULED.join(' '))}
${stateDir === null ? '' : `Environment=${unitWord(`SVC_STATE_DIR=${stateDir}`)}\n`}StandardOutput=null
StandardError=journal
${HARDENED}
${isSystem ? backupConfined(folder) : ''}`
}

/** Returns the timer of that unit. */
export const timerUnit = ({ at }: TimerSettings): string =>
  `# Written by "countersignd backup --schedule"
[Unit]
Description=Countersign: a daily backup of this device

[Timer]
OnCalendar=*-*-* ${at}:00
Persistent=yes

[Install]
WantedBy=timers.target
`

/** The program of the Debian package. */
export const PACKAGED_PROGRAM = '/usr/bin/countersignd'

/** Returns the system unit of the Debian package. */
export const packagedUnit = (): string =>
  unit(
    { scope: 'system', program: [PACKAGED_PROGRAM], home: '/root', uid: 0, env: {}, socket: null },
    '# From the package countersignd. Make changes in a drop-in: systemctl edit countersignd',
  ).replace('[Unit]\n', '[Unit]\nDocumentation=man:countersignd.service(8) man:countersignd(1)\n')

/**
 * Returns the unit of the socket, which exists also while the daemon does not run.
 *
 * Without SocketMode=, every user could connect.
 */
const socketUnit = (isSystem: boolean, group: string | null) =>
  `# Written by "countersignd service install --socket". Make changes in a drop-in: systemctl${isSystem ? '' : ' --user'} edit ${SOCKET_UNIT}
[Unit]
Description=Countersign: the socket of the daemon

[Socket]
ListenStream=${isSystem ? '/run' : '%t'}/countersignd.sock
${group === null ? 'SocketMode=0600' : `SocketMode=0660\nSocketGroup=${group}`}
RemoveOnStop=yes

[Install]
WantedBy=sockets.target
`

/**
 * An environment in which the health check finds the daemon of the machine.
 *
 * It is the environment of a caller who has no state folder.
 */
const ANYBODY = { SVC_STATE_DIR: '', STATE_DIRECTORY: '', XDG_STATE_HOME: '/nonexistent' }

const ASKED = 'ActiveState,UnitFileState,ActiveEnterTimestamp,ExecMainStatus'

/** Parses a time in systemd's format, such as `Sun 2026-11-22 01:51:04 UTC`. */
function instant(text = ''): string | null {
  const [, date, time] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/.exec(text) ?? []
  return date === undefined ? null : `${date}T${time}Z`
}

function standing({ out }: { readonly out: string }): ServiceState {
  const properties = new Map(out.split('\n').map((line) => line.split(/=(.*)/) as [string, string]))
  const running = properties.get('ActiveState') === 'active'
  return {
    enabled: properties.get('UnitFileState') === 'enabled',
    running,
    since: running ? instant(properties.get('ActiveEnterTimestamp')) : null,
  }
}

type Place = Pick<ServiceSettings, 'scope' | 'home' | 'env'>

/** Returns the folder of a user's settings (XDG Base Directory Specification). */
const userSettings = ({ home, env }: Pick<Place, 'home' | 'env'>): string => {
  const named = env['XDG_CONFIG_HOME']
  return named?.startsWith('/') ? named : `${home}/.config`
}

/** Returns the folder of the units of a scope. */
export const unitFolder = (place: Place): string =>
  place.scope === 'system' ? '/etc/systemd/system' : `${userSettings(place)}/systemd/user`

/** Returns a function that returns a command of systemctl(1) for a scope. */
export const systemctlFor =
  (scope: ServiceSettings['scope']) =>
  (...words: string[]): CommandWords =>
    scope === 'system' ? ['systemctl', ...words] : ['systemctl', '--user', ...words]

/** Returns the unit for a scope, and the commands of systemctl(1). */
export function systemd(wanted: ServiceSettings): Definition {
  const { scope, program } = wanted
  const isSystem = scope === 'system'
  const remainingFolder = isSystem ? SYSTEM_SETTINGS : `${userSettings(wanted)}/countersign`
  const systemctl = systemctlFor(scope)
  const fileOf = (name: string, content: string): ServiceFile => ({
    path: `${unitFolder(wanted)}/${name}`,
    content,
    mode: 0o644,
    encoding: 'utf8',
  })
  const socketOf = (group: string | null): SocketDefinition => ({
    file: fileOf(SOCKET_UNIT, socketUnit(isSystem, group)),
    start: [
      systemctl('daemon-reload'),
      // systemd does not start a socket while its service runs.
      systemctl('stop', UNIT),
      systemctl('enable', SOCKET_UNIT),
      systemctl('restart', SOCKET_UNIT),
    ],
    end: [systemctl('disable', '--now', SOCKET_UNIT)],
  })
  return {
    name: UNIT,
    file: fileOf(
      UNIT,
      unit(
        wanted,
        `# Written by "countersignd service install". Make changes in a drop-in: systemctl${isSystem ? '' : ' --user'} edit countersignd`,
      ),
    ),
    socket: wanted.socket === null ? null : socketOf(wanted.socket.group),
    mark: `ExecStart=${commandLine(program, 'serve')}`,
    demands: [
      {
        words: systemctl('show', '--property=Version'),
        remedy: isSystem
          ? 'systemd is not running here, as in most containers. To run the daemon without it, use "countersignd serve". To see the unit, use "countersignd service print --system".'
          : 'The systemd of this user cannot be reached, which is usual in a container and after su or sudo. Log in as that user. To see the unit, use "countersignd service print --user".',
      },
    ],
    // The service may have reached its limit of starts before the operator corrected a setting.
    before: [systemctl('reset-failed', UNIT)],
    start: [systemctl('daemon-reload'), systemctl('enable', UNIT), systemctl('restart', UNIT)],
    startWaits: true,
    end: [systemctl('disable', '--now', UNIT)],
    after: [systemctl('daemon-reload')],
    ask: systemctl('show', '--timestamp=utc', `--property=${ASKED}`, UNIT),
    standing,
    refusesState: ({ out }) => /^ExecMainStatus=7$/m.test(out),
    health: {
      words: [...program, 'health'],
      env: isSystem ? ANYBODY : {},
    },
    stateDir: isSystem ? SYSTEM_STATE : null,
    settings: isSystem ? `${remainingFolder}/countersignd.env` : `${remainingFolder}/environment`,
    remainingFolder,
    log: isSystem ? 'journalctl -u countersignd' : 'journalctl --user -u countersignd',
  }
}
