import { METRICS } from '../metrics/catalogue.ts'
import type { Keychain } from './backend.ts'

type Operation = 'get' | 'set' | 'delete'

export interface CountedKeychain extends Keychain {
  /** Whether the last operation failed. */
  isFailing(): boolean
}

/** Returns a keychain that counts its operations. */
export function countedKeychain(keychain: Keychain): CountedKeychain {
  let isFailing = false

  function counted<T>(operation: Operation, run: () => T): T {
    isFailing = true
    try {
      const value = run()
      isFailing = false
      return value
    } finally {
      METRICS.keychainCalls.add({ operation, result: isFailing ? 'failed' : 'succeeded' })
    }
  }

  return {
    backend: keychain.backend,
    get: (name) => counted('get', () => keychain.get(name)),
    set: (name, secret) => counted('set', () => keychain.set(name, secret)),
    delete: (name) => counted('delete', () => keychain.delete(name)),
    isFailing: () => isFailing,
  }
}
