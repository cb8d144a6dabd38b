/**
 * The scope table: what a request needs, from its method and path alone, before any routing. Nothing on a row can change it.
 * The first rule that fits decides; what no rule names needs a token, so a forgotten path is closed, not open.
 */
import { AppError } from '../errors.ts'

export type Scope = 'read' | 'write' | 'full'

/** `none`: public. `session`: the session of a device. */
export type Need = 'none' | 'session' | Scope

/** `**` stands for the rest of the path, empty included. */
type Rules = readonly (readonly [pattern: string, need: Need])[]

/** The daemon's API: the five public paths and the assets of the docs page, then what only `full` may touch. */
export const REST: Rules = [
  ['/health', 'none'],
  ['/api/v1/health', 'none'],
  ['/api/v1/openapi.json', 'none'],
  ['/api/v1/docs/**', 'none'],
  ['/api/v1/token', 'none'],
  ['/api/v1/org/**', 'full'],
  ['/api/v1/api-tokens/**', 'full'],
]

/** The account server: what a device asks before it has a session, and the public pages. */
export const ACCOUNT: Rules = [
  ['/health', 'none'],
  ['/g/**', 'none'],
  ['/s/**', 'none'],
  ['/assets/**', 'none'],
  ['/device/v1/enrolments', 'none'],
  ['/device/v1/session', 'none'],
  ['/device/v1/clock', 'none'],
  ['/device/v1/**', 'session'],
]

/** RFC 9110 section 9.2.1: methods that ask and change nothing. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** Compile a rule list into the look-up of a request's need. */
export function scopeTable(rules: Rules) {
  const compiled = rules.map(([pattern, need]) => {
    const segments = pattern.slice(1).split('/')
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

const RANK = { read: 0, write: 1, full: 2 } as const
const PHRASE = { read: 'read, write or full', write: 'write or full', full: 'full' } as const

/**
 * Refuse a token whose scope is too narrow for what a request needs.
 * @throws AppError insufficient_scope naming the token's scope, the method and path, and the scope required
 */
export function requireScope(
  has: Scope,
  need: Scope,
  method: string,
  path: readonly string[],
): void {
  if (RANK[has] >= RANK[need]) return
  const required = PHRASE[need]
  throw new AppError(
    'insufficient_scope',
    `This token's scope is ${has}; ${method} /${path.join('/')} requires ${required}. Use a token with that scope.`,
    {
      details: { required_scope: required },
      // RFC 6750 section 3.1
      headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${need}"` },
    },
  )
}
