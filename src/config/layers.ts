/**
 * The settings of the environment and of the two files, as one set.
 *
 * The environment comes first, then the file in the state folder, then the file for all users of
 * the machine. An empty value counts as unset, and hides the values that come after it.
 */
import { didYouMean, nearestName } from '../crypto/encoding/similar.ts'
import { StartError } from '../errors.ts'
import { ENVIRONMENT_URL } from './accounts.ts'
import {
  type SettingPlace,
  SETTINGS_FILE,
  type SettingsFile,
  placed,
  readSettingsFile,
  systemSettingsFile,
} from './settings-files.ts'
import { NAMED_SERVER, SETTING_NAMES } from './setting-names.ts'
import { type ConfigPlatform, type Env, configFault, pathOn, read } from './values.ts'

export interface Layers {
  /** The environment with the settings of the files. */
  readonly env: Env
  /** The lines of the settings that come from a file, by name. */
  readonly places: ReadonlyMap<string, SettingPlace>
  /** The files, in the order in which they apply. */
  readonly files: readonly SettingsFile[]
  /** The faults that do not depend on a value. */
  readonly faults: readonly StartError[]
}

/** The names of all settings with a fixed name. */
const KNOWN = SETTING_NAMES.filter((name) => name !== NAMED_SERVER)

/**
 * Returns the error for an unknown setting, which must be a mistake; null for a known one.
 *
 * Its value is not shown, because it may be a secret.
 */
function unknownName(name: string): string | null {
  if (KNOWN.includes(name) || ENVIRONMENT_URL.test(name)) return null
  const meant = nearestName(name, KNOWN)
  const remedy = meant === null ? ' Unset it.' : didYouMean([meant])
  return `${JSON.stringify(name)} is not the name of a setting.${remedy}`
}

function* unknownInEnvironment(env: Env): Generator<StartError> {
  for (const name of Object.keys(env)) {
    if (!name.startsWith('SVC_') || read(env, name) === null) continue
    const fault = unknownName(name)
    if (fault !== null) yield configFault(fault)
  }
}

function* faultsOf({ faults, assigned }: SettingsFile): Generator<StartError> {
  yield* faults
  for (const [name, place] of assigned) {
    const fault = unknownName(name)
    if (fault !== null) yield configFault(placed(place, fault))
  }
}

function* folderInFolder({ assigned }: SettingsFile): Generator<StartError> {
  const place = assigned.get('SVC_STATE_DIR')
  if (place !== undefined)
    yield configFault(
      placed(
        place,
        'SVC_STATE_DIR cannot be set in the state folder, because it selects that folder. Delete the line, and set SVC_STATE_DIR in the environment.',
      ),
    )
}

/** Returns the result of `find`; null if it throws, which a later check reports. */
function orNull<T>(find: () => T): T | null {
  try {
    return find()
  } catch (error) {
    if (error instanceof StartError) return null
    throw error
  }
}

const valuesOf = ({ assigned }: SettingsFile): Env =>
  Object.fromEntries([...assigned].map(([name, { value }]) => [name, value]))

/**
 * Reads the files, and returns all settings with their places.
 * @param folderOf returns the state folder that an environment selects
 */
export function layersOf(env: Env, os: ConfigPlatform, folderOf: (env: Env) => string): Layers {
  const system = readSettingsFile(systemSettingsFile(env, os))
  const given: Env = { ...valuesOf(system), ...env }
  const folder = orNull(() => folderOf(given))
  const own = folder === null ? null : readSettingsFile(pathOn(os).join(folder, SETTINGS_FILE))
  const files = own === null ? [system] : [own, system]
  const all: Env = { ...valuesOf(system), ...(own === null ? {} : valuesOf(own)), ...env }
  const places = files
    .toReversed()
    .flatMap(({ assigned }) => [...assigned])
    .filter(([name]) => env[name] === undefined)
  return {
    env: all,
    places: new Map(places),
    files,
    faults: [
      ...unknownInEnvironment(env),
      ...files.flatMap((file) => [...faultsOf(file)]),
      ...(own === null ? [] : folderInFolder(own)),
    ],
  }
}

/** Returns an error with the lines of the settings that it names, if they stand in a file. */
export function located(error: StartError, places: ReadonlyMap<string, SettingPlace>): StartError {
  const [first, ...others] = new Set(error.message.match(/\bSVC_[A-Z0-9_]+/g))
  const beside = others.flatMap((name) => {
    const place = places.get(name)
    return place === undefined ? [] : [`${name} is set in ${place.path}:${place.line}.`]
  })
  const place = first === undefined ? undefined : places.get(first)
  const text = place === undefined ? error.message : placed(place, error.message)
  if (text === error.message && beside.length === 0) return error
  return configFault([text, ...(beside.length === 0 ? [] : [`(${beside.join(' ')})`])].join(' '))
}
