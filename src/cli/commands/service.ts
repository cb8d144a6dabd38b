/** The commands that install, remove, check and print the daemon's service. */
import { PACKAGED_UNIT } from '../../config/config.ts'
import { EXIT, StartError } from '../../errors.ts'
import { type Command, type Invocation, UsageError } from '../command.ts'
import {
  type ServiceScope,
  type ServicePlatform,
  type ServiceSettings,
  unitPath,
  type Definition,
  type ServiceState,
} from '../service/definition.ts'
import { labelledLines } from '../labels.ts'
import { when } from '../times.ts'
import { SCOPES, definitionOf, platformOf, scopeOf } from '../service/definitions.ts'
import {
  type Plan,
  encoded,
  install,
  SEALING_KEY,
  makeSealingKey,
  requireOwnPlace,
} from '../service/install.ts'
import { type Host, thisMachine } from '../service/machine.ts'
import { askedThere, stateDirOf } from '../service/state-dir.ts'
import { PACKAGED_PROGRAM } from '../service/systemd.ts'
import { type Purge, requireGone, purgeAll, uninstall } from '../service/uninstall.ts'

interface ServiceReport extends ServiceState {
  /** The path of the file that defines the service; null if it is not installed. */
  readonly installed: string | null
  readonly healthy: boolean
}

/** Asks the service manager for the state and, if the service is running, also the daemon. */
async function reportOf(
  { machine, platform, wanted }: Asked,
  definition: Definition,
): Promise<ServiceReport> {
  const { file, ask } = definition
  const isOwn = machine.lstat(file.path) !== null
  const isPackage = !isOwn && isPackaged({ machine, platform, wanted })
  const health = isPackage
    ? { words: [PACKAGED_PROGRAM, 'health'] as const, env: definition.health.env }
    : definition.health
  const standing = definition.standing(await machine.run(ask))
  const asked = standing.running ? await machine.run(health.words, health.env) : null
  const installed = isOwn ? file.path : isPackage ? PACKAGED_UNIT : null
  return { installed, ...standing, healthy: asked?.code === 0 }
}

const yes = (is: boolean) => (is ? 'yes' : 'no')

/** Returns the report as lines of text. */
function linesOf({ installed, enabled, running, since, healthy }: ServiceReport): string[] {
  if (installed === null && !running)
    return ['The service is not installed. To install it: countersignd service install']
  const health = running ? 'the daemon does not answer' : 'not running'
  return labelledLines([
    ['Installed', installed ?? 'no'],
    ['Enabled', yes(enabled)],
    ['Running', running && since !== null ? `since ${when(since)}` : yes(running)],
    ['Health', healthy ? 'the daemon answers' : health],
  ])
}

const SCOPE_HELP = `  --user     the service of this user, which runs while the user is logged in (default, except for root)
  --system   the service of the whole machine, which starts at boot and runs as a user of its own (default for root)`

/** Returns the machine to operate on. Tests pass a different one. */
type MachineOf = (env: NodeJS.ProcessEnv) => Host

/** An example of a home folder, for printing the definition for another system. */
const HOMES: Readonly<Record<ServicePlatform, string>> = {
  linux: '/home/you',
  darwin: '/Users/you',
  win32: 'C:\\Users\\you',
}

interface Asked {
  readonly machine: Host
  readonly platform: ServicePlatform
  readonly wanted: ServiceSettings
}

function asked(invocation: Invocation, machineOf: MachineOf): Asked {
  const machine = machineOf(invocation.io.env)
  const { home, uid, env, self } = machine
  const platform = platformOf(invocation.options['platform'], machine)
  const scope = scopeOf(invocation, machine)
  const wanted = {
    scope,
    program: self.words,
    home: platform === machine.platform ? home : HOMES[platform],
    uid,
    env,
    socket: socketOf(invocation, platform, scope),
  }
  // The definition for another system assumes that the program is a single executable.
  const isCopied = self.isExecutable || wanted.scope === 'system' || platform !== machine.platform
  return {
    machine,
    platform,
    wanted: isCopied ? { ...wanted, program: [unitPath(platform, wanted)] } : wanted,
  }
}

