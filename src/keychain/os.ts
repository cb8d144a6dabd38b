/**
 * The operating system's keychain. On Linux the Secret Service and nothing else: left to itself the library falls back
 * to kernel keyutils, which forget everything at the next boot.
 */
import type { Entry } from '@napi-rs/keyring'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import { loadKeyring } from './addon.ts'
import type { Keychain } from './backend.ts'

const SERVICE = 'countersign'

/**
 * The keychain over the operating system's, entries named `<store>/<name>`. Loads the library, touches no entry.
 * @param stateDir an existing private folder
 */
export async function osKeychain(stateDir: string, store: string): Promise<Keychain> {
  const { Entry } = await loadKeyring(stateDir)
  const entries = new Map<string, Entry>()
  const newEntry = (name: string) =>
    new Entry(SERVICE, `${store}/${name}`, { linux: { store: 'secret-service' } })

  /** A new entry costs 5 ms on gnome-keyring, a known one 0.3 ms: those that answer are kept. */
  function using<T>(name: string, action: (entry: Entry) => T): T {
    const known = entries.get(name)
    if (known !== undefined)
      try {
        return action(known)
      } catch {
        // It may have been made with a service that ended since, and would never answer again.
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

/** Why the keychain cannot be used, told without touching it: null when nothing speaks against it. */
export function whyUnreachable(): string | null {
  if (process.platform !== 'linux' || process.env['DBUS_SESSION_BUS_ADDRESS']) return null
  const runtime = process.env['XDG_RUNTIME_DIR']
  if (runtime && existsSync(join(runtime, 'bus'))) return null
  return 'there is no session bus (DBUS_SESSION_BUS_ADDRESS is not set)'
}

/** Whether a secret can really be stored, read back and removed. */
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

// The library answers null for a missing entry and throws for everything else: locked, no bus, no provider.
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
