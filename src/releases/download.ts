/** Checks a file against the signed sums of its release, and reads from its name what it is. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { DownloadRefusal } from './refusal.ts'
import type { Sums } from './sums.ts'

/** A file of a release that installs the program. */
export interface Installer {
  readonly kind: 'executable' | 'package'
  /** The system and the processor: `linux-x64`, `win-x64`. */
  readonly platform: string
}

const EXECUTABLE = /^countersignd-([a-z]+-[a-z0-9]+)(?:\.exe)?$/
const PACKAGE = /^countersignd_[^_]+_([a-z0-9]+)\.deb$/
/** The names of processors in Debian. */
const DEBIAN: Readonly<Record<string, string>> = { amd64: 'linux-x64', arm64: 'linux-arm64' }
const SYSTEMS: Partial<Record<NodeJS.Platform, string>> = { win32: 'win' }

/** The platform of this process, as the names of the executables have it. */
export const platformHere = `${SYSTEMS[process.platform] ?? process.platform}-${process.arch}`

/** Returns what a file of a release installs, by its name; null if it installs nothing. */
export function installerNamed(name: string): Installer | null {
  const [, platform] = EXECUTABLE.exec(name) ?? []
  if (platform !== undefined) return { kind: 'executable', platform }
  const [, processor = ''] = PACKAGE.exec(name) ?? []
  const debian = DEBIAN[processor]
  return debian === undefined ? null : { kind: 'package', platform: debian }
}

/** Bytes that are read at once: an executable has a hundred times as many. */
const PIECE = 2 ** 20

/** Returns the SHA-256 of a file in hexadecimal. */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  const piece = Buffer.alloc(PIECE)
  const file = await open(path)
  try {
    for (;;) {
      const { bytesRead } = await file.read(piece)
      if (bytesRead === 0) return hash.digest('hex')
      hash.update(piece.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

/**
 * Checks the SHA-256 of a file.
 * @param name the name of the file, without its folder
 * @throws DownloadRefusal `not_listed`, `sum_mismatch`
 */
export function checkSum(sums: Sums, name: string, sha256: string): void {
  const expected = sums.get(name)
  if (expected === sha256) return
  const [same] = [...sums].find(([, sum]) => sum === sha256) ?? []
  if (same !== undefined)
    throw new DownloadRefusal(
      expected === undefined ? 'not_listed' : 'sum_mismatch',
      `The content of this file is that of ${same}. Rename the file to ${same}, and check it again.`,
    )
  throw expected === undefined
    ? new DownloadRefusal(
        'not_listed',
        'SHA256SUMS does not list this file, under this or another name. Use only files that it lists.',
      )
    : new DownloadRefusal(
        'sum_mismatch',
        'The content of this file is not the signed content. It was changed, or the download is not complete. Delete the file, and download it again.',
      )
}
