/**
 * The operating system's keychain.
 *
 * On Linux only the Secret Service is used. The library's default falls back to kernel keyutils,
 * which lose all secrets at the next boot.
 */
import { closeSync, openSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Entry } from '@napi-rs/keyring'
import { AppError, StartError } from '../errors.ts'
import { carried, isExecutable } from '../runtime/executable.ts'
import { NO_SESSION_BUS, sessionBus } from '../runtime/session-bus.ts'
import type { Keychain } from './backend.ts'
import { hasModes } from './private-file.ts'

type Library = Pick<typeof import('@napi-rs/keyring'), 'Entry'>

let library: Library | undefined

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    // Windows does not delete a loaded file. The next load from this folder deletes it.
  }
}

function loadCarried(stateDir: string): Library {
  const path = join(stateDir, `keyring-${process.pid}.node`)
  // An earlier process with this id may have left the file: it crashed, or it ran on Windows.
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
 * Another owner could replace a file that is written there, and this process would execute it.
 * @throws StartError stateUnsafe
 */
function requireOwn(stateDir: string): void {
  if (hasModes && statSync(stateDir).uid !== process.geteuid?.())
    throw new StartError(
      'stateUnsafe',
      `${stateDir} belongs to another user, so no library is loaded from it. Run as its owner.`,
    )
}

/**
 * Loads the native library once.
 *
 * The system loads native code only from a file. A library embedded in the executable is therefore
 * written briefly to the state folder, where no other user may write. It is never written to a
 * temporary folder, where all users may write.
 * @param stateDir an existing private folder of this user
 * @throws StartError stateUnsafe if another user owns the folder; the system's error if the library
 *   does not load, for example on a file system that forbids execution
 */
export async function loadKeyring(stateDir: string): Promise<Library> {
  requireOwn(stateDir)
  return (library ??= isExecutable ? loadCarried(stateDir) : await import('@napi-rs/keyring'))
}

const SERVICE = 'countersign'

/**
 * Returns the operating system's keychain, with entries named `<store>/<name>`.
 *
 * Loads the library, but accesses no entry.
 * @param stateDir an existing private folder
 */
export async function osKeychain(stateDir: string, store: string): Promise<Keychain> {
  const { Entry } = await loadKeyring(stateDir)
  const entries = new Map<string, Entry>()
  const newEntry = (name: string) =>
    new Entry(SERVICE, `${store}/${name}`, { linux: { store: 'secret-service' } })

  /**
   * Runs an action on an entry, and caches the entry if the action succeeds.
   *
   * With gnome-keyring, a new entry takes 5 ms and a cached one 0.3 ms.
   */
  function using<T>(name: string, action: (entry: Entry) => T): T {
    const known = entries.get(name)
    if (known !== undefined)
      try {
        return action(known)
      } catch {
        // The entry may refer to a service process that has ended, and would then never work again.
        entries.delete(name)
      }
    return reach(() => {
      const made = newEntry(name)
      const answer = action(made)
      entries.set(name, made)
      return answer
    })
  }

  return {
    backend: 'os',
    get: (name) => using(name, (entry) => entry.getPassword()),
    set: (name, secret) => using(name, (entry) => entry.setPassword(secret)),
    delete: (name) => {
      using(name, (entry) => entry.deleteCredential())
    },
  }
}

/** Returns why the keychain cannot be used; null if it may work. Does not access it. */
export function whyUnreachable(): string | null {
  return process.platform !== 'linux' || sessionBus() !== null ? null : NO_SESSION_BUS
}

/** Checks whether a secret can be stored, read back and deleted. */
export async function probe(stateDir: string, store: string): Promise<boolean> {
  try {
    const keychain = await osKeychain(stateDir, store)
    keychain.set('probe', store)
    const isUsable = keychain.get('probe') === store
    keychain.delete('probe')
    return isUsable
  } catch {
    return false
  }
}

// The library returns null for a missing entry. It throws for all other failures: a locked
// keychain, no session bus, no provider.
function reach<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    throw new AppError(
      'keychain_locked',
      "The operating system's keychain is locked or not available. Log in to the desktop session or unlock it, then try again.",
      { cause },
    )
  }
}
