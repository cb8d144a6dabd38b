/**
 * The scope table: what a request needs, from its method and path alone, before routing.
 *
 * The route tables of `src/api` cannot override it. The first matching rule decides. A path that
 * matches no rule needs a token, so a path that was forgotten here is protected.
 */
import { redact } from '../crypto/encoding/redact.ts'
import { AppError } from '../errors.ts'

export type Scope = 'read' | 'write' | 'full'

/**
 * What a path requires.
 *
 * - `none`: nothing
 * - `device`: a device's session; the device may still wait for approval
 * - `session`: an approved device's session
 * - `owner`: the command line, run by the daemon's own user
 */
export type Need = 'none' | 'device' | 'session' | 'owner' | Scope

/** A caller's access level, from its token's scope, its session or the command line. */
export type AccessLevel = Exclude<Need, 'none'>

/**
 * `*` matches any one segment of the path, and `**` the rest of the path, including an empty one. A
 * rule with a method applies to no other.
 */
type Rules = readonly (readonly [pattern: string, need: Need, method?: string])[]

/**
 * The rules of the daemon's API.
 *
 * The order is: the five public paths and the assets of the docs page, the console's files and its
 * sign-in, then the paths that need `full`, then the other special paths. The last rule is for the
 * command line only.
 */
export const REST_RULES: Rules = [
  ['/', 'none'],
  ['/health', 'none'],
  ['/api/v1/health', 'none'],
  ['/api/v1/openapi.json', 'none'],
  ['/api/v1/docs/**', 'none'],
  ['/api/v1/token', 'none'],
  ['/console/v1/codes', 'none'],
  ['/console/v1/session', 'none', 'POST'],
  // A console of any scope may end itself.
  ['/console/v1/**', 'read'],
  ['/console/**', 'none'],
  ['/api/v1/org', 'full'],
  ['/api/v1/org/**', 'full'],
  ['/api/v1/api-tokens/**', 'full'],
  // The findings name paths and users.
  ['/api/v1/doctor', 'full'],
  // A device that is approved gets the whole account.
  ['/api/v1/devices/*/approval/**', 'full'],
  ['/api/v1/audit/**', 'full'],
  // The URLs can contain secrets, so reading them needs more than `read`.
  ['/api/v1/webhooks/**', 'write'],
  // Any token may call these paths. Each call made through them also needs the scope of its own
  // route.
  ['/mcp', 'read'],
  ['/api/v1/mcp', 'read'],
  ['/tools/**', 'read'],
  ['/api/v1/tools/**', 'read'],
  ['/local/**', 'owner'],
]

/**
 * The rules of the account server.
 *
 * The order is: the paths that a device uses before it has a session, and the public pages; then
 * the paths for a device that waits for approval and for the tokens of machine accounts. The REST
 * routes have the same rules as in the daemon.
 */
export const ACCOUNT_RULES: Rules = [
  ['/', 'none'],
  ['/health/**', 'none'],
  ['/g/**', 'none'],
  ['/s/**', 'none'],
  ['/o/**', 'none'],
  ['/confirm/**', 'none'],
  ['/exports/**', 'none'],
  ['/assets/**', 'none'],
  ['/oauth/token', 'none'],
  ['/.well-known/**', 'none'],
  ['/device/v1/sign-ins/**', 'none'],
  ['/device/v1/enrolments/**', 'none'],
  ['/device/v1/session', 'none'],
  ['/device/v1/clock', 'none'],
  ['/device/v1/session/current', 'device'],
  ['/device/v1/approval/**', 'device'],
  ['/device/v1/key-logs/**', 'device'],
  ['/device/v1/downloads/**', 'device'],
  ['/device/v1/token', 'read'],
  ['/device/v1/machine-tokens/**', 'full'],
  ['/device/v1/lookups', 'write'],
  ['/device/v1/**', 'session'],
  ['/api/v1/org', 'full'],
  ['/api/v1/org/**', 'full'],
]

