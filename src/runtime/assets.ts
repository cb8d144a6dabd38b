/**
 * The built files that are served as they are: out of the executable, or from `dist/`, which stands beside `src/`, so that one path
 * serves the bundle and the sources.
 */
import { readFileSync } from 'node:fs'
import { builtFile, carried, isExecutable } from './executable.ts'

const read = new Map<string, Buffer>()

/**
 * A built file, read once.
 * @param name its path below `dist/`, given by this program and never by a caller
 */
export function asset(name: string): Buffer {
  let bytes = read.get(name)
  if (bytes === undefined) {
    bytes = isExecutable ? carried(name) : readFileSync(builtFile(name))
    read.set(name, bytes)
  }
  return bytes
}
