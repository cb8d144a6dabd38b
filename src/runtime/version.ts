/**
 * The version of the program. The bundle holds it as a constant; the sources read it from
 * package.json.
 */
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
 * The commit of the bundle, twelve characters; null if it is unknown. It ends with a `+` if files
 * were changed since.
 */
export const COMMIT: string | null =
  typeof BUNDLED_COMMIT === 'string' && BUNDLED_COMMIT !== '' ? BUNDLED_COMMIT : null
