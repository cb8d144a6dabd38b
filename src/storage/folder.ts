/**
 * The state folder: created private, and rejected if another user could read it, change it or
 * replace it.
 */
import { lstatSync, mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartError } from '../errors.ts'
import { fileFault, hasModes, isMissing } from '../keychain/private-file.ts'

export type { FileCheck } from '../keychain/private-file.ts'
export {
  fileFault,
  readChecked,
  readPrivate,
  removeFile,
  removeLeftovers,
  writeAtomic,
} from '../keychain/private-file.ts'

/** Creates the folder if it is missing, checks it, and sets the umask of this process to 0077. */
export function openFolder(dir: string): void {
  if (hasModes) process.umask(0o077)
  // Without a trailing slash, with which lstat would follow a link.
  const path = resolve(dir)
  const stat = look(path) ?? make(path)
  if (stat.isSymbolicLink()) {
    throw unsafe(`${path} is a link. Point SVC_STATE_DIR at the folder itself.`)
  }
  if (!stat.isDirectory()) {
    throw unsafe(`${path} is not a folder. Move it away, or set SVC_STATE_DIR to another place.`)
  }
  const found = fileFault(stat, path)
  if (found !== null) throw unsafe(found)
}

function look(path: string) {
  try {
    return lstatSync(path)
  } catch (cause) {
    if (isMissing(cause)) return null
    throw unreachable(path, cause)
  }
}

function make(path: string) {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return lstatSync(path)
  } catch (cause) {
    throw unreachable(path, cause)
  }
}

const unsafe = (message: string): StartError => new StartError('stateUnsafe', message)

const unreachable = (path: string, cause: unknown): StartError =>
  new StartError(
    'failed',
    `The state folder ${path} cannot be opened or made (${(cause as NodeJS.ErrnoException).code}). ` +
      'Check the path and its permissions, or set SVC_STATE_DIR to another place.',
    cause,
  )
