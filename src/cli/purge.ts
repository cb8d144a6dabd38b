/**
 * Everything of this program in a state folder is removed from the machine: secrets, files, and the folder when it is empty then. What
 * somebody else laid there stays.
 */
import { lstatSync, rmSync, rmdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { storedNames } from '../daemon/secrets-of.ts'
import { StartError } from '../errors.ts'
import { forgetSecrets } from '../keychain/keychain.ts'
import { LOCK, removeContents } from '../state/contents.ts'
import { type Lock, lockState, takeLock } from '../state/lock.ts'

const unsafe = (what: string) =>
  new StartError('stateUnsafe', `${what} Nothing was removed: look at it, and remove it yourself.`)

/** The lock; of a folder of another user, root alone gets it: what a service's own user has left. */
function lockOf(dir: string, uid: number): Lock {
  if (process.geteuid?.() !== 0 || uid === 0) return takeLock(dir)
  const file = lstatSync(join(dir, LOCK), { throwIfNoEntry: false })
  if (file !== undefined && !file.isFile())
    throw unsafe(`${join(dir, LOCK)} is not a regular file.`)
  const lock = lockState(dir)
  if (lock !== null) return lock
  throw new StartError('stateInUse', `The state folder ${dir} is in use. Stop the service first.`)
}

/**
 * Remove what a state folder has. What lies elsewhere, as a folder for mail of its own, is not touched.
 * @param say hears of each path that is left, which this program did not make
 * @throws StartError: stateInUse while a daemon holds the folder, stateUnsafe for a link or a folder of somebody else, keychain;
 *   AppError keychain_locked: then nothing was removed
 */
export async function purge(
  { stateDir }: Pick<Config, 'stateDir'>,
  say = (text: string): void => void process.stderr.write(`${text}\n`),
): Promise<void> {
  const dir = resolve(stateDir)
  const stat = lstatSync(dir, { throwIfNoEntry: false })
  if (stat === undefined) return
  if (!stat.isDirectory()) throw unsafe(`${dir} is not a folder.`)
  const lock = lockOf(dir, stat.uid)
  try {
    // First: the files say which there are.
    await forgetSecrets(dir, () => storedNames(dir))
    const left = removeContents(dir)
    rmSync(join(dir, LOCK), { force: true })
    lock.release()
    if (left.length === 0) rmdirSync(dir)
    for (const path of left) say(`${path} is not of this program, and stays.`)
  } finally {
    lock.release()
  }
}
