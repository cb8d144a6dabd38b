/** The program's version. In the bundle it is a constant; the sources read it from package.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

declare const BUNDLED_VERSION: string | undefined

const fromPackage = () =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    version: string
  }

export const VERSION: string =
  typeof BUNDLED_VERSION === 'string' ? BUNDLED_VERSION : fromPackage().version

declare const BUNDLED_COMMIT: string | undefined

/**
 * The commit from which the bundle was built (12 characters), or null if unknown. A final `+` means
 * that the sources had changes that were not committed.
 */
const COMMIT: string | null =
  typeof BUNDLED_COMMIT === 'string' && BUNDLED_COMMIT !== '' ? BUNDLED_COMMIT : null

/** The version, with the commit if it is known: `0.1.0 (0123456789ab)`. */
export const versionLine: string = COMMIT === null ? VERSION : `${VERSION} (${COMMIT})`

/** The same data as an object for scripts, with the runtime and the platform. */
export const versionFacts = {
  version: VERSION,
  commit: COMMIT,
  node: process.versions.node,
  platform: `${process.platform} ${process.arch}`,
} as const
