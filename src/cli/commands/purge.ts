/**
 * Removes the data of this program in a state folder: secrets, files, and the folder if it is
 * empty.
 * Foreign files are left. The folder of another user is emptied under that user’s id.
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
