/** Stamp files: their content, and how they are saved and read. */
import type { Schemas } from '../../data/api.ts'
import { saveTextFile } from '../../data/download.ts'

/** The parts of a stamp file that a check sends. */
export type StampParts = NonNullable<Schemas['StampQuestion']['file']>

/** Saves a stamp as a file, in the form that the command line writes. */
export function saveStampFile({ stamp, key_log, receipt }: Schemas['Stamp'], name: string): void {
  const parts = { stamp, key_log, ...(receipt === null ? {} : { receipt }) }
  saveTextFile(`${name}.stamp`, 'application/json', `${JSON.stringify(parts, null, 2)}\n`)
}

/** The longest stamp file that the daemon accepts, in bytes. */
const LONGEST = 1024 * 1024

/** Reads a stamp file; null for any other file. */
export async function stampPartsIn(file: File): Promise<StampParts | null> {
  if (file.size > LONGEST) return null
  try {
    const { stamp, key_log, receipt } = JSON.parse(await file.text()) as Partial<StampParts>
    const isStamp = typeof stamp === 'string' && Array.isArray(key_log)
    return isStamp ? { stamp, key_log, receipt: receipt ?? null } : null
  } catch {
    return null
  }
}
