/**
 * Removes this program's data from a state folder: secrets, files, and the folder if it is empty.
 *
 * Files of other programs are left. If the folder belongs to another user, a subprocess empties it
 * under that user's id.
 */
import { spawn } from 'node:child_process'
import { lstatSync, readdirSync, readlinkSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Config } from '../../config/config.ts'
import { foldersOf, forgetStored } from '../../daemon/folder-secrets.ts'
import { SETTINGS_FILE } from '../../config/settings-files.ts'
import { EXIT, StartError } from '../../errors.ts'
import { isInSystem } from '../../keychain/keychain.ts'
import { isMissing } from '../../keychain/private-file.ts'
import { ownCommand } from '../../runtime/executable.ts'
import { LOCK, SET_ASIDE, removeContents } from '../../storage/folder.ts'
import { type Lock, lockState, takeLock } from '../../storage/lock.ts'
import { type Command, UsageError } from '../command.ts'
import { shown } from '../table.ts'

/**
 * The group id 65534. The folder's owner needs no group, and may not be a member of the folder's
 * group.
 */
const NOGROUP = 65_534

/** The result, which the subprocess prints as JSON. */
interface Emptied {
  /** The paths that remain, relative to the folder. */
  readonly left: readonly string[]
  readonly isInSystem: boolean
}

const inUse = (dir: string) =>
  new StartError('stateInUse', `The state folder ${dir} is in use. Stop the service first.`)

/** Returns the result of a read; null after an error, for example if the process has ended. */
function ifThere<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

/**
 * Returns whether a process has opened the lock file in the current folder.
 *
 * Only root can see this, and only on Linux. It shows that a folder is in use even if the folder's
 * own user cannot reach its path, as is the case for a dynamic user.
 */
function isOpened(): boolean {
  const lock = lstatSync(LOCK, { throwIfNoEntry: false })
  if (process.platform !== 'linux' || lock === undefined) return false
  const isIt = (path: string) => {
    if (ifThere(() => readlinkSync(path))?.endsWith(`/${LOCK}`) !== true) return false
    const stat = ifThere(() => statSync(path))
    return stat?.ino === lock.ino && stat.dev === lock.dev
  }
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) =>
      (ifThere(() => readdirSync(`/proc/${pid}/fd`)) ?? []).some((fd) =>
        isIt(`/proc/${pid}/fd/${fd}`),
      ),
    )
}

/** Switches to another user irrevocably. */
function become(uid: number): void {
  process.setgroups?.([])
  process.setgid?.(NOGROUP)
  process.setuid?.(uid)
}

/**
 * Acquires the lock if the user can reach the folder by its path; otherwise returns null.
 * @throws StartError `stateInUse`, `stateUnsafe`
 */
function lockOf(dir: string): Lock | null {
  if (ifThere(() => lstatSync(dir)) === null) return null
  if (lstatSync(LOCK, { throwIfNoEntry: false })?.isFile() === false)
    throw new StartError(
      'stateUnsafe',
      `${join(dir, LOCK)} is not a regular file. Nothing was removed. Check what it is, and remove it yourself.`,
    )
  const lock = lockState(dir)
  if (lock === null) throw inUse(dir)
  return lock
}

/** Empties the current folder, and removes the folder if the user may do so. */
function emptyOwn(dir: string): Emptied {
  const lock = lockOf(dir)
  try {
    const secrets = foldersOf('.').some(isInSystem)
    const left = removeContents('.')
    for (const name of [SETTINGS_FILE, LOCK]) rmSync(name, { force: true })
    lock?.release()
    // If the lock was not acquired, the journal of a crashed owner may still exist.
    rmSync(`${LOCK}-journal`, { force: true })
    if (left.length === 0) ifThere(() => rmdirSync(dir))
    return { left, isInSystem: secrets }
  } finally {
    lock?.release()
  }
}

/** The subprocess's command, which root starts: `purge-apart FOLDER UID`. */
export const purgeApartCommand: Command = {
  usage: 'FOLDER UID',
  help: 'Empties the state folder of another user, as that user. Only "countersignd service uninstall --purge" runs it.',
  args: [2, 2],
  async run({ args: [dir = '', user = ''], io: { stdout } }) {
    if (process.geteuid?.() !== 0 || !/^[1-9]\d*$/.test(user))
      throw new UsageError('Only "countersignd service uninstall --purge" can run this command.')
    // The process enters the folder while it still runs as root, because the folder's user may not
    // be able to reach the path.
    process.chdir(dir)
    const isHeld = isOpened()
    become(Number(user))
    if (isHeld) throw inUse(dir)
    stdout.write(JSON.stringify(emptyOwn(dir)))
  },
}

