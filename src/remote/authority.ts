/** The further authority for an account server's certificate. */
import { readFileSync } from 'node:fs'
import { StartError } from '../errors.ts'

/** The PEM text of the file that SVC_CA_FILE names; null for none. Throws StartError when it cannot be read. */
export function readAuthority(file: string | null): string | null {
  if (file === null) return null
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new StartError(
      'configuration',
      `SVC_CA_FILE names ${file}, which cannot be read (${(cause as NodeJS.ErrnoException).code}).`,
      cause,
    )
  }
}
