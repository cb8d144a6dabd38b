/** The version of the program. The bundle carries it as a constant; run from the sources, it is read from package.json. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

declare const BUNDLED_VERSION: string | undefined

const fromPackage = () =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'package.json'), 'utf8')) as {
    version: string
  }

export const VERSION: string =
  typeof BUNDLED_VERSION === 'string' ? BUNDLED_VERSION : fromPackage().version