/**
 * Removes an empty folder if root owns its parent folder.
 *
 * In any other parent folder, the owner has already removed it.
 * @throws StartError `failed`
 */
function removeFolder(dir: string): void {
  const stat = lstatSync(dir, { throwIfNoEntry: false })
  if (stat === undefined) return
  try {
    if (stat.isDirectory() && lstatSync(dirname(dir)).uid === 0) return rmdirSync(dir)
  } catch (cause) {
    if (isMissing(cause)) return
    throw new StartError(
      'failed',
      `${dir} could not be removed (${(cause as NodeJS.ErrnoException).code}). Remove it yourself.`,
      cause,
    )
  }
  throw new StartError(
    'failed',
    `${dir} was changed while it was being removed. Check what it is, and remove it yourself.`,
  )
}

/** Runs the subprocess. It inherits no environment, no terminal and no open file. */
async function emptyApart(dir: string, uid: number): Promise<Emptied> {
  const [program, ...words] = ownCommand()
  // The program's file may be missing, because the program is uninstalled before its state is
  // removed.
  const own = process.platform === 'linux' ? '/proc/self/exe' : program
  const child = spawn(own, [...words, 'purge-apart', dir, String(uid)], {
    cwd: '/',
    env: {},
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  const [code, out, err] = await Promise.all([ended, text(child.stdout), text(child.stderr)])
  if (code === EXIT.ok) return JSON.parse(out) as Emptied
  const names = Object.keys(EXIT) as (keyof typeof EXIT)[]
  throw new StartError(
    names.find((name) => EXIT[name] === code) ?? 'failed',
    `As user ${uid}, in ${dir}: ${shown(err.replace(/^countersignd: /, '').trim())}`,
  )
}

/**
 * Removes the contents of another user's state folder. The caller must be root.
 *
 * The owner of the folder can create links and other files in it at any moment. Therefore a
 * subprocess drops all privileges of root before it reads the folder. Root itself only removes the
 * empty folder, and only from a parent folder that root owns.
 * @param uid the uid of the folder's owner
 * @param say called with a message about secrets in that user's keychain, which root cannot remove
 * @returns the paths of other programs' files, which are left
 * @throws StartError: `stateInUse`, `stateUnsafe`, `keychain` for a damaged record, `failed`
 */
async function purgeApart(
  dir: string,
  uid: number,
  say: (text: string) => void,
): Promise<readonly string[]> {
  const { left, isInSystem: isInKeychain } = await emptyApart(dir, uid)
  if (isInKeychain)
    say(
      `The secrets of ${dir} are in the keychain of user ${uid}. Root cannot delete them there: log in as that user and delete the entries named "countersign".`,
    )
  if (left.length === 0) removeFolder(dir)
  return left.map((path) => join(dir, path))
}

/** Empties a folder that belongs to this user. Returns the paths that remain. */
async function empty(dir: string): Promise<readonly string[]> {
  const lock = takeLock(dir)
  try {
    // Delete the secrets before the files, because the files list the secrets.
    await forgetStored(dir)
    const left = removeContents(dir)
    for (const name of [SETTINGS_FILE, LOCK]) rmSync(join(dir, name), { force: true })
    lock.release()
    if (left.length === 0) rmdirSync(dir)
    return left
  } finally {
    lock.release()
  }
}

/**
 * Removes the contents of a state folder. Files elsewhere, such as a mail folder, are not removed.
 * @param say called with a message for each path that remains, and for secrets that cannot be
 * reached
 * @throws StartError: `stateInUse` while a daemon uses the folder; `stateUnsafe` for a link, and
 * for another user's folder unless the caller is root; `keychain`
 * @throws AppError `keychain_locked`; in this case nothing was removed
 */
export async function purge(
  { stateDir }: Pick<Config, 'stateDir'>,
  say = (text: string): void => void process.stderr.write(`${text}\n`),
): Promise<void> {
  const dir = resolve(stateDir)
  const stat = lstatSync(dir, { throwIfNoEntry: false })
  if (stat === undefined) return
  if (!stat.isDirectory())
    throw new StartError(
      'stateUnsafe',
      `${dir} is not a folder. Nothing was removed. Check what it is, and remove it yourself.`,
    )
  const isStrange = process.geteuid?.() === 0 && stat.uid !== 0
  const left = isStrange ? await purgeApart(dir, stat.uid, say) : await empty(dir)
  for (const path of left)
    say(
      path === join(dir, SET_ASIDE)
        ? `${shown(path)} is kept: it holds accounts that "countersignd login" set aside. To remove one of them, run this command again with SVC_STATE_DIR set to its folder.`
        : `${shown(path)} was not created by this program, so it is kept.`,
    )
}
