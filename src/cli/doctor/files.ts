/** Checks the state folder, its contents, its parent folders, and the free space on its disk. */
import {
  type Stats,
  accessSync,
  constants,
  lstatSync,
  readdirSync,
  realpathSync,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileFault, hasModes, isMissing } from '../../keychain/private-file.ts'
import { SETTINGS_FILE } from '../../config/settings-files.ts'
import {
  LEAST_FREE_BYTES,
  OWN_FOLDER,
  folderFault,
  isFilledHere,
  isOwnName,
} from '../../storage/folder.ts'
import { type Finding, fail, ok, shellQuoted, messageOf, sizeOf, warn } from './finding.ts'
import { type DoctorCheck } from './check.ts'

const FOLDER = 'state folder'
const FILES = 'files'

/** How many findings are named. Any others are only counted. */
const MOST_NAMED = 5
/** The maximum number of entries that are checked, because a mail folder can have any number. */
const MOST_SEEN = 20_000
/** The minimum age of a stray temporary file, in milliseconds. A younger one may be in use. */
const STRAY_MS = 60_000

const SCARCE = 100_000_000

/**
 * Network file systems, by their numbers in statfs(2).
 *
 * SQLite's locks and shared memory do not work reliably on them.
 * @see https://sqlite.org/wal.html
 */
const NETWORK: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021997: '9P',
  0x5346414f: 'AFS',
  0x00c36400: 'Ceph',
}

function statOf(path: string): Stats | null {
  try {
    return lstatSync(path)
  } catch (error) {
    // A parent of the path may be a file.
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return null
    throw error
  }
}

/**
 * Returns whether a path is in the folder in which systemd stores the state of its services.
 * @see systemd.exec(5), StateDirectory=
 */
const isOfService = (dir: string): boolean => resolve(dir).startsWith('/var/lib/')

/** Returns the nearest parent folder that exists. */
function above(path: string): string {
  const parent = dirname(path)
  return parent === path || statOf(parent) !== null ? parent : above(parent)
}

function missing(dir: string): Finding[] {
  const parent = above(dir)
  try {
    accessSync(parent, constants.W_OK | constants.X_OK)
    return [ok(FOLDER, `${dir} does not exist yet; the first start creates it`), ...room(parent)]
  } catch (error) {
    return [
      fail(
        FOLDER,
        `${dir} does not exist, and this user cannot write to ${parent} (${(error as NodeJS.ErrnoException).code})`,
        'Set SVC_STATE_DIR to a folder that this user can create.',
      ),
    ]
  }
}

/** Returns the fault of the folder itself; null if there is none. */
function faultOf(dir: string, stat: Stats): Finding | null {
  if (stat.isSymbolicLink())
    return fail(
      FOLDER,
      `${dir} is a link`,
      `export SVC_STATE_DIR="$(readlink -f ${shellQuoted(dir)})"`,
    )
  if (!stat.isDirectory())
    return fail(
      FOLDER,
      `${dir} is not a folder`,
      'Move it elsewhere, or set SVC_STATE_DIR to another folder.',
    )
  const found = folderFault(stat, dir)
  if (found === null) return null
  const isOpen = stat.uid === process.geteuid?.()
  if (!isFilledHere(dir) && !isOfService(dir))
    return fail(FOLDER, found.replace(` ${OWN_FOLDER}`, ''), OWN_FOLDER)
  return fail(
    FOLDER,
    found,
    isOpen
      ? `chmod 700 ${shellQuoted(dir)}`
      : isOfService(dir)
        ? 'This folder belongs to a service. Leave its owner as it is. To use the service of this machine as root, unset SVC_STATE_DIR.'
        : `Run this command as the owner of the folder. To make the folder yours: chown -R "$(id -u)" ${shellQuoted(dir)}`,
  )
}

/** Yields the accepted entries of a folder, and every entry below these. Follows no links. */
function* entriesBelow(
  dir: string,
  isAccepted: (name: string) => boolean = () => true,
): Generator<{ path: string; stat: Stats }> {
  for (const name of readdirSync(dir)) {
    if (!isAccepted(name)) continue
    const path = join(dir, name)
    const stat = statOf(path)
    // The entry was deleted after the folder had been listed.
    if (stat === null) continue
    yield { path, stat }
    if (stat.isDirectory()) yield* entriesBelow(path)
  }
}

function entryFault(path: string, stat: Stats, now: number): Finding | null {
  if (stat.isSymbolicLink())
    return fail(
      FILES,
      `${path} is a link`,
      `Replace the link with the file itself, or remove it: rm ${shellQuoted(path)}`,
    )
  if (!stat.isFile() && !stat.isDirectory())
    return fail(FILES, `${path} is neither a file nor a folder`, `rm ${shellQuoted(path)}`)
  const found = fileFault(stat, path)
  if (found !== null && stat.uid !== process.geteuid?.())
    return fail(FILES, found, `chown "$(id -u)" ${shellQuoted(path)}`)
  if (found !== null)
    return fail(FILES, found, `chmod ${stat.isDirectory() ? '700' : '600'} ${shellQuoted(path)}`)
  if (path.endsWith('.tmp') && now - stat.mtimeMs > STRAY_MS)
    return warn(FILES, `${path} was left over by an interrupted write`, `rm ${shellQuoted(path)}`)
  return null
}

