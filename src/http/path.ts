/**
 * The only parser of request targets. The scope table and the router get the same segments, split
 * here once and never decoded. A path that could be read in two ways is rejected, so that the two
 * cannot disagree about it.
 */
import { redact } from '../crypto/encoding/redact.ts'
import { AppError } from '../errors.ts'

export interface RequestTarget {
  readonly segments: readonly string[]
  /** The query string without its question mark; empty when there is none. */
  readonly query: string
}

/**
 * RFC 3986 section 3.3 without escapes and `;`: characters with only one reading. Ids need fewer,
 * but a malformed id means a missing resource and not a malformed path.
 */
const SEGMENT = /[A-Za-z0-9._~!$&'()*+,=:@-]/

/** Whether a segment may contain a character, by character code. */
const ALLOWED = Uint8Array.from({ length: 128 }, (_, code) =>
  SEGMENT.test(String.fromCharCode(code)) ? 1 : 0,
)

const SLASH = 0x2f

/** Splits a path that begins with a slash, in one pass. Returns null if it is not canonical. */
function segmentsOf(path: string): string[] | null {
  const segments: string[] = []
  let start = 1
  for (let i = 1; i <= path.length; i++) {
    const code = i === path.length ? SLASH : path.charCodeAt(i)
    if (code === SLASH) {
      const segment = path.slice(start, i)
      if (segment === '' || segment === '.' || segment === '..') return null
      segments.push(segment)
      start = i + 1
    } else if (ALLOWED[code] !== 1) return null
  }
  return segments
}

/** The maximum length of a path in an error message. */
const LONGEST_QUOTE = 200

/**
 * Splits an origin-form request target (RFC 9112 section 3.2.1).
 * @throws AppError bad_request if the target is not in origin form or its path is not canonical;
 * no_such_route if it would be canonical without the slash at its end
 */
export function splitTarget(target: string): RequestTarget {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  const query = mark === -1 ? '' : target.slice(mark + 1)
  if (path === '/') return { segments: [], query }
  const segments = path.charCodeAt(0) === SLASH ? segmentsOf(path) : null
  if (segments === null && segmentsOf(path.slice(0, -1)) !== null && path.endsWith('/'))
    throw new AppError(
      'no_such_route',
      `The path must not end with a slash. Use ${redact(path.slice(0, -1)).slice(0, LONGEST_QUOTE)}.`,
    )
  if (segments === null)
    throw new AppError(
      'bad_request',
      'The request path is not canonical. Write it as documented, without %-escapes, empty, "." or ".." segments, or a slash at the end.',
    )
  return { segments, query }
}
