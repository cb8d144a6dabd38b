/**
 * The library that reaches the operating system's keychain: native code, which the system loads from a file alone. What travels
 * inside the executable is written for that moment to the state folder, where nobody else may write; never to a folder for
 * temporary files, which is everybody's.
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
    // Windows keeps what is loaded; the next load from that folder takes it away.
  }
}

function loadCarried(stateDir: string): Library {
  const path = join(stateDir, `keyring-${process.pid}.node`)
  // Of an earlier process with this number, which crashed, or is on Windows.
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

/** The owner of a folder can put another file in the place of what is written there, and this process would run it. */
function demandOwn(stateDir: string): void {
  if (hasModes && statSync(stateDir).uid !== process.geteuid?.())
    throw new StartError(
      'stateUnsafe',
      `${stateDir} belongs to another user, and nothing is loaded from there. Run as its owner.`,
    )
}

/**
 * Load the library, once.
 * @param stateDir an existing private folder of this user
 * @throws StartError stateUnsafe for a folder of another user; what the system says where it does not load, as on a file system that runs nothing
 */
export async function loadKeyring(stateDir: string): Promise<Library> {
  demandOwn(stateDir)
  return (library ??= isExecutable ? loadCarried(stateDir) : await import('@napi-rs/keyring'))
}
