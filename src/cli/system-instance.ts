/**
 * The daemon that the service manager runs for the whole machine, as other users and root find it. It is believed as far as root
 * vouches for it: by a folder of its user in a folder of root's, where no other user could have put one.
 */
import { type Stats, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { StartError } from '../errors.ts'
import { type Published, readPublished } from '../storage/published.ts'
import type { Check } from '../storage/folder.ts'

const ROOT = 0

/** What the kernel shows for every user that it has no number for (user_namespaces(7)), and whom many services share. */
const NOBODY = 65_534

const MINE = 'For an account of your own, set SVC_STATE_DIR to a folder of your own.'

/** The state folder of the service, which root may read. */
export interface SystemState {
  readonly dir: string
  /** Holds what is read there to the service's user. */
  readonly check: Check
}

export interface SystemInstance extends Published {
  /** The uid of its processes. */
  readonly owner: number
  /** null where the caller is not root. */
  readonly state: SystemState | null
}

const unsafe = (message: string) => new StartError('stateUnsafe', `${message} ${MINE}`)

/** It is installed and does not say that it runs. */
const away = () =>
  new StartError(
    'daemonSilent',
    `The countersignd service of this machine is not running. Start it: sudo systemctl start countersignd. ${MINE}`,
  )

const look = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/** Whether there is anything; what cannot be looked at counts, and whoever opens it says why it cannot. */
function isThere(path: string): boolean {
  try {
    return look(path) !== undefined
  } catch {
    return true
  }
}

/** Throws unless root alone decides what has this name: the folder is root's, and so is each above it. */
function demandRoots(path: string): void {
  const parent = realpathSync(dirname(path))
  for (let at = parent, last = ''; at !== last; at = dirname(at)) {
    last = at
    const { uid, mode } = lstatSync(at)
    // Sticky: nobody renames what is root's. In the folder itself, others could still make the entry before root does.
    const shared = at !== parent && (mode & 0o1000) !== 0
    if (uid !== ROOT || (!shared && (mode & 0o022) !== 0))
      throw unsafe(`${at} is not root's alone, so ${path} may be anybody's.`)
  }
}

/** The user whose folder it is. */
function ownerOf(path: string, stat: Stats, me: number): number {
  demandRoots(path)
  if (!stat.isDirectory()) throw unsafe(`${path} is not a folder.`)
  if ((stat.mode & 0o022) !== 0) throw unsafe(`${path} can be written by others than its owner.`)
  if (stat.uid === NOBODY)
    throw unsafe(`${path} belongs to nobody, who may be any user: give the service one of its own.`)
  if (stat.uid === me && me !== ROOT)
    throw unsafe(`${path} is your own: set SVC_STATE_DIR to the state folder of that service.`)
  return stat.uid
}

/** Where systemd leads a dynamic user's link: into a folder that root alone may enter. */
function behind(link: string): string {
  const target = join(dirname(link), 'private', basename(link))
  const leads = readlinkSync(link)
  if (leads !== target && leads !== join('private', basename(link)))
    throw unsafe(`${link} leads to ${leads}, not to ${target}.`)
  demandRoots(target)
  return target
}

/** The state folder as root finds it, which reads there what is the service's and writes nothing. */
function stateOf(path: string, owner: number): SystemState {
  const named = look(path)
  if (named === undefined) throw unsafe(`The state folder ${path} of the service is not there.`)
  demandRoots(path)
  const isLink = named.isSymbolicLink()
  const dir = isLink ? behind(path) : path
  const { uid, mode } = lstatSync(dir)
  // A dynamic user's folder may be kept as nobody's and be mapped to the user: nobody else gets in there.
  const isService = uid === owner || (isLink && uid === NOBODY)
  if (!lstatSync(dir).isDirectory() || !isService || (mode & 0o077) !== 0)
    throw unsafe(`${dir} is not a folder of the service's user ${owner} alone.`)
  return {
    dir,
    check: (stat, file) =>
      stat.uid === uid && (stat.mode & 0o077) === 0
        ? null
        : `${file} is not of the service's user alone. Start the service again, and look who wrote it.`,
  }
}

/** The folders that say for which daemon a command is. */
export type Place = Pick<Config, 'stateDir' | 'system'>

const self = (): number => process.geteuid?.() ?? NOBODY

/**
 * Whether a command is meant for the system's instance: the environment names no state folder, the service is installed or runs, and
 * the caller has no folder that was used, or is root, who looks after the service.
 * @param me the caller's uid
 */
export const isForSystem = ({ system, stateDir }: Place, me: number = self()): boolean =>
  system !== null &&
  (me === ROOT || !isThere(stateDir)) &&
  [system.runtime, ...system.units].some(isThere)

/**
 * The system's instance, where a command is meant for it.
 * @param me the caller's uid
 * @returns null where the command is for the caller's own folder
 * @throws StartError where the service is installed and does not run, and where somebody else could have planted what is there
 */
export function systemInstance(place: Place, me: number = self()): SystemInstance | null {
  const { system } = place
  if (system === null || !isForSystem(place, me)) return null
  const folder = look(system.runtime)
  if (folder === undefined) throw away()
  const owner = ownerOf(system.runtime, folder, me)
  const published = readPublished(system.runtime, owner)
  if (published === null) throw away()
  return { ...published, owner, state: me === ROOT ? stateOf(system.state, owner) : null }
}
