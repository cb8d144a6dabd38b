/** The checksums of a release. */
import { createHash } from 'node:crypto'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The file with the checksums, in the format of `sha256sum`. */
export const SUMS = 'SHA256SUMS'

/** Writes the SHA-256 of each file in the folder. */
export async function writeSums({ output }) {
  const lines = []
  for (const name of (await readdir(output)).toSorted()) {
    if (name === SUMS) continue
    const bytes = await readFile(join(output, name))
    lines.push(`${createHash('sha256').update(bytes).digest('hex')}  ${name}\n`)
  }
  await writeFile(join(output, SUMS), lines.join(''))
}
