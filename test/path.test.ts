/** Splitting a request path: each path has one reading, or is rejected. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AppError } from '../src/errors.ts'
import { splitTarget } from '../src/http/path.ts'

const split: [target: string, segments: string[], query: string][] = [
  ['/', [], ''],
  ['/?', [], ''],
  ['/?a=1', [], 'a=1'],
  ['/health', ['health'], ''],
  ['/api/v1/tags', ['api', 'v1', 'tags'], ''],
  ['/api/v1/tags?limit=5&cursor=x', ['api', 'v1', 'tags'], 'limit=5&cursor=x'],
  ['/a?b?c', ['a'], 'b?c'],
  ['/a?/../%2f//', ['a'], '/../%2f//'],
  ['/openapi.json', ['openapi.json'], ''],
  ['/a/.well-known', ['a', '.well-known'], ''],
  ['/a/...', ['a', '...'], ''],
  ['/a/..b', ['a', '..b'], ''],
  ['/A/b_c~d-e.f', ['A', 'b_c~d-e.f'], ''],
  ['/__proto__/constructor', ['__proto__', 'constructor'], ''],
  // RFC 3986 section 3.3: the characters that a segment may contain besides escapes. No id contains
  // them, so such a path is a resource that does not exist.
  ["/a!$&'()*+,=:@b", ["a!$&'()*+,=:@b"], ''],
]
for (const [target, segments, query] of split)
  test(`${target} is ${JSON.stringify(segments)}`, () => {
    assert.deepEqual(splitTarget(target), { segments, query })
  })

for (const [target, without] of [
  ['/a/', '/a'],
  ['/a/?x', '/a'],
  ['/a/b/', '/a/b'],
] as const)
  test(`${target} is rejected, and the error names the path without the slash`, () => {
    assert.throws(() => splitTarget(target), {
      code: 'no_such_route',
      message: `The path must not end with a slash. Use ${without}.`,
    })
  })

const refused = [
  '',
  '?',
  '*',
  'a',
  'a/b',
  'http://x/a',
  '//',
  '//a',
  '/a//b',
  '/.',
  '/..',
  '/./a',
  '/../a',
  '/a/.',
  '/a/..',
  '/a/./b',
  '/a/../b',
  '/a/..?x',
  '/%61',
  '/%2e',
  '/a%2fb',
  '/a%',
  '/a;b',
  '/a;',
  '/a b',
  '/a\\b',
  '/a#b',
  '/a\tb',
  '/a\nb',
  '/a\r\nb',
  '/a\0b',
  '/ä',
  '/a\u2028',
  '/a\u200b',
  '/ａ',

  '/{id}',
  '/a"b',
  '/a|b',
  '/a^b',
  '/a`b',
  '/a[b]',
  '/a<b>',
]
for (const target of refused)
  test(`${JSON.stringify(target)} is rejected`, () => {
    assert.throws(() => splitTarget(target), { name: 'AppError', code: 'bad_request' })
  })

const Segment = fc
  .stringMatching(/^[A-Za-z0-9._~-]+$/)
  .filter((text) => text !== '.' && text !== '..')

test('joined segments split into the same', () => {
  fc.assert(
    fc.property(fc.array(Segment, { minLength: 1 }), fc.option(fc.string()), (segments, query) => {
      const target = `/${segments.join('/')}${query === null ? '' : `?${query}`}`
      assert.deepEqual(splitTarget(target), { segments, query: query ?? '' })
    }),
  )
})

const PIECE = fc.constantFrom(
  '/',
  '.',
  '..',
  '%2e',
  '%2f',
  '//',
  '\\',
  ';',
  '?',
  '#',
  'a',
  'org',
  'ORG',
  ' ',
  '\0',
)

test('split segments join to the same text; only AppError is thrown', () => {
  const Target = fc.oneof(
    fc.string(),
    fc.array(PIECE).map((pieces) => `/${pieces.join('')}`),
  )
  fc.assert(
    fc.property(Target, (target) => {
      try {
        const { segments } = splitTarget(target)
        assert.equal(`/${segments.join('/')}`, target.split('?', 1)[0])
        for (const segment of segments)
          assert.match(segment, /^(?!\.\.?$)[A-Za-z0-9._~!$&'()*+,=:@-]+$/)
        // The result of every other URL parser.
        assert.equal(new URL(target, 'http://h').pathname, `/${segments.join('/')}`)
      } catch (error) {
        assert(error instanceof AppError, String(error))
      }
    }),
    { numRuns: 2000 },
  )
})
