/**
 * Removes the service and, on request, its state and settings.
 *
 * Files that this program did not create are reported and left.
 */
import { SETTINGS_FILE } from '../../config/settings-files.ts'
import { StartError } from '../../errors.ts'
import { type ServiceSettings, type ServicePlatform, unitPath } from './definition.ts'
import { definitionOf } from './definitions.ts'
import { takeAway } from './install.ts'
import { savedPathOf } from './previous.ts'
import type { Host } from './machine.ts'
import { STATE_LINK, SYSTEM_STATE } from './systemd.ts'

/** The names of the files in the settings folder that the service reads. */
const SETTINGS_FILES = ['environment', SETTINGS_FILE, 'key', 'key.cred']

interface Gone {
  readonly wasThere: boolean
  /** The paths that could not be removed. */
  readonly left: readonly string[]
  /** The path that the installation copied the program to; null if it did not copy it. */
  readonly program: string | null
  /** The path of the file of the socket; null if there was none. */
  readonly socket: string | null
}

/**
 * Stops, disables and removes the service.
 * @param wanted the input of the definition; `program` and `socket` are ignored
 */
export async function uninstall(
  machine: Host,
  platform: ServicePlatform,
  wanted: ServiceSettings,
): Promise<Gone> {
  const place = unitPath(platform, wanted)
  const own = { ...wanted, program: [place] } as const
  const withSocket = definitionOf(platform, { ...own, socket: { group: null } })
  const { socket } = withSocket
  const hasSocket = socket !== null && machine.lstat(socket.file.path) !== null
  const definition = hasSocket ? withSocket : definitionOf(platform, { ...own, socket: null })
  const { path, encoding } = definition.file
  const installed = machine.read(path)
  if (installed === null) return { wasThere: false, left: [], program: null, socket: null }
  const isOurs = Buffer.from(installed).toString(encoding).includes(definition.mark)
  const program = isOurs ? place : null
  return {
    wasThere: true,
    left: await takeAway(machine, { definition }, isOurs ? [place, savedPathOf(place)] : []),
    program,
    socket: hasSocket ? socket.file.path : null,
  }
}

/** Returns paths where an operator may have added files that a later installation would use. */
const besideOf = (unit: string): string[] => {
  if (!unit.endsWith('.service')) return [`${unit}.d`]
  const ofSocket = unit.replace(/service$/, 'socket')
  const dropIns = [`${unit}.d`, `${ofSocket}.d`]
  if (!unit.startsWith('/etc/systemd/')) return dropIns
  const stores = ['/etc/credstore', '/etc/credstore.encrypted']
  return [...dropIns, ...stores.map((folder) => `${folder}/countersign-machine-key`)]
}

/** Removes the contents of a state folder, and reports what remains. */
export type Purge = (
  of: { readonly stateDir: string },
  say: (text: string) => void,
) => Promise<void>

/**
 * Removes the state and the settings permanently.
 * @param stateDir the service's state folder
 * @param keeps the settings folder; null if there is none
 * @param unit the path of the service's file
 * @param say called with a message for each file that is left because this program did not create
 * it
 * @throws the errors of `purge`
 */
export async function purgeAll(
  machine: Host,
  {
    stateDir,
    remainingFolder,
    unit,
  }: { readonly stateDir: string; readonly remainingFolder: string | null; readonly unit: string },
  purge: Purge,
  say: (text: string) => void,
): Promise<void> {
  await purge({ stateDir }, say)
  if (stateDir === SYSTEM_STATE && machine.lstat(STATE_LINK)?.isLink === true)
    machine.remove(STATE_LINK)
  for (const path of besideOf(unit))
    if (machine.lstat(path) !== null) say(`${path} was not created by this program, so it is kept.`)
  if (remainingFolder === null) return
  for (const name of SETTINGS_FILES) machine.remove(`${remainingFolder}/${name}`)
  if (machine.removeFolder(remainingFolder)) return
  for (const name of machine.list(remainingFolder))
    say(`${remainingFolder}/${name} was not created by this program, so it is kept.`)
}

/**
 * Checks that a removal left nothing.
 * @throws StartError with the paths that remain
 */
export function requireGone(left: readonly string[]): void {
  if (left.length > 0)
    throw new StartError(
      'failed',
      `These files could not be removed: ${left.join(', ')}. Remove them yourself.`,
    )
}