/** The options of the socket. */
const SOCKETS = { socket: { type: 'boolean' }, 'socket-group': { type: 'string' } } as const

const SOCKET_HELP = `  --socket             also install a socket unit of systemd: programs connect to the Unix socket, which exists
                       before the daemon and starts it at the first use (system: /run/countersignd.sock; user:
                       countersignd.sock in XDG_RUNTIME_DIR). Only its owner and root can connect
  --socket-group GROUP the same for the system service, with a socket to which members of GROUP can connect. They
                       can create tokens`

/**
 * Returns the requested socket; null if none was requested.
 * @throws UsageError
 */
function socketOf(
  { options }: Pick<Invocation, 'options'>,
  platform: ServicePlatform,
  scope: ServiceScope,
): ServiceSettings['socket'] {
  const group = options['socket-group']
  if (options['socket'] !== true && group === undefined) return null
  if (platform !== 'linux')
    throw new UsageError(
      '--socket needs systemd. On macOS, set SVC_HTTP_SOCKET in the settings of the service instead.',
    )
  if (group === undefined) return { group: null }
  if (scope === 'user')
    throw new UsageError(
      '--socket-group is for --system. Other users cannot enter the folder of the socket of a user.',
    )
  if (!/^[\w.-]+$/.test(String(group)))
    throw new UsageError('--socket-group must be the name or the gid of one group.')
  return { group: String(group) }
}

/** Returns whether the service of the whole machine comes from a package. */
const isPackaged = ({ machine, platform, wanted }: Asked): boolean =>
  platform === 'linux' && wanted.scope === 'system' && machine.read(PACKAGED_UNIT) !== null

/**
 * Checks that no package owns the service, because the package's scripts would not know a change.
 * @param remedy what to do with the package
 */
function requireNoPackage(request: Asked, remedy: string): void {
  if (isPackaged(request))
    throw new StartError(
      'failed',
      `The service of the whole machine belongs to the package countersignd (${PACKAGED_UNIT}). Nothing was changed. ${remedy}`,
    )
}

function requireRoot({ uid }: Host, scope: ServiceScope, verb: string): void {
  if (scope === 'system' && uid !== null && uid !== 0)
    throw new StartError(
      'failed',
      `Only root can ${verb} the service of the whole machine. Run: sudo countersignd service ${verb} --system. For a service of your own, use --user.`,
    )
}

function planOf({ machine, platform, wanted }: Asked): Plan {
  const { self } = machine
  const isSystem = wanted.scope === 'system'
  if (isSystem && !self.isExecutable)
    throw new StartError(
      'failed',
      'The service of the whole machine can only be installed from the single executable. This program is run by Node from files that other ' +
        'users may be able to change. Build the executable with "npm run build:exe". Then run it as root: dist/release/countersignd-… service install --system',
    )
  const place = unitPath(platform, wanted)
  if (isSystem && platform !== 'win32') requireOwnPlace(machine, place)
  const [from] = self.words
  return {
    definition: definitionOf(platform, wanted),
    copy: self.isExecutable && from !== place ? { from, to: place } : null,
    beside:
      isSystem && platform === 'linux'
        ? { path: SEALING_KEY, make: () => void makeSealingKey(machine) }
        : null,
  }
}

