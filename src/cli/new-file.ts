/** Writes a file for the user: completely or not at all, mode 0600, never over an existing file. */
import { randomBytes } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { requireFolder } from './commands/session/machine-key-file.ts'

/**
 * Checks that a new file can be written.
 * @param option the option with which the user names another file, for the message
 * @throws AppError `conflict` if the path exists; StartError if the folder is not writable
 */
export function requireNew(path: string, option: string): void {
  // A link to a missing file counts as an existing file.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new AppError(
      'conflict',
      `The file ${path} already exists. Name another file with ${option}.`,
    )
  requireFolder(path)
}

/** Writes all bytes to a file and syncs it to the disk. */
async function fill(file: FileHandle, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const some of bytes) await file.writeFile(some)
  await file.sync()
}

/**
 * Writes a new file of mode 0600. The file has a temporary name until it is complete.
 * @throws the errors of `bytes`, after the file was deleted; and as `requireNew`
 */
export async function writeNew(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  option: string,
): Promise<void> {
  const part = `${path}.${randomBytes(6).toString('hex')}.part`
  const file = await open(part, 'wx', 0o600)
  try {
    try {
      await fill(file, bytes)
    } finally {
      await file.close()
    }
    requireNew(path, option)
    await rename(part, path)
    syncFolder(dirname(path))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
