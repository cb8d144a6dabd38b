/**
 * Checks every request before any look-up.
 *
 * The order is framing, Host, Origin and Sec-Fetch, path, peer. Without these checks, any page in
 * the browser and any user of the machine could use a loopback port.
 */
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import type { Fields } from './fields.ts'
import { type RequestTarget, splitTarget } from './path.ts'

export interface GuardRules {
  /**
   * The Host values that the listener accepts, each with the origin of the listener's pages.
   *
   * The host in that origin can differ from the Host value.
   *
   * Null for a Unix socket: DNS rebinding cannot reach it, so any Host is accepted, or none. No
   * browser may call it.
   */
  readonly hosts: ReadonlyMap<string, string> | null
  /** Matches the paths of pages that links from other sites may open. */
  readonly navigable: RegExp
  /** The paths that no browser and only some users may call. */
  readonly tokenPaths: readonly string[]
  /**
   * The path that only the listener's own pages in browsers of these users may call; null if there
   * is none.
   */
  readonly pagePath: string | null
  /** Whether the user with this uid may call these paths. The uid is null if it is unknown. */
  readonly peerAllowed: (uid: number | null) => boolean
}

const badRequest = (message: string) => new AppError('bad_request', message)
const badOrigin = (message: string, headers: Readonly<Record<string, string>> = {}) =>
  new AppError('origin_not_allowed', message, { headers })

/**
 * Makes the browser remove a service worker that an earlier program on this port installed.
 *
 * A service worker stays installed after its program has ended. The browser receives this header
 * when it checks the script of the worker for updates.
 */
const FORGET = { 'Clear-Site-Data': '"storage"' }

/** Whether the guard rejected a request because a browser asked for a service worker's script. */
export const isWorkerRefusal = ({ headers }: AppError): boolean => headers === FORGET

function checkFraming(req: IncomingMessage, fields: Fields, needsHost: boolean): void {
  // RFC 9112 section 3.2: there must be exactly one Host field. Targets must be in origin form,
  // because this server is not a proxy.
  if (fields.hosts !== 1 && (needsHost || fields.hosts > 1))
    throw badRequest(`Send ${needsHost ? 'exactly' : 'at most'} one Host header.`)
  if (fields.authorizations > 1) throw badRequest('Send at most one Authorization header.')
  // RFC 9449 section 4.3, check 1.
  if (fields.proofs > 1) throw badRequest('Send at most one DPoP header.')
  if (fields.keys !== 0) checkKey(fields.keys, fields['idempotency-key'] as string)
  if (!req.url?.startsWith('/'))
    throw badRequest('Send only the path as the request target, for example GET /health.')
  if (req.httpVersionMajor !== 1) throw badRequest('Use HTTP/1.1.')
  const coding = fields['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    throw badRequest('The only supported transfer coding is chunked.')
  // RFC 9112 section 6.1: HTTP/1.0 does not define transfer codings, so the end of the body is
  // uncertain.
  if (coding !== undefined && req.httpVersion === '1.0')
    throw badRequest('HTTP/1.0 has no Transfer-Encoding.')
}

function checkKey(count: number, key: string): void {
  if (count > 1 || !/^[\x21-\x7e]{1,200}$/.test(key))
    throw badRequest(
      'Send at most one Idempotency-Key header, of 1 to 200 visible ASCII characters: a random one for each new request.',
    )
}

function checkHost(host: string, hosts: ReadonlyMap<string, string>): string {
  const origin = hosts.get(host)
  if (origin === undefined)
    throw new AppError(
      'host_not_allowed',
      `This server answers to Host ${[...hosts.keys()].join(', ')} only.`,
    )
  return origin
}

/** Whether pages of the requested host have this origin. */
const isOf = (host: string, origin: string) =>
  origin === `http://${host}` || origin === `https://${host}`

/**
 * Checks which page, if any, sent a request (W3C Fetch Metadata, RFC 6454).
 * @param own the origin of the listener's pages; null if it has none
 * @returns whether the browser opens a page under a host name that the listener's pages do not use
 * @throws AppError `origin_not_allowed`
 */
function checkOrigin(
  method: string | undefined,
  fields: Fields,
  own: string | null,
  path: string,
  rules: GuardRules,
): boolean {
  const { host = '', origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = fields
  if (fields['service-worker'] !== undefined)
    throw badOrigin('This server does not serve service workers.', FORGET)
  if ((origin !== undefined || site !== undefined) && rules.tokenPaths.includes(path))
    throw badOrigin('A browser may not create a token. Use the command line or a script.')
  if (own === null) {
    if (origin !== undefined || site !== undefined || path === rules.pagePath)
      throw badOrigin('Browsers may not call this Unix socket. They need the TCP address.')
    return false
  }
  if (path === rules.pagePath && (origin !== own || site !== 'same-origin'))
    throw badOrigin(
      `Only the console at ${own} may call this path. Run "countersignd open" to open it.`,
    )
  if (origin !== undefined && origin !== own)
    throw badOrigin('Pages of other origins may not call this server.')
  if (site === undefined) return false
  const isHere = isOf(host, own)
  const navigates = method === 'GET' && mode === 'navigate'
  // For a browser, programs at 127.0.0.1 and at [::1] can both have the origin `localhost`.
  if (site === 'same-origin' && !isHere)
    throw badOrigin(`Only pages at ${own} may call this server.`)
  if (site !== 'same-origin' && site !== 'none' && !(navigates && rules.navigable.test(path)))
    throw badOrigin('Pages of other sites may not call this server.')
  return navigates && !isHere
}

/**
 * Checks everything about a request that needs no look-up.
 * @returns the segments of the path, and the query string; `redirect`: the address that the browser
 * must be redirected to, or null; `asksPeer`: whether the request must also pass `checkPeer`
 * @throws AppError 400 for framing and path, 403 for Host and Origin
 */
export function guard(
  req: IncomingMessage,
  fields: Fields,
  rules: GuardRules,
): RequestTarget & { readonly redirect: string | null; readonly asksPeer: boolean } {
  const { hosts } = rules
  checkFraming(req, fields, hosts !== null)
  const own = hosts === null ? null : checkHost(fields.host as string, hosts)
  const url = req.url as string
  const mark = url.indexOf('?')
  const path = mark === -1 ? url : url.slice(0, mark)
  const opensElsewhere = checkOrigin(req.method, fields, own, path, rules)
  const { segments, query } = splitTarget(url)
  const redirect = opensElsewhere ? `${own}${url}` : null
  const asksPeer = path === rules.pagePath || rules.tokenPaths.includes(path)
  return { segments, query, redirect, asksPeer }
}

/**
 * Checks the peer of a connection. Required for the paths that only some users may call.
 * @param uid the uid of the peer; null if it is unknown
 * @throws AppError `peer_not_allowed`
 */
export function checkPeer(uid: number | null, rules: GuardRules): void {
  if (!rules.peerAllowed(uid))
    throw new AppError(
      'peer_not_allowed',
      "Only the daemon's own user may create tokens here. SVC_TOKEN_USERS names further users.",
    )
}
