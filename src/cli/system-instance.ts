/**
 * Finds the daemon that the service manager runs for the whole machine.
 *
 * The daemon is trusted as far as root vouches for it. The state folder of the daemon must be in a
 * folder of root, so that no other user can have created it.
 */
import { type Stats, lstatSync, readlinkSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Config } from '../config/config.ts'
import { StartError } from '../errors.ts'
import { foreignFolder, foreignOnWay } from '../storage/owned-folder.ts'
import { type Published, readPublished } from '../storage/runtime-file.ts'
import type { FileCheck } from '../keychain/private-file.ts'

const ROOT = 0

/**
 * The uid that the kernel shows for users without a mapping (user_namespaces(7)).
 *
 * Many services share this uid.
 */
const NOBODY = 65_534

const MINE = 'To use an account of your own instead, set SVC_STATE_DIR to a folder of your own.'

/** The state folder of the service, which root can read. */
export interface SystemState {
  readonly dir: string
  /** Checks that a file read in the folder belongs to the service's user. */
  readonly check: FileCheck
}

export interface SystemInstance extends Published {
  /** The uid of the daemon's processes. */
  readonly owner: number
  /** The state folder; null if the caller is not root. */
  readonly state: SystemState | null
}

const unsafe = (message: string) => new StartError('stateUnsafe', `${message} ${MINE}`)

/** Returns the error if the service is installed but does not publish that it is running. */
const away = () =>
  new StartError(
    'daemonSilent',
    `The countersignd service of this machine is not running. Start it: sudo systemctl start countersignd. ${MINE}`,
  )

const statOf = (path: string): Stats | undefined => lstatSync(path, { throwIfNoEntry: false })

/**
 * Returns whether a path exists.
 *
 * An unreadable path counts as existing, because opening it then reports the reason.
 */
function isThere(path: string): boolean {
  try {
    return statOf(path) !== undefined
  } catch {
    return true
  }
}

/**
 * Checks that root owns the folder of a path and every folder above it.
 *
 * Only root can then decide what the path is.
 * @throws StartError `stateUnsafe`
 */
function requireRoots(path: string): void {
  const at = foreignFolder(realpathSync(dirname(path)), [ROOT])
  if (at !== null)
    throw unsafe(
      `Users other than root can write to ${at}, so any of them may have created ${path}.`,
    )
}

/**
 * Returns the uid of a folder's owner, after checking that the folder can be trusted.
 * @throws StartError `stateUnsafe`
 */
function ownerOf(path: string, stat: Stats, me: number): number {
  requireRoots(path)
  if (!stat.isDirectory()) throw unsafe(`${path} is not a folder.`)
  if ((stat.mode & 0o022) !== 0) throw unsafe(`Users other than its owner can write to ${path}.`)
  if (stat.uid === NOBODY)
    throw unsafe(
      `${path} belongs to the user “nobody”, which other programs may also use. Run the service as a user of its own.`,
    )
  if (stat.uid === me && me !== ROOT)
    throw unsafe(`${path} belongs to you. Set SVC_STATE_DIR to the state folder of that service.`)
  return stat.uid
}

/**
 * Returns the target of the link that systemd creates for a dynamic user.
 *
 * The target is in a folder that only root may enter.
 * @throws StartError `stateUnsafe`
 */
function behind(link: string): string {
  const target = join(dirname(link), 'private', basename(link))
  const leads = readlinkSync(link)
  if (leads !== target && leads !== join('private', basename(link)))
    throw unsafe(`${link} is a link to ${leads}, not to ${target}.`)
  requireRoots(target)
  return target
}

/**
 * Returns the state folder for root, who reads the service's files in it and writes nothing.
 * @throws StartError `stateUnsafe`
 */
function stateOf(path: string, owner: number): SystemState {
  const named = statOf(path)
  if (named === undefined) throw unsafe(`The service has no state folder ${path}.`)
  requireRoots(path)
  const isLink = named.isSymbolicLink()
  const dir = isLink ? behind(path) : path
  const { uid, mode } = lstatSync(dir)
  // The folder of a dynamic user may belong to uid 65534 and be mapped to that user. No other user
  // can enter it.
  const isService = uid === owner || (isLink && uid === NOBODY)
  if (!lstatSync(dir).isDirectory() || !isService || (mode & 0o077) !== 0)
    throw unsafe(
      `${dir} must be a folder that belongs to user ${owner} of the service and that no other user can access.`,
    )
  return {
    dir,
    check: (stat, file) =>
      stat.uid === uid && (stat.mode & 0o077) === 0
        ? null
        : `${file} must belong to the service's user, and no other user may access it. Find out who changed the file, then restart the service.`,
  }
}

/** Whether a folder belongs to another user, or is in a folder that this user may not enter. */
function isOthers(path: string, me: number): boolean {
  try {
    return statOf(path)?.uid !== me
  } catch {
    return true
  }
}

/**
 * Returns whether only root and the service could have created the Unix socket at a path.
 * @param owner the uid of the service
 */
export function isServiceSocket(path: string, owner: number): boolean {
  const owners = [ROOT, owner]
  const stat = statOf(path)
  return (
    stat?.isSocket() === true &&
    owners.includes(stat.uid) &&
    foreignOnWay(dirname(path), owners) === null
  )
}

/** The folders that determine which daemon a command is for. */
export type InstanceFolders = Pick<Config, 'stateDir' | 'system'>

const self = (): number => process.geteuid?.() ?? NOBODY

/**
 * Returns whether a command is for the daemon of the whole machine.
 *
 * This is so if all of the following hold: the environment names no state folder; the service is
 * installed or running; the caller has no state folder, or is root, who administers the service. A
 * folder that the settings of all users name is the service's, if it is not the caller's.
 * @param me the caller's uid
 */
export const isForSystem = ({ system, stateDir }: InstanceFolders, me: number = self()): boolean =>
  system !== null &&
  (me === ROOT || !isThere(stateDir) || (stateDir === system.state && isOthers(stateDir, me))) &&
  [system.runtime, ...system.units].some(isThere)

/**
 * Returns the daemon of the whole machine; null if a command is for the caller's own folder.
 * @param me the caller's uid
 * @throws StartError if the service is installed but not running, or if another user could have
 * planted the files
 */
export function systemInstance(place: InstanceFolders, me: number = self()): SystemInstance | null {
  const { system } = place
  if (system === null || !isForSystem(place, me)) return null
  const folder = statOf(system.runtime)
  if (folder === undefined) throw away()
  const owner = ownerOf(system.runtime, folder, me)
  const published = readPublished(system.runtime, owner)
  if (published === null) throw away()
  return { ...published, owner, state: me === ROOT ? stateOf(system.state, owner) : null }
}
