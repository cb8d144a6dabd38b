/**
 * The property lists of launchd.
 *
 * The agent (scope `user`) runs while its user is logged in. The daemon (scope `system`) runs from
 * boot as the user `_countersign`. This user must exist, because launchd does not create it.
 */
import { StartError } from '../../errors.ts'
import type { Definition, ServiceState, ServiceSettings, CommandWords } from './definition.ts'
import { SCHEDULED, type TimerSettings } from './timer-settings.ts'
import { escaped, unescaped } from './xml.ts'

const LABEL = 'org.countersign.countersignd'
const USER = '_countersign'
const SYSTEM_STATE = '/Library/Application Support/Countersign'
const SYSTEM_LOGS = '/Library/Logs/Countersign'

/**
 * How long launchd waits for the end of the daemon, in seconds. A shutdown takes up to 15 seconds.
 */
const EXIT_S = 20
/** The minimum time between two starts of a failing daemon, in seconds. */
const THROTTLE_S = 10

const strings = (texts: readonly string[]) =>
  texts.map((text) => `    <string>${escaped(text)}</string>\n`).join('')

/** Returns a key and its value in XML. A value with nested elements is on separate lines. */
const property = (key: string, value: string) => `  <key>${key}</key>\n  ${value}\n`
const string = (key: string, text: string) => property(key, `<string>${escaped(text)}</string>`)
const integer = (key: string, value: number) => property(key, `<integer>${value}</integer>`)
const dictionary = (key: string, inner: string, value: string) =>
  property(key, `<dict>\n    <key>${inner}</key>\n    ${value}\n  </dict>`)

