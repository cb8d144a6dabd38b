/** Takes the service away, and only when asked to also what it kept. What this program does not know is left, and named. */
import { StartError } from '../../errors.ts'
import { type Wanted, type ServicePlatform, placeOf } from './definition.ts'
import { definitionOf } from './definitions.ts'
import { takeAway } from './install.ts'
import { keptOf } from './previous.ts'
import type { Machine } from './machine.ts'
import { STATE_LINK, SYSTEM_STATE } from './systemd.ts'

/** What the service reads in its folder of settings. */
const SETTINGS_FILES = ['environment', 'key', 'key.cred']

export interface Gone {
  readonly wasThere: boolean
  /** What was to be removed and could not be. */
  readonly left: readonly string[]
  /** The program, where it was one that the installation had copied. */
  readonly program: string | null
}

/**
 * Stop, disable and remove the service.
 * @param wanted of which the program does not matter
 */
export async function uninstall(
  machine: Machine,
  platform: ServicePlatform,
  wanted: Wanted,
): Promise<Gone> {
  const place = placeOf(platform, wanted)
  const definition = definitionOf(platform, { ...wanted, program: [place] })
  const { path, encoding } = definition.file
  const installed = machine.read(path)
  if (installed === null) return { wasThere: false, left: [], program: null }
  const isOurs = Buffer.from(installed).toString(encoding).includes(definition.mark)
  const program = isOurs ? place : null
  return {
    wasThere: true,
    left: await takeAway(machine, { definition }, isOurs ? [place, keptOf(place)] : []),
    program,
  }
}

/** Where an operator may have put something for the service, which a later installation would take up. */
const besideOf = (unit: string): string[] =>
  unit.startsWith('/etc/systemd/')
    ? [
        `${unit}.d`,
        ...['/etc/credstore', '/etc/credstore.encrypted'].map(
          (folder) => `${folder}/countersign-machine-key`,
        ),
      ]
    : [`${unit}.d`]

/** Removes what a state folder has, and says what stays there. */
export type Purge = (
  of: { readonly stateDir: string },
  say: (text: string) => void,
) => Promise<void>

/**
 * Remove the state and the settings too, for good.
 * @param stateDir of the service
 * @param say hears of what is left, which this program did not make
 * @throws as `purge` does
 */
export async function purgeAll(
  machine: Machine,
  {
    stateDir,
    keeps,
    unit,
  }: { readonly stateDir: string; readonly keeps: string | null; readonly unit: string },
  purge: Purge,
  say: (text: string) => void,
): Promise<void> {
  await purge({ stateDir }, say)
  if (stateDir === SYSTEM_STATE && machine.look(STATE_LINK)?.isLink === true)
    machine.remove(STATE_LINK)
  for (const path of besideOf(unit))
    if (machine.look(path) !== null) say(`${path} is not of this program, and stays.`)
  if (keeps === null) return
  for (const name of SETTINGS_FILES) machine.remove(`${keeps}/${name}`)
  if (machine.removeFolder(keeps)) return
  for (const name of machine.list(keeps)) say(`${keeps}/${name} is not of this program, and stays.`)
}

/** Throws StartError: what is left although it was to go. */
export function demandGone(left: readonly string[]): void {
  if (left.length > 0)
    throw new StartError('failed', `These are left, remove them yourself: ${left.join(', ')}`)
}
