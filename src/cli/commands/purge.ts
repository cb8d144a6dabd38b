/**
 * Everything of this program in a state folder is removed from the machine: secrets, files, and the folder when it is empty then. What
 * somebody else laid there stays. The folder of another user is emptied as that user alone.
 */
import { lstatSync, rmSync, rmdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { forgetStored } from '../../daemon/secrets-of.ts'
import { StartError } from '../../errors.ts'
import { LOCK, removeContents } from '../../storage/folder-contents.ts'
import { takeLock } from '../../storage/lock.ts'
import { purgeApart } from './purge-subprocess.ts'
import { shown } from '../table.ts'

/** Empty a folder of this user; the paths of what stays. */
async function empty(dir: string): Promise<readonly string[]> {
  const lock = takeLock(dir)
  try {
    // First: the files say which there are.
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
 * Remove what a state folder has. What lies elsewhere, as a folder for mail of its own, is not touched.
 * @param say hears of each path that is left, which this program did not make, and of secrets that are out of reach
 * @throws StartError: stateInUse while a daemon holds the folder, stateUnsafe for a link, and for a folder of somebody else unless this
 *   is root, keychain; AppError keychain_locked: then nothing was removed
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
      `${dir} is not a folder. Nothing was removed: look at it, and remove it yourself.`,
    )
  const isStrange = process.geteuid?.() === 0 && stat.uid !== 0
  const left = isStrange ? await purgeApart(dir, stat.uid, say) : await empty(dir)
  for (const path of left) say(`${shown(path)} is not of this program, and stays.`)
}
