/** The version of the program. The bundle carries it as a constant; run from the sources, it is read from package.json. */
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

/** The commit that the bundle was built from, twelve characters, with a `+` where files were changed since; null where that is not known. */
export const COMMIT: string | null =
  typeof BUNDLED_COMMIT === 'string' && BUNDLED_COMMIT !== '' ? BUNDLED_COMMIT : null
