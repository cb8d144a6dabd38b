/** A file that is fetched for a person: whole or not there at all, for nobody but its user, and never over another. */
import { randomBytes } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../errors.ts'
import { syncFolder } from '../keychain/private-file.ts'
import { demandFolder } from './commands/session/machine-key-file.ts'

/**
 * Throws AppError `conflict` where something has this name already, StartError where the folder takes no file.
 * @param option names another file
 */
export function demandNew(path: string, option: string): void {
  // Also a link that leads nowhere is something.
  if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
    throw new AppError('conflict', `${path} is there already: name another file with ${option}.`)
  demandFolder(path)
}

/** Write all of it to the disk. */
async function fill(file: FileHandle, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const some of bytes) await file.writeFile(some)
  await file.sync()
}

/**
 * Write a new file of mode 0600. Until it is whole it has another name.
 * @throws what `bytes` throws, after which nothing stays; as `demandNew`
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
    demandNew(path, option)
    await rename(part, path)
    syncFolder(dirname(path))
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
