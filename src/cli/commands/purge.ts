/**
 * Removes the data of this program in a state folder: secrets, files, and the folder if it is
 * empty. Foreign files are left. The folder of another user is emptied under that user’s id, by a
 * subprocess.
 */
import { spawn } from 'node:child_process'
import { lstatSync, readdirSync, readlinkSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Config } from '../../config/config.ts'
import { foldersOf, forgetStored } from '../../daemon/folder-secrets.ts'
import { EXIT, StartError } from '../../errors.ts'
import { isInSystem } from '../../keychain/keychain.ts'
import { isMissing } from '../../keychain/private-file.ts'
import { ownCommand } from '../../runtime/executable.ts'
import { LOCK, removeContents } from '../../storage/folder.ts'
import { type Lock, lockState, takeLock } from '../../storage/lock.ts'
import { type Command, UsageError } from '../command.ts'
import { shown } from '../table.ts'

/**
 * The group 65534. The owner of the folder needs no group, and may not be a member of the
 * folder’s.
 */
const NOGROUP = 65_534

/** The result that the subprocess prints. */
interface Emptied {
  /** Paths relative to the folder. */
  readonly left: readonly string[]
  readonly isInSystem: boolean
}

const inUse = (dir: string) =>
  new StartError('stateInUse', `The state folder ${dir} is in use. Stop the service first.`)

/** Returns the result of a read; null for an error, for instance if the process has ended. */
function ifThere<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

/**
 * Returns whether a process has the lock file in the current folder open.
 * Only root can see this, and only on Linux. It detects that a folder is in use although the
 * folder’s own user cannot reach its path, as with the folder of a dynamic user.
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
 * @throws StartError stateInUse, stateUnsafe
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

/** Empties the current folder, and removes it if the user may do so. */
function emptyOwn(dir: string): Emptied {
  const lock = lockOf(dir)
  try {
    const secrets = foldersOf('.').some(isInSystem)
    const left = removeContents('.')
    rmSync(LOCK, { force: true })
    lock?.release()
    // Without the lock, the journal of a crashed owner may still be there.
    rmSync(`${LOCK}-journal`, { force: true })
    if (left.length === 0) ifThere(() => rmdirSync(dir))
    return { left, isInSystem: secrets }
  } finally {
    lock?.release()
  }
}

/** The command of the subprocess, started by root: `purge-apart FOLDER UID`. */
export const purgeApartCommand: Command = {
  usage: 'FOLDER UID',
  help: 'Empties the state folder of another user, as that user. Only "countersignd service uninstall --purge" runs it.',
  args: [2, 2],
  async run({ args: [dir = '', user = ''], io: { stdout } }) {
    if (process.geteuid?.() !== 0 || !/^[1-9]\d*$/.test(user))
      throw new UsageError('Only "countersignd service uninstall --purge" can run this command.')
    // Done while still root: the folder’s own user may not be able to reach its path.
    process.chdir(dir)
    const isHeld = isOpened()
    become(Number(user))
    if (isHeld) throw inUse(dir)
    stdout.write(JSON.stringify(emptyOwn(dir)))
  },
}

/**
 * Removes an empty folder if root owns the parent. In another parent, the owner has removed it.
 * @throws StartError failed
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
  // The file may be missing: the program is uninstalled before its state.
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
 * Removes the contents of another user’s state folder, as root. A subprocess drops all privileges
 * of root before it reads the folder, because the owner of the folder can create links and other
 * files there at any moment. Root itself only removes the empty folder, and only from a parent
 * folder that root owns.
 * @param uid of the folder’s owner
 * @param say called with a message about secrets in that user’s keychain, which root cannot
 *   remove
 * @returns the paths of foreign files, which are left
 * @throws StartError: stateInUse, stateUnsafe, keychain for a damaged record, failed
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

/** Empties a folder of this user. Returns the paths that are left. */
async function empty(dir: string): Promise<readonly string[]> {
  const lock = takeLock(dir)
  try {
    // Deletes the secrets before the files, because the files list them.
    await forgetStored(dir)
    const left = removeContents(dir)
    rmSync(join(dir, LOCK), { force: true })
    lock.release()
    if (left.length === 0) rmdirSync(dir)
    return left
  } finally {
    lock.release()
  }
}

/**
 * Removes the contents of a state folder. Files elsewhere, such as a mail folder, are not
 * touched.
 * @param say called with a message for each foreign path that is left, and for unreachable
 *   secrets
 * @throws StartError: stateInUse while a daemon holds the folder; stateUnsafe for a link, and for
 *   another user’s folder unless this is root; keychain
 * @throws AppError keychain_locked; nothing was removed then
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
  for (const path of left) say(`${shown(path)} was not created by this program, so it is kept.`)
}
