/** Reads the additional authority for the certificate of an account server. */
import { readFileSync } from 'node:fs'
import { StartError } from '../errors.ts'

/**
 * Returns the PEM text of the file that SVC_CA_FILE names; null for none.
 * @throws StartError if it cannot be read
 */
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
