/**
 * The scope table: what a request needs, from its method and path alone, before any routing. Nothing on a row can change it.
 * The first rule that fits decides; what no rule names needs a token, so a forgotten path is closed, not open.
 */
import { redact } from '../crypto/encoding/redact.ts'
import { AppError } from '../errors.ts'

export type Scope = 'read' | 'write' | 'full'

/** What a path asks for. `none`: nothing. `device`: the session of a device, also one that waits for approval. `session`: that of
 * an approved device. `owner`: the command line of the daemon's own user. */
export type Need = 'none' | 'device' | 'session' | 'owner' | Scope

/** What a caller has: the scope of a token, or what its session or its place makes of it. */
export type Standing = Exclude<Need, 'none'>

/** `**` stands for the rest of the path, empty included. */
type Rules = readonly (readonly [pattern: string, need: Need])[]

/**
 * The daemon's API: the five public paths and the assets of the docs page, then what only `full` may touch; and what only the
 * command line asks.
 */
export const REST: Rules = [
  ['/', 'none'],
  ['/health', 'none'],
  ['/api/v1/health', 'none'],
  ['/api/v1/openapi.json', 'none'],
  ['/api/v1/docs/**', 'none'],
  ['/api/v1/token', 'none'],
  ['/api/v1/org', 'full'],
  ['/api/v1/org/**', 'full'],
  ['/api/v1/api-tokens/**', 'full'],
  // Any token may speak here; each call that is made in it needs what its route needs.
  ['/mcp', 'read'],
  ['/api/v1/mcp', 'read'],
  ['/tools/**', 'read'],
  ['/api/v1/tools/**', 'read'],
  ['/local/**', 'owner'],
]

/**
 * The account server: what a device asks before it has a session, and the public pages; then what a device may ask that waits
 * for approval, and what the tokens of machine accounts are for. Its REST rows are the daemon's.
 */
export const ACCOUNT: Rules = [
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

/** RFC 9110 section 9.2.1: methods that ask and change nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Compile a rule list into the look-up of a request's need. */
export function scopeTable(rules: Rules) {
  const compiled = rules.map(([pattern, need]) => {
    const segments = pattern === '/' ? [] : pattern.slice(1).split('/')
    const open = segments.at(-1) === '**'
    return { segments: open ? segments.slice(0, -1) : segments, open, need }
  })
  const fits = ({ segments, open }: (typeof compiled)[number], path: readonly string[]) => {
    if (open ? path.length < segments.length : path.length !== segments.length) return false
    // From the end: the first segments of nearly all paths are the same.
    for (let i = segments.length - 1; i >= 0; i--) if (segments[i] !== path[i]) return false
    return true
  }
  return (method: string, path: readonly string[]): Need => {
    for (const rule of compiled) if (fits(rule, path)) return rule.need
    return SAFE.has(method) ? 'read' : 'write'
  }
}

/** What a request to the daemon's API needs. */
export const restNeed = scopeTable(REST)

/** What each standing is good for. */
const GRANTS: Readonly<Record<Standing, readonly Need[]>> = {
  read: ['read'],
  write: ['read', 'write'],
  full: ['read', 'write', 'full'],
  device: ['read', 'device'],
  session: ['read', 'write', 'full', 'device', 'session'],
  owner: ['read', 'write', 'full', 'owner'],
}
const PHRASE = { read: 'read, write or full', write: 'write or full', full: 'full' } as const
/** Why a need that is no scope is not met. */
const RESERVED = {
  device: 'Only the session of a device may ask this.',
  session: 'Only the session of an approved device may ask this.',
  owner: 'Only the command line of the daemon’s own user may ask this: run countersignd.',
} as const

/** Whether a standing is enough for what a request needs. */
export const isGranted = (has: Standing, need: Need): boolean =>
  need === 'none' || GRANTS[has].includes(need)

/**
 * Refuse a caller whose standing is too narrow for what a request needs.
 * @throws AppError insufficient_scope naming the token's scope, the method and path, and the scope required; forbidden where no
 *   scope would do
 */
export function requireScope(
  has: Standing,
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
      'This device waits for approval and may only read: run "countersignd login" on it, and "countersignd device approve" on a device that is signed in.',
    )
  const required = PHRASE[need]
  throw new AppError(
    'insufficient_scope',
    // Somebody may have put a token there.
    `This token's scope is ${has}; ${method} /${redact(path.join('/'))} requires ${required}. Use a token with that scope.`,
    {
      details: { required_scope: required },
      // RFC 6750 section 3.1
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${need}"` },
    },
  )
}
