/** The program as one executable file: whether this is one, what travels inside it, and how it is called again. */
import { join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'

/** Whether this process runs from the one file, without a Node of its own. */
export const isExecutable: boolean = isSea()

/** How the name of something ends that travels compressed (RFC 8878): all that no start reads. */
const COMPRESSED = '.zst'

const raw = (name: string): Buffer => Buffer.from(getRawAsset(name) as ArrayBuffer)

/** Whether something of that name travels inside the executable as it is. */
export const carries = (name: string): boolean => getAssetKeys().includes(name)

/**
 * Bytes that travel inside the executable; they must not be written to.
 * @param name as the build named them; throws where there are none of that name
 */
export function carried(name: string): Buffer {
  if (carries(name)) return raw(name)
  // Loaded here: a start needs nothing that is compressed.
  const { zstdDecompressSync } = process.getBuiltinModule('node:zlib')
  return zstdDecompressSync(raw(name + COMPRESSED))
}

declare const BUNDLED_VERSION: string | undefined

/** Whether this process runs a bundle, which is in the folder of the built files, or the sources. */
const isBundled = typeof BUNDLED_VERSION === 'string'

/**
 * The path of a built file.
 * @param name its path below `dist/`
 */
export const builtFile = (name: string): string =>
  isBundled ? join(import.meta.dirname, name) : join(import.meta.dirname, '../../dist', name)

/** The entry point of this program. */
const mainFile = (): string =>
  isBundled ? builtFile('countersignd.cjs') : join(import.meta.dirname, '../main.ts')

/** The words that start this very program; a command and its options follow them. */
export const ownCommand = (): readonly [program: string, ...words: string[]] =>
  isExecutable ? [process.execPath] : [process.execPath, mainFile()]
