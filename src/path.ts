/**
 * The one reading of a request target. Scope table and router get the same segments, split here once and never decoded:
 * a path that could be read in two ways is refused, so that the two can never disagree about it.
 */
import { AppError } from './errors.ts'

export interface Target {
  readonly segments: readonly string[]
  /** The query string without its question mark; empty when there is none. */
  readonly query: string
}

/**
 * RFC 3986 section 3.3 without escapes and `;`: what can be read in one way only. Ids need less, but a malformed id is a
 * resource that is not there, and no fault of the path.
 */
const PATH = /^(?:\/[A-Za-z0-9._~!$&'()*+,=:@-]+)+$/

/**
 * Split an origin-form request target (RFC 9112 section 3.2.1).
 * @throws AppError bad_request where the target is not in origin form or its path is not canonical
 */
export function splitTarget(target: string): Target {
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  if (path === '/') return { segments: [], query: mark === -1 ? '' : target.slice(mark + 1) }
  if (!PATH.test(path))
    throw new AppError(
      'bad_request',
      'The request path is not canonical: write it as documented, without %-escapes, empty segments, or a slash at the end.',
    )
  const segments = path.slice(1).split('/')
  if (path.includes('/.') && segments.some((segment) => segment === '.' || segment === '..'))
    throw new AppError('bad_request', 'The request path has a "." or ".." segment: write it out.')
  return { segments, query: mark === -1 ? '' : target.slice(mark + 1) }
}
