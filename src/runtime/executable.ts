/**
 * The program as a single executable file. Tests whether this is one, reads its embedded assets,
 * and returns the command that starts it again.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'

/** Whether this process runs from the single executable, without a separate Node. */
export const isExecutable: boolean = isSea()

/** The suffix of compressed assets (RFC 8878): all that no start reads. */
const COMPRESSED = '.zst'

const raw = (name: string): Buffer => Buffer.from(getRawAsset(name) as ArrayBuffer)

/** Whether the executable has an uncompressed asset of that name. */
export const carries = (name: string): boolean => getAssetKeys().includes(name)

/**
 * Returns the bytes of an embedded asset; they must not be written to.
 * @param name as the build named it
 * @throws if there is no asset of that name
 */
export function carried(name: string): Buffer {
  if (carries(name)) return raw(name)
  // Loaded here, since a start needs no compressed asset.
  const { zstdDecompressSync } = process.getBuiltinModule('node:zlib')
  return zstdDecompressSync(raw(name + COMPRESSED))
}

declare const BUNDLED_VERSION: string | undefined

/** Whether this process runs a bundle in the folder of the built files, or the sources. */
const isBundled = typeof BUNDLED_VERSION === 'string'

/**
 * Returns the path of a built file.
 * @param name its path below `dist/`
 */
const builtFile = (name: string): string =>
  isBundled ? join(import.meta.dirname, name) : join(import.meta.dirname, '../../dist', name)

/** Returns the entry point of this program. */
const mainFile = (): string =>
  isBundled ? builtFile('countersignd.cjs') : join(import.meta.dirname, '../main.ts')

/** Returns the words that start this same program; a command and its options follow them. */
export const ownCommand = (): readonly [program: string, ...words: string[]] =>
  isExecutable ? [process.execPath] : [process.execPath, mainFile()]

const read = new Map<string, Buffer>()

/**
 * Returns a built file that is served unchanged, from the executable or from `dist/`. It is read
 * once.
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
