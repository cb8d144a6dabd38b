/**
 * The operating system's keychain. On Linux the Secret Service and nothing else: left to itself the library falls back
 * to kernel keyutils, which forget everything at the next boot.
 */
import type { Entry } from '@napi-rs/keyring'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import type { Keychain } from './keychain.ts'

const SERVICE = 'countersign'

/** The keychain over the operating system's, entries named `<store>/<name>`. Loads the library, touches no entry. */
export async function osKeychain(store: string): Promise<Keychain> {
  const { Entry } = await import('@napi-rs/keyring')
  const entries = new Map<string, Entry>()
  // A new entry costs 5 ms on gnome-keyring, a known one 0.3 ms.
  const entry = (name: string): Entry => {
    const known = entries.get(name)
    if (known !== undefined) return known
    const made = new Entry(SERVICE, `${store}/${name}`, { linux: { store: 'secret-service' } })
    entries.set(name, made)
    return made
  }
  return {
    backend: 'os',
    get: (name) => reach(() => entry(name).getPassword()),
    set: (name, secret) => reach(() => entry(name).setPassword(secret)),
    delete: (name) => {
      reach(() => entry(name).deleteCredential())
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
export async function probe(store: string): Promise<boolean> {
  try {
    const keychain = await osKeychain(store)
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
