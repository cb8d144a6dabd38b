/**
 * Determines the state folder of the installed service from the service's own settings.
 *
 * The caller's environment is ignored. The settings are read before anything is removed. If they
 * are ambiguous, the operation fails and changes nothing.
 */
import { stateDirIn } from '../../config/config.ts'
import { environmentLines } from '../../config/environment-file.ts'
import { StartError } from '../../errors.ts'
import type { CommandWords, Definition, ServicePlatform } from './definition.ts'
import { fromPropertyList } from './launchd.ts'
import type { Host } from './machine.ts'
import { STATE_LINK, SYSTEM_STATE } from './systemd.ts'

/** The variables that determine the state folder. */
const NAMES = ['SVC_STATE_DIR', 'STATE_DIRECTORY', 'XDG_STATE_HOME', 'HOME'] as const
const IN_DROP_IN = /SVC_STATE_DIR|STATE_DIRECTORY|XDG_STATE_HOME|\bHOME=|EnvironmentFile/

/**
 * Reads a file; returns no bytes if it is missing.
 * @throws StartError `configuration` if the file cannot be read
 */
function contentOf(machine: Host, path: string): Uint8Array {
  try {
    return machine.read(path) ?? new Uint8Array()
  } catch (cause) {
    throw new StartError(
      'configuration',
      `${path} cannot be read (${(cause as NodeJS.ErrnoException).code}), so the state folder of the service is not known. Check the permissions of that file.`,
      cause,
    )
  }
}

/**
 * Rejects drop-ins that set a folder.
 * @throws StartError `configuration`
 */
function requireNoDropIn(machine: Host, { file, settings }: Definition): void {
  for (const name of machine.list(`${file.path}.d`)) {
    const path = `${file.path}.d/${name}`
    if (
      !name.endsWith('.conf') ||
      !IN_DROP_IN.test(Buffer.from(contentOf(machine, path)).toString())
    )
      continue
    throw new StartError(
      'configuration',
      `${path} changes the state folder or the settings file of the service. Set SVC_STATE_DIR=/its/folder in ${settings} instead, then run this command again.`,
    )
  }
}

/** Returns the variables that the user's systemd passes to all its services. */
async function environmentOfManager(machine: Host, { demands }: Definition) {
  const words: CommandWords = ['systemctl', '--user', 'show-environment']
  const { code, out } = await machine.run(words)
  if (code !== 0) throw new StartError('failed', demands[0]?.remedy ?? words.join(' '))
  // systemctl writes special values as $'…', which the parser of lines rejects.
  const lines = out.split('\n').filter((line) => NAMES.some((name) => line.startsWith(`${name}=`)))
  const odd = lines.find((line) => /=["']|=\$'|\\/.test(line))
  if (odd !== undefined)
    throw new StartError(
      'configuration',
      `"${words.join(' ')}" prints an ambiguous value for ${odd.split('=', 1).join()}. Set SVC_STATE_DIR=/its/folder in the settings of the service, then run this command again.`,
    )
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2)))
}

async function environmentOf(
  machine: Host,
  platform: ServicePlatform,
  definition: Definition,
  list?: Uint8Array,
) {
  const { settings, file, stateDir } = definition
  if (platform === 'win32') return machine.env
  if (platform === 'darwin')
    return fromPropertyList(list ?? contentOf(machine, file.path), file.path)
  requireNoDropIn(machine, definition)
  const of = stateDir === null ? await environmentOfManager(machine, definition) : {}
  return { ...of, ...fromEnvironmentFile(contentOf(machine, settings), NAMES, settings) }
}

/**
 * Returns the absolute path of the service's state folder.
 * @param list the content of the property list; undefined for the installed one
 * @throws StartError with a remedy, if the settings are ambiguous
 */
export async function stateDirOf(
  machine: Host,
  platform: ServicePlatform,
  definition: Definition,
  list?: Uint8Array,
): Promise<string> {
  const { stateDir } = definition
  if (platform === 'win32' && stateDir !== null) return stateDir
  const all = await environmentOf(machine, platform, definition, list)
  const of: NodeJS.ProcessEnv = Object.fromEntries(
    [...NAMES, 'LOCALAPPDATA'].flatMap((name) => (all[name] ? [[name, all[name]]] : [])),
  )
  if (stateDir !== null && of['SVC_STATE_DIR'] === undefined) return stateDir
  const homedir = () => (platform === 'win32' ? undefined : of['HOME']) ?? machine.home
  const dir = stateDirIn(of, { platform, homedir })
  return dir === STATE_LINK ? SYSTEM_STATE : dir
}

/**
 * Returns the definition with a health check that uses the service's state folder.
 *
 * If the folder cannot be determined, the definition is returned unchanged.
 */
export async function askedThere(
  machine: Host,
  platform: ServicePlatform,
  definition: Definition,
  list?: Uint8Array,
): Promise<Definition> {
  if (definition.stateDir !== null || platform === 'win32') return definition
  try {
    const SVC_STATE_DIR = await stateDirOf(machine, platform, definition, list)
    return { ...definition, health: { ...definition.health, env: { SVC_STATE_DIR } } }
  } catch (error) {
    if (error instanceof StartError) return definition
    throw error
  }
}

/**
 * Returns the values of some variables in an environment file, parsed as systemd does.
 *
 * If a variable occurs more than once, the last line counts. Every ambiguous line is rejected.
 * @param path the path of the file, for the message, which contains no value
 * @throws StartError `configuration` for a line that cannot be parsed unambiguously
 * @see systemd.exec(5), EnvironmentFile=
 */
function fromEnvironmentFile(
  content: Uint8Array,
  names: readonly string[],
  path: string,
): NodeJS.ProcessEnv {
  const found: NodeJS.ProcessEnv = {}
  const doubt = (line: number) =>
    new StartError(
      'configuration',
      `Line ${line} of ${path} is ambiguous, so the state folder of the service is not known. ` +
        'Write SVC_STATE_DIR=/its/folder on a line of its own in that file, and every other value on one line. Then run this command again.',
    )
  const lines = environmentLines(content)
  if (lines === null) throw doubt(1)
  for (const { line, name, value, isOpen, text } of lines) {
    if (isOpen) throw doubt(line)
    if (name !== null && names.includes(name)) {
      if (value === null) throw doubt(line)
      found[name] = value
    } else if (names.some((known) => new RegExp(`(^|\\W)${known}(\\W|$)`).test(name ?? text)))
      throw doubt(line)
  }
  return found
}