/**
 * Methods that change nothing.
 * @see RFC 9110 section 9.2.1
 */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Compiles a rule list into a function that returns what a request needs. */
export function scopeTable(rules: Rules) {
  const compiled = rules.map(([pattern, need, method]) => {
    const segments = pattern === '/' ? [] : pattern.slice(1).split('/')
    const open = segments.at(-1) === '**'
    return { segments: open ? segments.slice(0, -1) : segments, open, need, method }
  })
  const fits = ({ segments, open }: (typeof compiled)[number], path: readonly string[]) => {
    if (open ? path.length < segments.length : path.length !== segments.length) return false
    // Compare from the end, because the first segments of nearly all paths are the same.
    for (let i = segments.length - 1; i >= 0; i--)
      if (segments[i] !== path[i] && segments[i] !== '*') return false
    return true
  }
  return (method: string, path: readonly string[]): Need => {
    for (const rule of compiled)
      if (fits(rule, path) && (rule.method === undefined || rule.method === method))
        return rule.need
    return SAFE.has(method) ? 'read' : 'write'
  }
}

/** Returns what a request to the daemon's API needs. */
export const restNeed = scopeTable(REST_RULES)

/** The needs that each access level satisfies. */
const GRANTS: Readonly<Record<AccessLevel, readonly Need[]>> = {
  read: ['read'],
  write: ['read', 'write'],
  full: ['read', 'write', 'full'],
  device: ['read', 'device'],
  session: ['read', 'write', 'full', 'device', 'session'],
  owner: ['read', 'write', 'full', 'owner'],
}
const PHRASE = { read: 'read, write or full', write: 'write or full', full: 'full' } as const
/** The error messages for needs that no token scope satisfies. */
const RESERVED = {
  device: 'This request needs the session of a device.',
  session: 'This request needs the session of an approved device.',
  owner:
    'This route is only for the command line of the daemon’s own user. Use the command countersignd instead.',
} as const

/** Checks whether an access level satisfies what a request needs. */
export const isGranted = (has: AccessLevel, need: Need): boolean =>
  need === 'none' || GRANTS[has].includes(need)

/**
 * Returns the error for a scope that does not suffice.
 * @see RFC 6750 section 3.1
 */
const insufficientScope = (message: string, need: keyof typeof PHRASE): AppError =>
  new AppError('insufficient_scope', message, {
    details: { required_scope: PHRASE[need] },
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${need}"` },
  })

/**
 * Requires that the caller's access level satisfies what a request needs.
 * @throws AppError insufficient_scope with the token's scope, the method, the path and the required
 *   scope; forbidden if no scope would suffice
 */
export function requireScope(
  has: AccessLevel,
  need: Exclude<Need, 'none'>,
  method: string,
  path: readonly string[],
): void {
  if (isGranted(has, need)) return
  if (need === 'device' || need === 'session' || need === 'owner')
    throw new AppError('forbidden', RESERVED[need])
  if (has === 'device')
    throw new AppError(
      'forbidden',
      'This device waits for approval and may only read. Run "countersignd login" on this device, and "countersignd device approve" on a device that is signed in.',
    )
  throw insufficientScope(
    // The path is redacted, since a caller may have put a token into it.
    `This token's scope is ${has}; ${method} /${redact(path.join('/'))} requires ${PHRASE[need]}. Use a token with that scope.`,
    need,
  )
}

/** Returns the error for a caller that wants a webhook that does not end with its token. */
export const lastingWebhookRefused = (has: AccessLevel): AppError =>
  insufficientScope(
    `This token's scope is ${has}; a webhook without a token requires full. Use a token with that scope, or leave out ends_with_token.`,
    'full',
  )

/** Returns the error for a caller that wants events of organisations and may not read them. */
export const orgEventsRefused = (has: AccessLevel): AppError =>
  insufficientScope(
    `This token's scope is ${has}; events of organisations (org.*) require full. Use a token with that scope.`,
    'full',
  )
