import { registerHooks } from 'node:module'
import type { ReleaseKey } from '../../src/releases/release-key.ts'

/**
 * Replaces the release key that the sources contain with that of a test, for modules that are
 * loaded later. The program itself has no option for this.
 */
export function pinReleaseKey(key: ReleaseKey): void {
  const source = JSON.stringify(key)
  registerHooks({
    load: (url, context, next) =>
      url.endsWith('/src/releases/release-key.json')
        ? { format: 'json', source, shortCircuit: true }
        : next(url, context),
  })
}
