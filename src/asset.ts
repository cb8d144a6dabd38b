/** The built files that are served as they are. `dist/` stands beside `src/`, so one path serves the bundle and the sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const read = new Map<string, Buffer>()

/**
 * A built file, read once.
 * @param name its path below `dist/`, given by this program and never by a caller
 */
export function asset(name: string): Buffer {
  let bytes = read.get(name)
  if (bytes === undefined) {
    bytes = readFileSync(join(import.meta.dirname, '..', 'dist', name))
    read.set(name, bytes)
  }
  return bytes
}
