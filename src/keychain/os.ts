/**
 * The operating system's keychain.
 *
 * On Linux only the Secret Service is used. By default the library falls back to kernel keyutils,
 * which lose everything at the next boot.
 */
import type { Entry } from '@napi-rs/keyring'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { loadKeyring } from './addon.ts'
import type { Keychain } from './backend.ts'

const SERVICE = 'countersign'

/**
 * Returns the operating system's keychain, with entries named `<store>/<name>`.
 *
 * Loads the library, and accesses no entry.
 * @param stateDir an existing private folder
 */
export async function osKeychain(stateDir: string, store: string): Promise<Keychain> {
  const { Entry } = await loadKeyring(stateDir)
  const entries = new Map<string, Entry>()
  const newEntry = (name: string) =>
    new Entry(SERVICE, `${store}/${name}`, { linux: { store: 'secret-service' } })

  /**
   * Runs an action on an entry, and keeps the entry if it works.
   *
   * With gnome-keyring a new entry costs 5 ms, a kept one 0.3 ms.
   */
  function using<T>(name: string, action: (entry: Entry) => T): T {
    const known = entries.get(name)
    if (known !== undefined)
      try {
        return action(known)
      } catch {
        // The entry may belong to a service process that has ended, and would never work again.
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

/** Returns why the keychain cannot be used, or null. Does not access it. */
export function whyUnreachable(): string | null {
  if (process.platform !== 'linux' || process.env['DBUS_SESSION_BUS_ADDRESS']) return null
  const runtime = process.env['XDG_RUNTIME_DIR']
  if (runtime && existsSync(join(runtime, 'bus'))) return null
  return 'there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)'
}

/** Checks whether a secret can be stored, read back and deleted. */
export async function probe(stateDir: string, store: string): Promise<boolean> {
  try {
    const keychain = await osKeychain(stateDir, store)
    keychain.set('probe', store)
    const kept = keychain.get('probe') === store
    keychain.delete('probe')
    return kept
  } catch {
    return false
  }
}

// The library returns null for a missing entry and throws for all other failures: locked, no bus,
// no provider.
function reach<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    throw new AppError(
      'keychain_locked',
      "The operating system's keychain is locked or out of reach. Log in to the desktop session or unlock it, then try again.",
      { cause },
    )
  }
}
