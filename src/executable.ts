/** The program as one executable file: whether this is one, what travels inside it, and how it is called again. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { getRawAsset, isSea } from 'node:sea'

/** Whether this process runs from the one file, without a Node of its own. */
export const isExecutable: boolean = isSea()

/**
 * Bytes that travel inside the executable; they must not be written to.
 * @param name as the build named them; throws where there are none of that name
 */
export const carried = (name: string): Buffer => Buffer.from(getRawAsset(name) as ArrayBuffer)

/** The first file of this program: as bundled beside this one, or among the sources. */
function mainFile(): string {
  const source = join(import.meta.dirname, 'main.ts')
  return existsSync(source) ? source : join(import.meta.dirname, 'countersignd.cjs')
}

/** The words that start this very program; a command and its options follow them. */
export const ownCommand = (): readonly [program: string, ...words: string[]] =>
  isExecutable ? [process.execPath] : [process.execPath, mainFile()]
