/** The notes of a release. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Writes the entries of the changelog. */
export async function writeNotes({ version, changes, output }) {
  await writeFile(join(output, 'RELEASE-NOTES.md'), `# Countersign ${version}\n\n${changes}\n`)
}
