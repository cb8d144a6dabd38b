/**
 * Restores a backup into a new or empty state folder, completely or not at all. All files are first
 * written to a staging folder inside the state folder. They are moved to their places after all
 * files are present, authentic and intact. While the staging folder exists, no daemon starts, and
 * another restore begins from scratch.
 */
import {
  type ReadStream,
  closeSync,
  createReadStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config/config.ts'
import { AppError, StartError, toAppError } from '../errors.ts'
import { openKeychain } from '../keychain/keychain.ts'
import { type Keychain } from '../keychain/backend.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { type Contents, contentsFrom } from '../storage/backup-contents.ts'
import { keyOf, readHeader } from '../storage/backup-header.ts'
import { LOCK, RESTORING, contentsOf, isRestoring, removeContents } from '../storage/folder.ts'
import { isTooOld, tooOld } from '../storage/migrations.ts'
import { takeLock } from '../storage/lock.ts'
import { Unopened, openStream } from '../storage/sealed-stream.ts'
import { STATE_VERSIONS } from '../state/migrations.ts'
import { changeRestored, forgetStored, type SealedSecrets } from './folder-secrets.ts'

export type Restored = Omit<Contents, 'secrets' | 'files'> &
  SealedSecrets & { readonly keychain: 'os' | 'file' }

type Where = Pick<Config, 'stateDir' | 'keychain' | 'credentialsDir'>

/** How many file names the error for a folder that is not empty lists. */
const MOST_NAMED = 3

/**
 * Checks that a folder does not exist, is empty, or contains only an interrupted restore.
 * @throws StartError `failed` if it does not
 */
export function requireEmpty(dir: string): void {
  const found = contentsOf(dir)
  if (found.length === 0 || isRestoring(dir)) return
  const named = found.slice(0, MOST_NAMED).join(', ') + (found.length > MOST_NAMED ? ', …' : '')
  throw new StartError(
    'failed',
    `${dir} is not empty (${named}), and a restore never overwrites anything. Stop any countersignd that uses the folder and move the folder away, or set SVC_STATE_DIR to a new one.`,
  )
}

const cut = (path: string) =>
  new StartError(
    'failed',
    `${path} was changed or is incomplete. Nothing was restored. Use another copy of the backup.`,
  )

const unopened = (path: string) =>
  new StartError(
    'failed',
    `${path} does not open with this passphrase, or was changed. Nothing was restored. Check the passphrase.`,
  )

/** Converts an error of a restore to an error for the user, unless it already is one. */
export function restoreError(error: unknown, path: string, dir: string): unknown {
  if (!(error instanceof Error)) return error
  if (error instanceof Unopened) return error.isFirst ? unopened(path) : cut(path)
  if (error instanceof StartError) return error
  const { code, syscall, path: where } = error as NodeJS.ErrnoException
  const { code: known } = toAppError(error)
  if (known === 'storage_full')
    return new AppError(
      'storage_full',
      `The disk of ${dir} is full. Nothing was restored. Free some space, then run it again.`,
      { cause: error },
    )
  if (error instanceof AppError || code === undefined) return error
  const what =
    where === path || syscall === 'read' ? `${path} cannot be read` : `${dir} cannot be written`
  return new StartError('failed', `Nothing was restored: ${what} (${code}).`, error)
}

async function requireKnown(contents: Contents, path: string): Promise<void> {
  const { ACCOUNT_VERSIONS } = await import('../service/db/migrations.ts')
  const { state_version: state, account_version: account, written_by: by } = contents
  if (isTooOld(state, STATE_VERSIONS)) throw tooOld(path, state, STATE_VERSIONS)
  if (state <= STATE_VERSIONS.newest && (account ?? 0) <= ACCOUNT_VERSIONS.newest) return
  throw new StartError(
    'stateNewer',
    `${path} was made by a newer countersignd (${by}) and contains data that this version cannot read. Nothing was restored. Update countersignd, then run it again.`,
  )
}

/** Writes all bytes to a new file of mode 0600. */
export async function writeWhole(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const file = openSync(path, 'wx', 0o600)
  try {
    for await (const some of bytes)
      for (let from = 0; from < some.length;) from += writeSync(file, some, from)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/**
 * Moves the complete files from the staging folder to the state folder. The keychain record is
 * moved last, because a folder without that record counts as new.
 */
function settle(staging: string, dir: string): void {
  const last = 'keychain.json'
  const names = readdirSync(staging).filter((name) => name !== last)
  for (const name of [...names, last]) renameSync(join(staging, name), join(dir, name))
  syncFolder(dir)
  rmdirSync(staging)
  syncFolder(dir)
}

/** Undoes an interrupted restore. */
async function clear(dir: string): Promise<void> {
  await forgetStored(dir)
  removeContents(dir)
}

/**
 * Restores into an empty folder. The caller must own its lock. After a failure the folder is empty
 * again.
 */
async function fill(
  { stateDir: dir, keychain: choice, credentialsDir }: Where,
  contents: Contents,
  files: AsyncIterable<{ name: string; bytes: AsyncIterable<Uint8Array> }>,
  path: string,
): Promise<SealedSecrets & Pick<Restored, 'keychain'>> {
  const staging = join(dir, RESTORING)
  const written: string[] = []
  let keychain: Keychain | undefined
  try {
    mkdirSync(staging, { mode: 0o700 })
    for await (const { name, bytes } of files) await writeWhole(join(staging, name), bytes)
    // Loaded only here, because these modules load the elliptic curves.
    const { requireCompleteBackup } = await import('./whole-backup.ts')
    const sealed = await requireCompleteBackup(staging, contents, path)
    changeRestored(join(staging, 'state.db'), sealed.lost_secrets)
    keychain = await openKeychain({ stateDir: staging, choice, credentialsDir })
    for (const [name, secret] of Object.entries(contents.secrets)) {
      written.push(name)
      keychain.set(name, secret)
    }
    settle(staging, dir)
    return { ...sealed, keychain: keychain.backend }
  } catch (error) {
    try {
      if (keychain?.backend === 'os') for (const name of written) keychain.delete(name)
    } catch {
      // The keychain became unreachable, which the thrown error reports. Nothing refers to the
      // secrets that remain in the keychain.
    }
    removeContents(dir)
    throw error
  }
}

/**
 * Runs `work` with the folder locked. After a failure it deletes the folder and the lock file if
 * they did not exist before.
 */
async function holding<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const [isNew, isUnlocked] = [!existsSync(dir), !existsSync(join(dir, LOCK))]
  const lock = takeLock(dir)
  try {
    const answer = await work()
    lock.release()
    return answer
  } catch (error) {
    // Files that another process has written since then must stay.
    const isEmpty = contentsOf(dir).length === 0
    if (isEmpty && isUnlocked) rmSync(join(dir, LOCK), { force: true })
    lock.release()
    if (isEmpty && isNew) rmdirSync(dir)
    throw error
  }
}

/**
 * Opens a backup and reads its line of JSON.
 * @throws StartError `stateNewer`, `stateOlder`; `Unopened` for a wrong passphrase
 */
export async function openBackup(source: ReadStream, path: string, passphrase: string) {
  const { header, rest } = await readHeader(source, path)
  const key = await keyOf(header, passphrase)
  const { contents, files } = await contentsFrom(openStream(key, rest), path)
  await requireKnown(contents, path)
  return { contents, files }
}

/**
 * Restores a backup.
 * @param where the state folder, and the keychain to store its secrets in
 * @throws StartError `stateInUse`, `stateNewer`, `keychain`, or `failed` for a folder that is not
 *   empty, a wrong passphrase or an incomplete file; AppError `storage_full`
 */
export async function restore(where: Where, path: string, passphrase: string): Promise<Restored> {
  const { stateDir: dir } = where
  requireEmpty(dir)
  const source = createReadStream(path)
  try {
    const { contents, files } = await openBackup(source, path, passphrase)
    const filled = await holding(dir, async () => {
      requireEmpty(dir)
      if (isRestoring(dir)) await clear(dir)
      return fill(where, contents, files(), path)
    })
    const { secrets: _secrets, files: _files, ...about } = contents
    return { ...about, ...filled }
  } catch (error) {
    throw restoreError(error, path, dir)
  } finally {
    source.destroy()
  }
}
