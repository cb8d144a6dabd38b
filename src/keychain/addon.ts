/**
 * Loads the native library that accesses the operating system's keychain.
 *
 * The system loads native code only from a file. A library that is embedded in the executable is
 * therefore written for a moment to the state folder, where no other user may write. It is never
 * written to a folder for temporary files, where all users may.
 */
import { closeSync, openSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../errors.ts'
import { carried, isExecutable } from '../runtime/executable.ts'
import { hasModes } from './private-file.ts'

type Library = Pick<typeof import('@napi-rs/keyring'), 'Entry'>

let library: Library | undefined

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Windows keeps a loaded file. The next load from that folder deletes it.
  }
}

function loadCarried(stateDir: string): Library {
  const path = join(stateDir, `keyring-${process.pid}.node`)
  // Left by an earlier process with this id, which crashed or ran on Windows.
  unlinkQuietly(path)
  const file = openSync(path, 'wx', 0o600)
  try {
    writeFileSync(file, carried('keyring.node'))
  } finally {
    closeSync(file)
  }
  try {
    const module = { exports: {} }
    process.dlopen(module, path)
    return module.exports as Library
  } finally {
    unlinkQuietly(path)
  }
}

/**
 * Requires that this user owns a folder.
 *
 * Its owner could replace a file that is written there, and this process would run it.
 * @throws StartError stateUnsafe
 */
function requireOwn(stateDir: string): void {
  if (hasModes && statSync(stateDir).uid !== process.geteuid?.())
    throw new StartError(
      'stateUnsafe',
      `${stateDir} belongs to another user, and nothing is loaded from there. Run as its owner.`,
    )
}

/**
 * Loads the library once.
 * @param stateDir an existing private folder of this user
 * @throws StartError stateUnsafe for a folder of another user; the system's error if it does not
 *   load, for example on a file system that forbids execution
 */
export async function loadKeyring(stateDir: string): Promise<Library> {
  requireOwn(stateDir)
  return (library ??= isExecutable ? loadCarried(stateDir) : await import('@napi-rs/keyring'))
}
