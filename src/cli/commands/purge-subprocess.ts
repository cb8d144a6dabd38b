/**
 * Root removes what another user has in a state folder: a process of its own gives up all that root may before it looks into the folder,
 * for whoever owns it can put links and other files there at any moment. Only the empty folder itself, in a folder of root's, is root's
 * to remove.
 */
import { spawn } from 'node:child_process'
import { lstatSync, readdirSync, readlinkSync, rmSync, rmdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { foldersOf } from '../../daemon/secrets-of.ts'
import { EXIT, StartError } from '../../errors.ts'
import { ownCommand } from '../../runtime/executable.ts'
import { isInSystem } from '../../keychain/keychain.ts'
import { isMissing } from '../../keychain/private-file.ts'
import { LOCK, removeContents } from '../../storage/folder-contents.ts'
import { type Lock, lockState } from '../../storage/lock.ts'
import { type Command, UsageError } from '../command.ts'
import { shown } from '../table.ts'

/** The group of nobody: an owner needs none, and that of a folder may be one which its owner is not in. */
const NOGROUP = 65_534

/** What the process apart says when it is done. */
interface Emptied {
  /** Paths in the folder. */
  readonly left: readonly string[]
  readonly isInSystem: boolean
}

const inUse = (dir: string) =>
  new StartError('stateInUse', `The state folder ${dir} is in use. Stop the service first.`)

/** What `read` gives; nothing of a process that has ended. */
function ifThere<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}

/**
 * Whether a process has the lock's file in the present folder open. Root alone can tell, and only Linux says so: by it a folder is
 * known to be held whose path is closed to its own user, as that of a service whose user comes and goes.
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

/** Become another user, with no way back. */
function become(uid: number): void {
  process.setgroups?.([])
  process.setgid?.(NOGROUP)
  process.setuid?.(uid)
}

/** The lock, where its user reaches the folder by its path. */
function lockOf(dir: string): Lock | null {
  if (ifThere(() => lstatSync(dir)) === null) return null
  if (lstatSync(LOCK, { throwIfNoEntry: false })?.isFile() === false)
    throw new StartError(
      'stateUnsafe',
      `${join(dir, LOCK)} is not a regular file. Nothing was removed: look at it, and remove it yourself.`,
    )
  const lock = lockState(dir)
  if (lock === null) throw inUse(dir)
  return lock
}

/** Empty the present folder, and remove it where its user may. */
function empty(dir: string): Emptied {
  const lock = lockOf(dir)
  try {
    const secrets = foldersOf('.').some(isInSystem)
    const left = removeContents('.')
    rmSync(LOCK, { force: true })
    lock?.release()
    // Without the lock, as a crash has left it.
    rmSync(`${LOCK}-journal`, { force: true })
    if (left.length === 0) ifThere(() => rmdirSync(dir))
    return { left, isInSystem: secrets }
  } finally {
    lock?.release()
  }
}

/** What root asks of this program: `purge-apart FOLDER UID`. */
export const purgeApartCommand: Command = {
  usage: 'FOLDER UID',
  help: 'Empties the state folder of another user, as that user. "countersignd service uninstall --purge" asks for it.',
  args: [2, 2],
  async run({ args: [dir = '', user = ''], io: { stdout } }) {
    if (process.geteuid?.() !== 0 || !/^[1-9]\d*$/.test(user))
      throw new UsageError('This is asked for by "countersignd service uninstall --purge" alone.')
    // Before root is given up: the way to the folder may be closed to its own user.
    process.chdir(dir)
    const isHeld = isOpened()
    become(Number(user))
    if (isHeld) throw inUse(dir)
    stdout.write(JSON.stringify(empty(dir)))
  },
}

/** Remove an empty folder that stands in one of root's; in another its owner has removed it. */
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
    `${dir} was changed meanwhile. Look at it, and remove it yourself.`,
  )
}

/** Run the process apart, which gets nothing of this one: no environment, no terminal, no open file. */
async function emptyApart(dir: string, uid: number): Promise<Emptied> {
  const [program, ...words] = ownCommand()
  // The file may be gone: the program is uninstalled before its state is.
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
 * Remove what the state folder of another user has, as root.
 * @param uid of the folder's owner
 * @param say hears of secrets that are in that user's keychain, where root cannot remove them
 * @returns the paths of what is left, since this program did not make it
 * @throws StartError: stateInUse, stateUnsafe, keychain for a damaged record, failed
 */
export async function purgeApart(
  dir: string,
  uid: number,
  say: (text: string) => void,
): Promise<readonly string[]> {
  const { left, isInSystem: isInKeychain } = await emptyApart(dir, uid)
  if (isInKeychain)
    say(
      `The secrets of ${dir} are in the keychain of user ${uid}, out of reach for root, and stay: remove there what is named "countersign".`,
    )
  if (left.length === 0) removeFolder(dir)
  return left.map((path) => join(dir, path))
}
