/**
 * The only parser of request targets.
 *
 * A path is split here once and never decoded, and the scope table and the router get the same
 * segments. A path with two possible readings is rejected, so that the scope table and the router
 * cannot disagree.
 */
import { redact } from '../crypto/encoding/redact.ts'
import { AppError } from '../errors.ts'

export interface RequestTarget {
  readonly segments: readonly string[]
  /** The query string without the question mark; empty if there is none. */
  readonly query: string
}

/**
 * The characters of RFC 3986 section 3.3 except escapes and `;`, so that each has only one reading.
 *
 * Ids need fewer characters, but a malformed id must be a missing resource, not a malformed path.
 */
const SEGMENT = /[A-Za-z0-9._~!$&'()*+,=:@-]/

/** Whether a segment may contain a character; the index is the character's code. */
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
 * Splits a request target in origin form (RFC 9112 section 3.2.1).
 * @throws AppError `bad_request` if the target is not in origin form or its path is not canonical;
 * `no_such_route` if only the slash at the end is wrong
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