function contents(dir: string, now: number): Finding[] {
  // In a folder like /tmp, the files of other programs are not this program's concern.
  // The check of the configuration covers the settings file, which root may own.
  const isOwn = isFilledHere(dir) ? (name: string) => name !== SETTINGS_FILE : isOwnName
  const found: Finding[] = []
  let [seen, bytes] = [0, 0]
  for (const { path, stat } of entriesBelow(dir, isOwn)) {
    if (++seen > MOST_SEEN) break
    bytes += stat.size
    const wrong = entryFault(path, stat, now)
    if (wrong !== null) found.push(wrong)
  }
  const more = found.length - MOST_NAMED
  if (found.length === 0)
    return [
      ok(
        FILES,
        `${seen} files and folders, ${sizeOf(bytes)}; all belong to this user and are closed to others`,
      ),
    ]
  if (more <= 0) return found
  const rest = found.slice(MOST_NAMED)
  const say = rest.some(({ state }) => state === 'fail') ? fail : warn
  return [
    ...found.slice(0, MOST_NAMED),
    say(
      FILES,
      `${more} more like these`,
      isFilledHere(dir) ? `chmod -R go= ${shellQuoted(dir)}` : OWN_FOLDER,
    ),
  ]
}

/** The remedy for a parent folder. Its mode is not changed, because other programs may need it. */
const ELSEWHERE = 'Set SVC_STATE_DIR to a folder inside one of your own folders.'

/**
 * Reports parent folders that another user may write to.
 *
 * Such a user can replace the state folder.
 */
function parents(dir: string): Finding[] {
  const found: Finding[] = []
  const me = process.geteuid?.()
  for (let path = realpathSync(dirname(dir)), last = ''; path !== last; path = dirname(path)) {
    last = path
    const { uid, gid, mode } = statSync(path)
    // In a folder with the sticky bit, only the owner of an entry can rename it.
    const open = (mode & 0o1000) === 0 ? mode & 0o022 : 0
    if (uid !== 0 && uid !== me)
      found.push(
        fail(
          FOLDER,
          `the parent folder ${path} belongs to user ${uid}, who can replace the state folder`,
          ELSEWHERE,
        ),
      )
    if ((open & 0o002) !== 0)
      found.push(
        fail(
          FOLDER,
          `every user can write to the parent folder ${path} and can replace the state folder`,
          ELSEWHERE,
        ),
      )
    else if (open !== 0 && gid !== 0)
      found.push(
        warn(
          FOLDER,
          `group ${gid} can write to the parent folder ${path}, so the members of the group can replace the state folder`,
          ELSEWHERE,
        ),
      )
  }
  return found
}

function room(path: string): Finding[] {
  const { bavail, bsize, type } = statfsSync(path)
  const free = bavail * bsize
  const network = process.platform === 'linux' ? NETWORK[type >>> 0] : undefined
  const away =
    network === undefined
      ? []
      : [
          warn(
            FOLDER,
            `the folder is on a network file system (${network}), where locks and databases may fail`,
            'Set SVC_STATE_DIR to a folder on a disk of this machine.',
          ),
        ]
  const found = `${sizeOf(free)} free`
  if (free < LEAST_FREE_BYTES)
    return [
      ...away,
      fail(
        'disk',
        found,
        `Free some space, because nothing can be stored. See: df -h ${shellQuoted(path)}`,
      ),
    ]
  if (free < SCARCE)
    return [
      ...away,
      warn(
        'disk',
        found,
        `Free some space before the disk is full. See: df -h ${shellQuoted(path)}`,
      ),
    ]
  return [...away, ok('disk', found)]
}

/** Runs each check separately, so that an error in one does not hide the findings of the others. */
function each(name: string, looks: readonly (() => readonly Finding[])[]): Finding[] {
  return looks.flatMap((of) => {
    try {
      return of()
    } catch (error) {
      return [
        fail(
          name,
          `cannot be checked: ${messageOf(error)}`,
          'Run this command as the owner of the folder.',
        ),
      ]
    }
  })
}

export const filesCheck: DoctorCheck = {
  name: FOLDER,
  run({ config, now }) {
    if (config.stateDir === undefined) return []
    const dir = resolve(config.stateDir)
    const stat = statOf(dir)
    if (stat === null) return missing(dir)
    const wrong = faultOf(dir, stat)
    const itself = wrong === null ? [ok(FOLDER, `${dir}, accessible only to this user`)] : [wrong]
    if (!stat.isDirectory()) return itself
    return [
      ...itself,
      ...each(FOLDER, [
        () => (hasModes ? parents(dir) : []),
        () => contents(dir, now()),
        () => room(dir),
      ]),
    ]
  },
}
