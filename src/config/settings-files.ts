/**
 * The files with settings: one in the state folder, and one for all users of the machine.
 *
 * A file has the syntax of an environment file, so that systemd can read it too. Other users must
 * not be able to write to a file, nor to read a secret in it.
 */
import {
  type Stats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../errors.ts'
import { environmentLines } from './environment-file.ts'
import { SECRET_SETTINGS } from './setting-names.ts'
import { type ConfigPlatform, type Env, configFault, pathOn, read } from './values.ts'

/** The name of both files. */
export const SETTINGS_FILE = 'countersignd.env'

/** The longest file, in bytes. */
const LONGEST = 65_536

/** Where a value stands: a line of a file. */
export interface SettingPlace {
  readonly path: string
  readonly line: number
}

interface Assigned extends SettingPlace {
  readonly value: string
}

export interface SettingsFile {
  readonly path: string
  /**
   * The settings of the file apply only if it was read.
   * - `unreadable`: this user may not read it
   * - `refused`: its owner or its mode lets another user change it, or it is not a settings file
   */
  readonly state: 'read' | 'absent' | 'unreadable' | 'refused'
  /** The assignments of names that begin with `SVC_`, by name. */
  readonly assigned: ReadonlyMap<string, Assigned>
  /** The other names, which only systemd passes on. */
  readonly others: readonly string[]
  readonly faults: readonly StartError[]
}

/** Returns the path of the file for all users of the machine. */
export function systemSettingsFile(env: Env, os: ConfigPlatform): string {
  if (os.settingsFile !== undefined) return os.settingsFile
  const folder =
    os.platform === 'win32'
      ? // Every user may create folders in ProgramData, but not in this one.
        `${read(env, 'ProgramFiles') ?? 'C:\\Program Files'}\\Countersign`
      : '/etc/countersign'
  return pathOn(os).join(folder, SETTINGS_FILE)
}

/** Returns a text with the place of a setting before it, in the form of compilers. */
export const placed = ({ path, line }: SettingPlace, text: string): string =>
  `${path}:${line}: ${text}`

const codeOf = (cause: unknown) => (cause as NodeJS.ErrnoException).code ?? 'an unknown error'

/** Whether this user cannot even see if there is such a file. */
function isHidden(path: string): boolean {
  try {
    lstatSync(path)
    return false
  } catch {
    return true
  }
}

interface Opened {
  readonly stat: Stats
  readonly content: Buffer
}

/** @throws what node:fs throws */
function open(path: string): Opened {
  // Without this flag, opening a FIFO would block forever. Windows does not have it.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stat = fstatSync(file)
    const isUsable = stat.isFile() && stat.size <= LONGEST
    return { stat, content: isUsable ? readFileSync(file) : Buffer.alloc(0) }
  } finally {
    closeSync(file)
  }
}

/** Returns what is wrong with the file itself; null if nothing is. */
function fileFault(path: string, { stat }: Opened): string | null {
  if (!stat.isFile()) return `${path} is not a regular file. Replace it with a file.`
  if (stat.size > LONGEST)
    return `${path} is longer than ${LONGEST} bytes, so it was not read. Write only settings into it.`
  const me = process.geteuid?.()
  if (me === undefined) return null
  const owners = [0, me, lstatSync(dirname(path)).uid]
  if (!owners.includes(stat.uid))
    return `${path} belongs to user ${stat.uid}, who could change the settings of this program. Run: chown root '${path}'`
  return (stat.mode & 0o022) === 0
    ? null
    : `Other users can write to ${path} and so change the settings of this program. Run: chmod go-w '${path}'`
}

const unreadLine = (place: SettingPlace) =>
  configFault(
    placed(
      place,
      'this line is not an assignment that can be read with certainty. Write NAME=value on one line, without a backslash; quotation marks may stand only around the whole value.',
    ),
  )

/** Adds the lines of a file to `assigned` and `others`, and returns the faults. */
function faultsOf(
  path: string,
  content: Uint8Array,
  { assigned, others }: { assigned: Map<string, Assigned>; others: string[] },
): StartError[] {
  const lines = environmentLines(content)
  if (lines === null)
    return [configFault(`${path} is not UTF-8 text. Write it again as a text file.`)]
  const faults: StartError[] = []
  for (const { line, name, value, isOpen } of lines) {
    const place = { path, line }
    const earlier = name === null ? undefined : assigned.get(name)
    if (isOpen || name === null || value === null || !/^[A-Za-z_]\w*$/.test(name))
      faults.push(unreadLine(place))
    else if (!name.startsWith('SVC_')) others.push(name)
    else if (earlier !== undefined)
      faults.push(
        configFault(
          placed(place, `${name} stands in line ${earlier.line} too. Delete one of the two lines.`),
        ),
      )
    else assigned.set(name, { ...place, value })
  }
  return faults
}

/** Returns the error if other users can read a secret in a file; null if they cannot. */
function exposed(path: string, { stat }: Opened, names: Iterable<string>): StartError | null {
  if (process.geteuid === undefined || (stat.mode & 0o004) === 0) return null
  const secret = [...names].find((name) => SECRET_SETTINGS.includes(name))
  return secret === undefined
    ? null
    : configFault(
        `${path} contains ${secret}, and every user of this machine can read it. Run: chmod 600 '${path}', and replace the secret if others may have read it.`,
      )
}

/** Reads a file with settings. It is not an error if there is none. */
export function readSettingsFile(path: string): SettingsFile {
  const nothing = { path, assigned: new Map<string, Assigned>(), others: [], faults: [] }
  let opened: Opened
  try {
    opened = open(path)
  } catch (cause) {
    const code = codeOf(cause)
    if (['ENOENT', 'ENOTDIR'].includes(code)) return { ...nothing, state: 'absent' }
    if (['EACCES', 'EPERM'].includes(code))
      return { ...nothing, state: isHidden(path) ? 'absent' : 'unreadable' }
    const fault = configFault(`${path} cannot be read (${code}). Correct the file or its folder.`)
    return { ...nothing, state: 'unreadable', faults: [fault] }
  }
  const fault = fileFault(path, opened)
  if (fault !== null) return { ...nothing, state: 'refused', faults: [configFault(fault)] }
  const [assigned, others] = [new Map<string, Assigned>(), [] as string[]]
  const faults = faultsOf(path, opened.content, { assigned, others })
  const secret = exposed(path, opened, assigned.keys())
  return {
    path,
    state: 'read',
    assigned,
    others,
    faults: secret === null ? faults : [...faults, secret],
  }
}
