/**
 * Makes valid input invalid: other types, missing or additional members, texts that are too long,
 * values that are too deep or too large.
 */
import fc, { type Arbitrary } from 'fast-check'

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}

const proto: unknown = JSON.parse('{"__proto__":{"admin":true},"constructor":1}')

/**
 * Generates text of any characters. The library’s own generator first makes a table of all of
 * Unicode.
 */
export const anyText = (maxLength: number): Arbitrary<string> =>
  fc
    .array(fc.integer({ min: 0, max: 0x10ffff }), { maxLength })
    .map((points) => String.fromCodePoint(...points))

/** Values that some code may not expect. */
const HOSTILE: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -0,
    -1,
    0.1,
    2 ** 31,
    2 ** 53,
    1e21,
    1e308,
    '',
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    proto,
    [[]],
    [null],
    [{}],
    { $ref: '#' },
    { toString: 1 },
    { length: 1e9 },
  ),
  fc.constantFrom(
    '\0',
    'a\0b',
    '\ud800',
    '\udfff\ud800',
    '\u202eabc',
    '\ufeff',
    '\u{10ffff}',
    'e\u0301'.repeat(300),
    '👩‍👩‍👧‍👦',
  ),
  fc.constantFrom(
    "' or 1=1 --",
    '%s%n',
    '${7*7}',
    '<script>alert(1)</script>',
    '../../etc/passwd',
    '\r\nX: 1',
  ),
  anyText(60),
  // Half of these are lone surrogates.
  fc
    .array(fc.integer({ min: 0xd000, max: 0xe7ff }), { minLength: 1, maxLength: 8 })
    .map((units) => String.fromCharCode(...units)),
  fc.constantFrom(65, 201, 256, 1000, 8193, 70_000).map((length) => 'x'.repeat(length)),
  fc.constantFrom(3, 33, 70, 1000).map(nested),
  fc.constantFrom(300, 6000).map((length) => Array.from({ length }, (_, i) => i)),
  fc
    .constantFrom(101, 3000)
    .map((length) => Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, i]))),
  fc.double(),
  fc.maxSafeInteger(),
  fc.date({ noInvalidDate: true }).map((date) => date.toJSON()),
  fc.jsonValue({ maxDepth: 3 }),
)
/** Larger than any row accepts: expensive, so rare. */
const HUGE = fc.constantFrom(1_050_000, 4_300_000).map((length) => 'y'.repeat(length))

const NAMES = fc.oneof(
  fc.constantFrom(
    'id',
    'account',
    'account_id',
    'role',
    'scope',
    'constructor',
    'toString',
    '',
    'a.b',
    '\0',
    '\ud800',
  ),
  anyText(12),
)

interface Mutation {
  /** The index of one of the values in the input, the input itself included. */
  readonly at: number
  readonly how: 'replace' | 'remove' | 'add' | 'wrap' | 'twice'
  readonly name: string
  readonly value: unknown
}

const MUTATION: Arbitrary<Mutation> = fc.record({
  at: fc.nat({ max: 40 }),
  how: fc.constantFrom<Mutation['how']>(
    'replace',
    'replace',
    'replace',
    'remove',
    'add',
    'wrap',
    'twice',
  ),
  name: NAMES,
  value: fc.oneof({ weight: 120, arbitrary: HOSTILE }, { weight: 1, arbitrary: HUGE }),
})

type Holder = Record<string, unknown>
const isHolder = (value: unknown): value is Holder => typeof value === 'object' && value !== null

/**
 * Returns every place in a value: its container and its key. Limited in depth: the inside of
 * hostile values is left alone.
 */
function placesIn(value: unknown, levels = 4): { holder: Holder; key: string }[] {
  if (!isHolder(value) || levels === 0) return []
  return Object.keys(value)
    .slice(0, 12)
    .flatMap((key) => [{ holder: value, key }, ...placesIn(value[key], levels - 1)])
}

function mutate(input: unknown, { at, how, name, value: given }: Mutation): unknown {
  const root: Holder = { root: input }
  // Some values are shared constants: the next mutation must not change them.
  const value: unknown = structuredClone(given)
  const places = placesIn(root)
  const { holder, key } = places[at % places.length]!
  const here = holder[key]
  if (how === 'replace') holder[key] = value
  else if (how === 'remove') delete holder[key]
  else if (how === 'wrap') holder[key] = [here]
  else if (how === 'twice' && Array.isArray(here)) holder[key] = [...here, ...here]
  else if (isHolder(here) && !Array.isArray(here))
    Object.defineProperty(here, name, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    })
  else holder[key] = value
  return root['root']
}

/** Generates input with up to three faults. */
export const mutated = (good: Arbitrary<unknown>): Arbitrary<unknown> =>
  fc
    .tuple(good, fc.array(MUTATION, { minLength: 1, maxLength: 3 }))
    .map(([input, mutations]) => mutations.reduce(mutate, structuredClone(input)))

const QUERIES = fc.oneof(
  fc.constantFrom(
    '',
    '&',
    '=',
    '=&=',
    '%',
    '%zz=1',
    'limit=',
    'limit=1&limit=2',
    'limit=1e3',
    'limit=-0',
    'cursor=%00',
  ),
  fc.constantFrom(
    'cursor=%ed%a0%80',
    'limit=99999999999999999999',
    '__proto__=1',
    'a[b]=c',
    'limit=1;cursor=2',
    '?',
  ),
  fc.tuple(NAMES, anyText(30)).map(([name, value]) => `${escape(name)}=${escape(value)}`),
  fc.constantFrom(300, 5000).map((length) => `cursor=${'x'.repeat(length)}`),
)
const escape = (text: string) => encodeURIComponent(text.toWellFormed())

/** Generates a query string that was extended, cut, or replaced. */
export const mutatedQuery = (good: Arbitrary<string>): Arbitrary<string> =>
  fc.tuple(good, QUERIES, fc.nat({ max: 2 })).map(([query, other, how]) => {
    if (how === 0) return other
    return how === 1 ? `${query}&${other}` : query.slice(0, query.length >> 1)
  })

/** Generates a path segment that is an unused id, or no id. */
export const ODD_SEGMENTS: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '.',
    '..',
    '',
    '%2e%2e',
    '%00',
    'null',
    'undefined',
    '0',
    '-1',
    'default',
    'requests',
    'suggest',
    '__proto__',
  ),
  fc.constantFrom(
    'constructor',
    'toString',
    '{id}',
    '*',
    '~',
    'a;b',
    'a%2fb',
    "'",
    '$(id)',
    'A'.repeat(26),
    'x'.repeat(3000),
  ),
  fc.stringMatching(/^[A-Za-z0-9._~!$&'()*+,=:@-]{1,40}$/),
)
