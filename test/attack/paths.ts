/**
 * Other spellings of every path: none leads to the route, neither by the scope table nor by the
 * router.
 */
import { type Attack, askedBy, isRoute } from './attack.ts'
import type { Target } from './routes.ts'

/**
 * Splits a path at the last segment of the pattern that is not a parameter, which the scope table
 * uses.
 */
function fixed({ pattern, path }: Target): { before: string; name: string; after: string } {
  const names = pattern.slice(1).split('/')
  const segments = path.slice(1).split('/')
  const at = names.findLastIndex((name) => !name.startsWith('{'))
  const tail = segments.slice(at + 1)
  return {
    before: ['', ...segments.slice(0, at)].join('/'),
    name: segments[at] as string,
    after: tail.length === 0 ? '' : `/${tail.join('/')}`,
  }
}

type Part = ReturnType<typeof fixed>
type Spelling = readonly [name: string, spell: (part: Part, path: string) => string]

const escaped = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`

/** Not canonical: rejected for that reason. */
const SPELLINGS: readonly Spelling[] = [
  [
    'an escaped letter',
    ({ before, name, after }) => `${before}/${escaped(name[0]!)}${name.slice(1)}${after}`,
  ],
  [
    'an escaped letter twice',
    ({ before, name, after }) =>
      `${before}/%25${escaped(name[0]!).slice(1)}${name.slice(1)}${after}`,
  ],
  ['two slashes', ({ before, name, after }) => `${before}//${name}${after}`],
  ['two slashes at the start', (_, path) => `/${path}`],
  ['a dot', ({ before, name, after }) => `${before}/./${name}${after}`],
  ['two dots', ({ before, name, after }) => `${before}/tags/../${name}${after}`],
  ['two dots at the start', (_, path) => `/..${path}`],
  ['escaped dots', ({ before, name, after }) => `${before}/tags/%2e%2e/${name}${after}`],
  ['dots and an escaped slash', ({ before, name, after }) => `${before}/tags/..%2f${name}${after}`],
  ['an escaped slash', ({ before, name, after }) => `${before}%2f${name}${after}`],
  ['a parameter', ({ before, name, after }) => `${before}/${name};x${after}`],
  ['a backslash', ({ before, name, after }) => `${before}\\${name}${after}`],
  ['an escaped backslash', ({ before, name, after }) => `${before}%5c${name}${after}`],
  ['an escaped NUL', ({ before, name, after }) => `${before}/${name}%00${after}`],
  ['an escaped space', ({ before, name, after }) => `${before}/${name}%20${after}`],
  ['an escaped question mark', (_, path) => `${path}%3fx`],
  ['a letter beyond ASCII', ({ before, name, after }) => `${before}/${name}\xc3\xb8${after}`],
  ['a fragment', (_, path) => `${path}#x`],
]

/**
 * Canonical spellings of another path: one without a resource, or with this name as id, which may
 * have other methods.
 */
const LOOKALIKES: readonly Spelling[] = [
  ['a trailing slash', (_, path) => `${path}/`],
  ['capital letters', ({ before, name, after }) => `${before}/${name.toUpperCase()}${after}`],
  ['capital letters all over', (_, path) => path.toUpperCase()],
  ['a trailing dot', ({ before, name, after }) => `${before}/${name}.${after}`],
  ['a trailing plus', ({ before, name, after }) => `${before}/${name}+${after}`],
  ['an extension', (_, path) => `${path}.json/x`],
]

/** Returns whether a path has a name to spell: that of the first page has none. */
const isNamed = (target: Target) => isRoute(target) && target.path !== '/'

const spelled = (spellings: readonly Spelling[], want: RegExp, alone: boolean) =>
  spellings.map(([name, spell]): Attack => ({
    row: 'Path confusion',
    name,
    on: isNamed,
    shots: async (target, scene) => {
      const path = spell(fixed(target), target.path)
      const who = target.listener === 'api' ? 'write' : 'machine write'
      const bytes = await askedBy(scene.caller(target.listener, who), target, scene, { path })
      return [{ bytes, want, ...(alone ? { alone: true as const } : {}) }]
    },
  }))

const OVERRIDES = ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Uri']

/** Headers that some frameworks read as the path or the method. */
const overridden: Attack = {
  row: 'Path confusion',
  name: 'another path or method in a header',
  on: isRoute,
  shots: async (target, scene) => {
    const who = target.listener === 'api' ? 'write' : 'machine write'
    const lines = [
      ...OVERRIDES.map((name) => `${name}: ${target.path}`),
      `X-HTTP-Method-Override: ${target.method}`,
      `X-HTTP-Method: ${target.method}`,
    ]
    const sent = { method: 'GET', path: '/api/v1/nowhere', lines }
    const bytes = await askedBy(scene.caller(target.listener, who), target, scene, sent)
    return [{ bytes, want: /^404 no_such_route$/ }]
  },
}

export const paths: readonly Attack[] = [
  ...spelled(SPELLINGS, /^400 bad_request$/, true),
  ...spelled(
    LOOKALIKES,
    /^(404 (no_such_route|not_found)|405 method_not_allowed|403 (insufficient_scope|forbidden))$/,
    false,
  ),
  overridden,
]
