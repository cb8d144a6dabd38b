/** A keychain that lives as long as the test. */
import type { Keychain } from '../../src/keychain/backend.ts'

export function memoryKeychain(): Keychain {
  const secrets = new Map<string, string>()
  return {
    backend: 'file',
    get: (name) => secrets.get(name) ?? null,
    set: (name, secret) => {
      secrets.set(name, secret)
    },
    delete: (name) => {
      secrets.delete(name)
    },
  }
}
