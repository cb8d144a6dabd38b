/**
 * The units of systemd. The system unit runs as a user that exists only while it runs, sees nothing of the machine but its own folder,
 * and gets the key of its keychain as a credential. The user unit keeps to what needs no namespace of its own, in which the
 * daemon could not see the user's session bus, nor who asks.
 */
import { SYSTEM } from '../../config/config.ts'
import { StartError } from '../../errors.ts'
import { type Definition, type Standing, TITLE, type Wanted, type Words } from './definition.ts'

const UNIT = 'countersignd.service'

/** Where systemd keeps the state of a service whose user comes and goes; `/var/lib/countersign` is a link to it. */
export const SYSTEM_STATE = '/var/lib/private/countersign'
/** The link that systemd makes to it. */
export const STATE_LINK = SYSTEM.state
/** The settings and the key of the system service, kept by whoever runs the machine. */
export const SYSTEM_SETTINGS = '/etc/countersign'

/**
 * One word of a command line of a unit (systemd.syntax(7), systemd.service(5) "Command lines").
 * @param isPath of the first word, in which no variable is looked for
 */
function word(text: string, isPath: boolean): string {
  // A line of a unit ends where the text has a line feed; the rest systemd does not run.
  if (/\p{Cc}/u.test(text) || (isPath && /["'\\]/.test(text)))
    throw new StartError(
      'failed',
      `${JSON.stringify(text)} has a character that systemd does not take in the path of a program: move it elsewhere.`,
    )
  const escaped = text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')
  const whole = isPath ? escaped : escaped.replaceAll('$', '$$$$')
  return /^[\w@%+=:,./-]+$/.test(whole) ? whole : `"${whole}"`
}

const commandLine = (program: readonly string[], rest: string) =>
  `${program.map((text, at) => word(text, at === 0)).join(' ')} ${rest}`

/** What both units say of the process itself. System calls that are refused give an error, as where a kernel has none. */
const HARDENED = `NoNewPrivileges=yes
LockPersonality=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
LimitCORE=0
UMask=0077`

// No MemoryDenyWriteExecute: V8 compiles. No PrivateUsers: who asks would be nobody.
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

/** Its user, its folders and its credentials. The machine key is optional, since its path is relative (systemd.exec(5)). */
const OWN = `User=countersign
DynamicUser=yes
StateDirectory=countersign
StateDirectoryMode=0700
RuntimeDirectory=countersign
RuntimeDirectoryMode=0755
Environment=SVC_STATE_DIR=${SYSTEM_STATE}
EnvironmentFile=-${SYSTEM_SETTINGS}/environment
LoadCredential=countersign-key:${SYSTEM_SETTINGS}/key
LoadCredential=countersign-machine-key`

/** Exit codes that would come again: wrong usage or configuration, a state that is unsafe, newer, or of protocol 1. */
const FINAL = '2 3 6 7 12'

const unit = (wanted: Wanted) => {
  const isSystem = wanted.scope === 'system'
  // A keychain that is out of reach may be one of a session that is still to be unlocked, and is within reach a little later.
  const final = isSystem ? `${FINAL} 8` : FINAL
  return `# Written by "countersignd service install". Changes belong into a drop-in: systemctl${isSystem ? '' : ' --user'} edit countersignd
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

/** The environment of a caller without a state folder, who is led to the instance of the whole machine. */
const ANYBODY = { SVC_STATE_DIR: '', STATE_DIRECTORY: '', XDG_STATE_HOME: '/nonexistent' }

const ASKED = 'ActiveState,UnitFileState,ActiveEnterTimestamp,ExecMainStatus'

/** As systemd writes it: Sun 2026-11-22 01:51:04 UTC. */
function instant(text = ''): string | null {
  const [, date, time] = /(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) UTC$/.exec(text) ?? []
  return date === undefined ? null : `${date}T${time}Z`
}

function standing({ out }: { readonly out: string }): Standing {
  const said = new Map(out.split('\n').map((line) => line.split(/=(.*)/) as [string, string]))
  const running = said.get('ActiveState') === 'active'
  return {
    enabled: said.get('UnitFileState') === 'enabled',
    running,
    since: running ? instant(said.get('ActiveEnterTimestamp')) : null,
  }
}

/** The unit of a scope, and the commands of systemctl(1). */
export function systemd(wanted: Wanted): Definition {
  const { scope, home, env, program } = wanted
  const isSystem = scope === 'system'
  const settings = env['XDG_CONFIG_HOME']?.startsWith('/')
    ? env['XDG_CONFIG_HOME']
    : `${home}/.config`
  const keeps = isSystem ? SYSTEM_SETTINGS : `${settings}/countersign`
  const systemctl = (...words: string[]): Words =>
    isSystem ? ['systemctl', ...words] : ['systemctl', '--user', ...words]
  return {
    name: UNIT,
    file: {
      path: isSystem ? `/etc/systemd/system/${UNIT}` : `${settings}/systemd/user/${UNIT}`,
      content: unit(wanted),
      mode: 0o644,
      encoding: 'utf8',
    },
    mark: `ExecStart=${commandLine(program, 'serve')}`,
    demands: [
      {
        words: systemctl('show', '--property=Version'),
        remedy: isSystem
          ? 'systemd does not run here, as in most containers: "countersignd service print --system" shows the unit, and "countersignd serve" runs the daemon without it.'
          : 'The systemd of this user cannot be reached, as in a container, or after su and sudo: log in as the user. "countersignd service print --user" shows the unit.',
      },
    ],
    // Somebody who puts a wrong setting right may have started it too often by now.
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
    settings: `${keeps}/environment`,
    keeps,
    log: isSystem ? 'journalctl -u countersignd' : 'journalctl --user -u countersignd',
  }
}