const listOf = (properties: readonly string[]) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
${properties.join('')}</dict>
</plist>
`

/** Returns the domain of launchctl(1) for a scope. */
export const launchdDomain = ({ scope, uid }: Pick<ServiceSettings, 'scope' | 'uid'>): string =>
  scope === 'system' ? 'system' : `gui/${uid ?? 0}`

/** Returns the property list of a command that runs once a day. */
export function calendarList({ program, at, stateDir }: TimerSettings, label: string): string {
  const [hour, minute] = at.split(':').map(Number)
  return listOf([
    string('Label', label),
    property('ProgramArguments', `<array>\n${strings([...program, ...SCHEDULED])}  </array>`),
    ...(stateDir === null
      ? []
      : [
          dictionary(
            'EnvironmentVariables',
            'SVC_STATE_DIR',
            `<string>${escaped(stateDir)}</string>`,
          ),
        ]),
    property(
      'StartCalendarInterval',
      `<dict>\n    <key>Hour</key>\n    <integer>${hour}</integer>\n    <key>Minute</key>\n    <integer>${minute}</integer>\n  </dict>`,
    ),
    string('ProcessType', 'Background'),
    integer('Umask', 0o077),
  ])
}

function plist({ scope, program }: ServiceSettings, log: string): string {
  const isSystem = scope === 'system'
  const properties = [
    string('Label', LABEL),
    property('ProgramArguments', `<array>\n${strings([...program, 'serve'])}  </array>`),
    ...(isSystem
      ? [
          string('UserName', USER),
          string('GroupName', USER),
          dictionary('EnvironmentVariables', 'SVC_STATE_DIR', `<string>${SYSTEM_STATE}</string>`),
        ]
      : []),
    property('RunAtLoad', '<true/>'),
    dictionary('KeepAlive', 'SuccessfulExit', '<false/>'),
    integer('ThrottleInterval', THROTTLE_S),
    integer('ExitTimeOut', EXIT_S),
    string('ProcessType', 'Standard'),
    integer('Umask', 0o077),
    dictionary('HardResourceLimits', 'Core', '<integer>0</integer>'),
    string('StandardOutPath', '/dev/null'),
    string('StandardErrorPath', log),
  ]
  return listOf(properties)
}

function standing({
  code,
  out,
}: {
  readonly code: number | null
  readonly out: string
}): ServiceState {
  // A loaded service counts as enabled. `launchctl print` fails for a service that was unloaded.
  return { enabled: code === 0, running: /^\s*state = running$/m.test(out), since: null }
}

/** Returns a command that creates a folder of mode 0700 for the daemon's user. */
const folder = (path: string): CommandWords => [
  ...(['install', '-d', '-m', '0700', '-o', USER, '-g', USER] as const),
  path,
]

/** Returns the property list for a scope, and the commands of launchctl(1). */
export function launchd(wanted: ServiceSettings): Definition {
  const { scope, home, program } = wanted
  const isSystem = scope === 'system'
  const domain = launchdDomain(wanted)
  const log = isSystem ? `${SYSTEM_LOGS}/countersignd.log` : `${home}/Library/Logs/countersignd.log`
  const path = isSystem
    ? `/Library/LaunchDaemons/${LABEL}.plist`
    : `${home}/Library/LaunchAgents/${LABEL}.plist`
  const ask: CommandWords = [...program, 'health']
  return {
    name: LABEL,
    file: { path, content: plist(wanted, log), mode: 0o644, encoding: 'utf8' },
    socket: null,
    mark: strings(program),
    demands: isSystem
      ? [
          {
            words: ['id', '-u', USER],
            remedy: `The service needs the user ${USER}, which does not exist. Create it with a free user id below 400: sysadminctl -addUser ${USER} -roleAccount -UID 381`,
          },
        ]
      : [],
    before: [],
    start: [
      ...(isSystem ? [folder(SYSTEM_STATE), folder(SYSTEM_LOGS)] : []),
      ['launchctl', 'enable', `${domain}/${LABEL}`],
      ['launchctl', 'bootstrap', domain, path],
    ],
    startWaits: false,
    end: [['launchctl', 'bootout', `${domain}/${LABEL}`]],
    after: [],
    ask: ['launchctl', 'print', `${domain}/${LABEL}`],
    standing,
    refusesState: ({ out }) => /^\s*last exit code = 7\b/m.test(out),
    health: {
      words: isSystem
        ? ['sudo', '-n', '-u', USER, 'env', `SVC_STATE_DIR=${SYSTEM_STATE}`, ...ask]
        : ask,
      env: {},
    },
    stateDir: isSystem ? SYSTEM_STATE : null,
    settings: `EnvironmentVariables in ${path}`,
    remainingFolder: null,
    log: `tail -f '${log.replaceAll("'", "'\\''")}'`,
  }
}

const DICTIONARY = /<key>EnvironmentVariables<\/key>\s*<dict>((?:(?!<dict>)[^])*?)<\/dict>/
const PAIR = /\s*<key>([^<]*)<\/key>\s*<string>([^<]*)<\/string>\s*/y

/**
 * Returns the EnvironmentVariables of a property list (launchd.plist(5)); empty for an empty file.
 * @param path the path of the file, for the message
 * @throws StartError `configuration` if the list cannot be parsed unambiguously
 */
export function fromPropertyList(content: Uint8Array, path: string): NodeJS.ProcessEnv {
  const text = Buffer.from(content).toString('utf8')
  const doubt = () =>
    new StartError(
      'configuration',
      `The EnvironmentVariables of ${path} are ambiguous, so the state folder of the service cannot be determined. ` +
        'Write them as plain keys and strings without comments, then run this command again.',
    )
  if (text === '') return {}
  const [, ...more] = text.split('EnvironmentVariables')
  if (!/^\s*<\?xml/.test(text) || /<!--|<!\[CDATA|<!ENTITY/.test(text) || more.length > 1)
    throw doubt()
  if (more.length === 0) return {}
  const inner = DICTIONARY.exec(text)?.[1]
  if (inner === undefined) throw doubt()
  const found: NodeJS.ProcessEnv = {}
  let at = 0
  while (at < inner.trimEnd().length) {
    PAIR.lastIndex = at
    const [whole = '', name = '', value = ''] = PAIR.exec(inner) ?? []
    const [key, string] = [unescaped(name), unescaped(value)]
    if (whole === '' || key === null || string === null) throw doubt()
    found[key] = string
    at += whole.length
  }
  return found
}
