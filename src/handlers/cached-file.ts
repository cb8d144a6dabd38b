/** Answers with files. The name of each contains a hash of its content. */
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { Content } from '../api/route.ts'
import type { HandlerContext } from './context.ts'

/** Decompresses a file. */
export const inflate: (bytes: Uint8Array) => Promise<Uint8Array> = promisify(gunzip)

/** Checks whether an Accept-Encoding field accepts gzip (RFC 9110 section 12.5.3). */
const takesGzip = (accepted: string): boolean =>
  accepted
    .split(',')
    .some((coding) => /^\s*(?:x-)?gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(coding))

/**
 * The uncompressed files, for the few clients without gzip. Each is decompressed once, so that all
 * slow readers share one buffer.
 */
const plain = new WeakMap<Uint8Array, Promise<Uint8Array>>()

function inflated(bytes: Uint8Array): Promise<Uint8Array> {
  let made = plain.get(bytes)
  if (made === undefined) plain.set(bytes, (made = inflate(bytes)))
  return made
}

const FOREVER = { 'Cache-Control': 'public, max-age=31536000, immutable' }
const BY_CODING = { ...FOREVER, Vary: 'Accept-Encoding' }
const GZIPPED = { ...BY_CODING, 'Content-Encoding': 'gzip' }

/**
 * Returns the answer with a file, which browsers may cache permanently.
 * @param file `gzipped`: whether `bytes` are compressed
 */
export async function cachedFile(
  { type, bytes, gzipped }: { type: string; bytes: Uint8Array; gzipped: boolean },
  context: Pick<HandlerContext, 'header'>,
): Promise<Content> {
  if (!gzipped) return { type, body: bytes, headers: FOREVER }
  return takesGzip(context.header('accept-encoding') ?? '')
    ? { type, body: bytes, headers: GZIPPED }
    : { type, body: await inflated(bytes), headers: BY_CODING }
}