const quoted = (word: string) => (/[\s"]/.test(word) ? JSON.stringify(word) : word)

const LINGER = ' To keep it running while you are logged out: loginctl enable-linger'

/**
 * Returns the service commands for a machine.
 * @param purge empties a state folder
 */
export const serviceCommands = (machineOf: MachineOf, purge: Purge) =>
  ({
    install: {
      usage: '[--user | --system] [--socket | --socket-group GROUP] [--json]',
      help: `
Installs the daemon as a service: copies the executable to its place, writes the service definition for
systemd, launchd or the Windows Task Scheduler, starts the service, and waits until the daemon answers. If the
service is already installed, this version replaces the installed one and keeps the state and the settings.
"countersignd service print" shows beforehand which files are written and which commands are run.

${SCOPE_HELP}
${SOCKET_HELP}`,
      examples: {
        'service install': 'start the daemon now and at each login',
        'service install --system': 'for the whole machine, at boot (as root)',
      },
      options: { ...SCOPES, ...SOCKETS },
      args: [0, 0],
      async run(invocation) {
        const request = asked(invocation, machineOf)
        const { machine, platform, wanted } = request
        requireNoPackage(
          request,
          'Upgrade the package instead. To start the service: sudo systemctl enable --now countersignd',
        )
        requireRoot(machine, wanted.scope, 'install')
        const planned = planOf(request)
        const { definition } = planned
        const plan = definition.startWaits
          ? planned
          : {
              ...planned,
              definition: await askedThere(machine, platform, definition, encoded(definition.file)),
              former: await askedThere(machine, platform, definition),
            }
        const { wasThere } = await install(machine, plan)
        const { file, socket, settings, stateDir } = definition
        const files = socket === null ? [file.path] : [file.path, socket.file.path]
        const program = wanted.program.join(' ')
        const again = wanted.scope === 'system' ? 'at boot' : 'when you log in'
        const linger = platform === 'linux' && wanted.scope === 'user' ? LINGER : ''
        invocation.print(
          {
            installed: file.path,
            socket: socket?.file.path ?? null,
            program,
            state: stateDir,
            settings,
            upgraded: wasThere,
          },
          [
            `${wasThere ? 'Updated' : 'Installed'}: ${program}, run by ${files.join(' and ')}; settings: ${settings}`,
            `The service is running and answers. It starts again ${again}.${linger}`,
            `Next: ${wanted.scope === 'system' && platform !== 'win32' ? 'sudo ' : ''}countersignd token create --name my-app --scope read`,
          ],
        )
      },
    },
    uninstall: {
      usage: '[--user | --system] [--purge --yes] [--json]',
      help: `
Stops the service and removes the files that "countersignd service install" wrote: the service definition and the
copy of the executable. The state and the settings are kept.

${SCOPE_HELP}
  --purge    also delete the state and the settings permanently: the keys of the account on this machine, its
             tokens and its log
  --yes      confirm --purge`,
      options: { ...SCOPES, purge: { type: 'boolean' }, yes: { type: 'boolean' } },
      args: [0, 0],
      async run(invocation) {
        const request = asked(invocation, machineOf)
        const { machine, platform, wanted } = request
        const { options, print, say } = invocation
        requireRoot(machine, wanted.scope, 'uninstall')
        const isPurge = options['purge'] === true
        if (isPurge && options['yes'] !== true)
          throw new UsageError(
            '--purge permanently deletes the keys, the tokens and the log on this machine. To confirm, add --yes.',
          )
        const definition = definitionOf(platform, wanted)
        const { remainingFolder } = definition
        // An older installation may be removed beside the package. The state is the package's then.
        if (isPurge || machine.lstat(definition.file.path) === null)
          requireNoPackage(
            request,
            'Remove the package instead: sudo apt remove countersignd. With its state: sudo apt purge countersignd',
          )
        // Read the settings now, because they name the state folder and will be removed.
        const stateDir = isPurge
          ? await stateDirOf(machine, platform, definition)
          : await stateDirOf(machine, platform, definition).catch(() => null)
        const { wasThere, left, program, socket } = await uninstall(machine, platform, wanted)
        if (isPurge && stateDir !== null) {
          say(`Deleting the state folder of the service: ${stateDir}`)
          await purgeAll(
            machine,
            { stateDir, remainingFolder, unit: definition.file.path },
            purge,
            say,
          )
        }
        requireGone(left)
        const own = [stateDir, remainingFolder].filter((path) => path !== null)
        const removed = [definition.file.path, socket, program].filter((path) => path !== null)
        const staying = isPurge ? own.filter((path) => machine.lstat(path) !== null) : own
        const gone = own.filter((path) => !staying.includes(path))
        print({ removed: [...(wasThere ? removed : []), ...gone], kept: staying }, [
          wasThere ? `Removed: ${removed.join(', ')}` : 'The service was not installed.',
          ...(gone.length === 0 ? [] : [`Deleted permanently: ${gone.join(', ')}`]),
          ...(isPurge && staying.length === 0
            ? []
            : [`Kept: ${staying.join(', ') || 'the state'}`]),
        ])
      },
    },
    status: {
      usage: '[--user | --system] [--json]',
      help: `
Shows whether the service is installed, enabled and running, and whether its daemon answers. The exit code is
0 if the service is running and answers, otherwise 1.

${SCOPE_HELP}`,
      options: SCOPES,
      args: [0, 0],
      async run(invocation) {
        const request = asked(invocation, machineOf)
        const { machine, platform, wanted } = request
        const definition = await askedThere(machine, platform, definitionOf(platform, wanted))
        for (const { words, remedy } of definition.demands)
          if ((await machine.run(words)).code !== 0) throw new StartError('failed', remedy)
        const report = await reportOf(request, definition)
        invocation.print({ scope: wanted.scope, ...report }, linesOf(report))
        return report.running && report.healthy ? EXIT.ok : EXIT.failed
      },
    },
    key: {
      usage: '',
      help: `
Creates the key with which the secrets of the service of the whole machine are sealed, if there is none. The
package of the program runs this command when it is installed.`,
      args: [0, 0],
      run({ io }) {
        makeSealingKey(machineOf(io.env))
        return Promise.resolve()
      },
    },
    print: {
      usage:
        '[--user | --system] [--socket | --socket-group GROUP] [--platform linux|darwin|win32] [--json]',
      help: `
Prints the service definition that "countersignd service install" writes and the commands that it runs. This command
changes nothing.

${SCOPE_HELP}
${SOCKET_HELP}
  --platform SYSTEM    the operating system of the definition: linux, darwin or win32 (default: this system)`,
      options: { ...SCOPES, ...SOCKETS, platform: { type: 'string' } },
      args: [0, 0],
      async run(invocation) {
        const { platform, wanted } = asked(invocation, machineOf)
        const { file, socket, start } = definitionOf(platform, wanted)
        const content = file.content.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
        const [program] = wanted.program
        const isCopied = program === unitPath(platform, wanted)
        const key = platform === 'linux' && wanted.scope === 'system' ? SEALING_KEY : null
        const words = [...(socket?.start ?? []), ...start]
        const commands = words.map((command) => command.map(quoted).join(' '))
        const socketFile =
          socket === null ? null : { path: socket.file.path, content: socket.file.content }
        invocation.print(
          { path: file.path, content, socket: socketFile, program, key, commands },
          [content, ...(socketFile === null ? [] : [socketFile.content])].join('\n').trimEnd(),
        )
        invocation.say(
          [
            '',
            `This is ${file.path}${file.encoding === 'utf16le' ? ', in UTF-16' : ''}${socketFile === null ? '' : `, and ${socketFile.path}`}.`,
            ...(isCopied ? [`The program is copied to ${program}.`] : []),
            ...(key === null ? [] : [`A key is created in ${key} if there is none.`]),
            'Then these commands are run:',
            ...commands.map((command) => `  ${command}`),
          ].join('\n'),
        )
      },
    },
  }) satisfies Record<string, Command>

export const {
  install: serviceInstall,
  uninstall: serviceUninstall,
  status: serviceStatus,
  print: servicePrint,
  key: serviceKey,
} = serviceCommands(thisMachine, async (of, say) => {
  const { purge } = await import('./purge.ts')
  await purge(of, say)
})
