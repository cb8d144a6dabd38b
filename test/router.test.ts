/**
 * The router: the rows that it finds, the methods that it lists for a wrong one, and the paths
 * that it does not find.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { newRouter } from '../src/router.ts'

const PATHS: [method: string, path: string][] = [
  ['GET', '/health'],
  ['GET', '/tags'],
  ['POST', '/tags'],
  ['PATCH', '/tags/{id}'],
  ['DELETE', '/tags/{id}'],
  ['POST', '/tags/{id}/assign/{cid}'],
  ['DELETE', '/tags/{id}/assign/{cid}'],
  ['PATCH', '/presets/{id}'],
  ['DELETE', '/presets/default'],
  ['POST', '/presets/{id}/default'],
  ['GET', '/links/requests'],
  ['DELETE', '/links/{id}'],
  ['POST', '/links/requests/{id}/approve'],
  ['PATCH', '/links/{slug}/pause'],
  ['GET', '/deep/{a}/{b}/{c}'],
]
const router = newRouter<string>()
for (const [method, path] of PATHS) router.add(method, path, `${method} ${path}`)

const find = (method: string, path: string) =>
  router.find(method, path === '/' ? [] : path.slice(1).split('/'))

const found: [method: string, path: string, value: string, params: Record<string, string>][] = [
  ['GET', '/health', 'GET /health', {}],
  ['HEAD', '/health', 'GET /health', {}],
  ['POST', '/tags', 'POST /tags', {}],
  ['PATCH', '/tags/x', 'PATCH /tags/{id}', { id: 'x' }],
  ['DELETE', '/tags/assign', 'DELETE /tags/{id}', { id: 'assign' }],
  ['POST', '/tags/x/assign/y', 'POST /tags/{id}/assign/{cid}', { id: 'x', cid: 'y' }],
  ['PATCH', '/presets/x', 'PATCH /presets/{id}', { id: 'x' }],
  ['DELETE', '/presets/default', 'DELETE /presets/default', {}],
  ['POST', '/presets/x/default', 'POST /presets/{id}/default', { id: 'x' }],
  ['POST', '/links/requests/x/approve', 'POST /links/requests/{id}/approve', { id: 'x' }],
  // The same place in the tree under another parameter name.
  ['DELETE', '/links/x', 'DELETE /links/{id}', { id: 'x' }],
  ['PATCH', '/links/x/pause', 'PATCH /links/{slug}/pause', { slug: 'x' }],
  ['GET', '/deep/1/2/3', 'GET /deep/{a}/{b}/{c}', { a: '1', b: '2', c: '3' }],
  ['PATCH', '/tags/{id}', 'PATCH /tags/{id}', { id: '{id}' }],
  ['PATCH', '/tags/constructor', 'PATCH /tags/{id}', { id: 'constructor' }],
]
for (const [method, path, value, params] of found)
  test(`${method} ${path} is ${value}`, () => {
    assert.deepEqual(find(method, path), { value, params })
  })

const wrong: [method: string, path: string, allow: string[]][] = [
  ['POST', '/health', ['GET', 'HEAD']],
  ['DELETE', '/tags', ['GET', 'POST', 'HEAD']],
  ['GET', '/tags/x', ['PATCH', 'DELETE']],
  ['HEAD', '/tags/x', ['PATCH', 'DELETE']],
  // A literal segment never falls back to the parameter beside it, whichever methods it has.
  ['PATCH', '/presets/default', ['DELETE']],
  ['DELETE', '/links/requests', ['GET', 'HEAD']],
  ['get', '/health', ['GET', 'HEAD']],
  ['__proto__', '/health', ['GET', 'HEAD']],
]
for (const [method, path, allow] of wrong)
  test(`${method} ${path} is the wrong method of ${allow.join(', ')}`, () => {
    assert.deepEqual(find(method, path), { allow })
  })

for (const path of [
  '/',
  '/healthz',
  '/Health',
  '/health/x',
  '/tags/x/assign',
  '/tags/x/y',
  '/deep/1/2',
  '/deep',
  '/links/requests/pause',
  '/links/requests/x',
  '/presets/default/default',
  '/constructor',
  '/__proto__',
])
  test(`there is no ${path}`, () => {
    assert.equal(find('GET', path), null)
  })

test('a path is registered once for each method', () => {
  const one = newRouter<number>()
  one.add('GET', '/a/{id}', 1)
  one.add('POST', '/a/{id}', 2)
  assert.throws(() => one.add('GET', '/a/{id}', 3), /registered already/)
  assert.throws(() => one.add('GET', '/a/{other}', 3), /registered already/)
})

test('a root path is a path', () => {
  const one = newRouter<number>()
  assert.equal(one.find('GET', []), null)
})

/**
 * The rule without a tree: the path with a literal at the first differing segment wins, methods
 * aside.
 */
function slow(segments: readonly string[]): string | null {
  const fits = [...new Set(PATHS.map(([, path]) => path))].filter((path) => {
    const parts = path.slice(1).split('/')
    return (
      parts.length === segments.length &&
      parts.every((part, i) => part.startsWith('{') || part === segments[i])
    )
  })
  const all = PATHS.map(([, path]) => path.slice(1).split('/'))
  /**
   * Returns whether a literal beside a parameter hides it, even if the literal’s branch leads
   * nowhere.
   */
  const hidden = (path: string) => {
    const parts = path.slice(1).split('/')
    return parts.some(
      (part, i) =>
        part.startsWith('{') &&
        all.some(
          (other) =>
            other[i] === segments[i] &&
            parts
              .slice(0, i)
              .every((p, k) => p === other[k] || (p.startsWith('{') && other[k]?.startsWith('{'))),
        ),
    )
  }
  return fits.find((path) => !hidden(path)) ?? null
}

const Word = fc.constantFrom(
  'health',
  'tags',
  'presets',
  'links',
  'requests',
  'default',
  'assign',
  'approve',
  'pause',
  'deep',
  'x',
  'y',
)

test('the tree finds the same as the rule', () => {
  fc.assert(
    fc.property(fc.array(Word, { minLength: 1, maxLength: 5 }), (segments) => {
      const expected = slow(segments)
      const methods = PATHS.filter(([, path]) => path === expected).map(([method]) => method)
      const it = router.find('BREW', segments)
      if (expected === null) assert.equal(it, null)
      else {
        assert(it !== null && 'allow' in it)
        assert.deepEqual(
          it.allow.filter((method) => method !== 'HEAD'),
          methods,
        )
      }
    }),
    { numRuns: 3000 },
  )
})
