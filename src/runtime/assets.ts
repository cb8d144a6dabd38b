/**
 * The built files that are served unchanged, from the executable or from `dist/`. That folder is
 * beside `src/`, so that one path serves the bundle and the sources.
 */
import { readFileSync } from 'node:fs'
import { builtFile, carried, isExecutable } from './executable.ts'

const read = new Map<string, Buffer>()

/**
 * Returns a built file, which is read once.
 * @param name its path below `dist/`, chosen by this program and never by a client
 */
export function asset(name: string): Buffer {
  let bytes = read.get(name)
  if (bytes === undefined) {
    bytes = isExecutable ? carried(name) : readFileSync(builtFile(name))
    read.set(name, bytes)
  }
  return bytes
}
