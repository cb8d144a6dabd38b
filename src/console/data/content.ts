/** Content to stamp or to check: a file or a text, of which only the hash leaves the browser. */
import { UNSHOWABLE } from '../../crypto/encoding/quoted.ts'

/**
 * The largest file, in bytes. WebCrypto needs the whole file in one buffer, and a larger buffer
 * does not fit into memory on every machine.
 */
export const LARGEST_FILE = 1024 ** 3

/** Content with its hash. */
export interface HashedContent {
  /** The name of the file; null for a text. */
  readonly name: string | null
  readonly mediaType: string | null
  readonly size: number
  /** In lower-case hexadecimal digits. */
  readonly sha256: string
}

/** Why a file cannot be hashed. */
export type ContentFault = 'tooLarge' | 'unreadable'

async function sha256Hex(bytes: BufferSource): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A media type as the API accepts it. */
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

/** Characters that hide or reorder others. */
const UNSEEN = new RegExp(`[${UNSHOWABLE}]`, 'gu')

/** Returns the name of a file without characters that the API refuses. */
export const showableFileName = (name: string): string => name.replaceAll(UNSEEN, '')

/** Returns a file with its hash, or why there is none. */
export async function hashedFile(file: File): Promise<HashedContent | ContentFault> {
  if (file.size > LARGEST_FILE) return 'tooLarge'
  try {
    return {
      name: file.name,
      mediaType: MEDIA_TYPE.test(file.type) ? file.type : null,
      size: file.size,
      sha256: await sha256Hex(await file.arrayBuffer()),
    }
  } catch {
    return 'unreadable'
  }
}

/** Returns a text with the hash of its UTF-8 bytes. */
export async function hashedText(text: string): Promise<HashedContent> {
  const bytes = new TextEncoder().encode(text)
  return { name: null, mediaType: 'text/plain', size: bytes.length, sha256: await sha256Hex(bytes) }
}
