/**
 * Support for the single executable file: detects whether this process runs from it, reads its
 * embedded assets, and returns the command that starts the same program again.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { getAssetKeys, getRawAsset, isSea } from 'node:sea'

/** Whether this process runs from the single executable, without a separate Node. */
export const isExecutable: boolean = isSea()

/**
 * The suffix of assets compressed with zstd (RFC 8878). Only assets that a start never reads are
 * compressed.
 */
const COMPRESSED = '.zst'

const raw = (name: string): Buffer => Buffer.from(getRawAsset(name) as ArrayBuffer)

/** Whether the executable has an uncompressed asset of that name. */
export const carries = (name: string): boolean => getAssetKeys().includes(name)

/**
 * Returns the bytes of an embedded asset. The caller must not change them.
 * @param name the name that the build gave the asset
 * @throws if there is no asset of that name
 */
export function carried(name: string): Buffer {
  if (carries(name)) return raw(name)
  // Loaded only here, because a start reads no compressed asset.
  const { zstdDecompressSync } = process.getBuiltinModule('node:zlib')
  return zstdDecompressSync(raw(name + COMPRESSED))
}

declare const BUNDLED_VERSION: string | undefined

/** Whether this process runs the bundle. If not, it runs the TypeScript sources. */
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

/**
 * Returns the command words that start this same program. The caller appends a subcommand and
 * options.
 */
export const ownCommand = (): readonly [program: string, ...words: string[]] =>
  isExecutable ? [process.execPath] : [process.execPath, mainFile()]

const read = new Map<string, Buffer>()

/**
 * Returns the content of a built file that is served unchanged. The file is read once, from the
 * executable or from `dist/`.
 * @param name its path below `dist/`. It must be chosen by this program, never by a client.
 */
export function asset(name: string): Buffer {
  let bytes = read.get(name)
  if (bytes === undefined) {
    bytes = isExecutable ? carried(name) : readFileSync(builtFile(name))
    read.set(name, bytes)
  }
  return bytes
}
