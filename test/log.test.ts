/** The log: one JSON object a line, nothing above its level, and no secret in any line. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { newToken } from '../src/crypto/token.ts'
import { redact } from '../src/crypto/encoding/redact.ts'
import { type Level, newLog } from '../src/log.ts'

function lines(level: Level, write: (log: ReturnType<typeof newLog>) => void): string[] {
  const written: string[] = []
  write(newLog(level, (line) => written.push(line)))
  return written
}
const one = (fields: Record<string, unknown>): string => {
  const [line = assert.fail()] = lines('debug', (log) => log('info', 'event', fields))
  return line
}

test('a line is a JSON object and a line feed', () => {
  const line = one({ a: 1, b: 'two\nthree', c: null })
  assert.equal(line.indexOf('\n'), line.length - 1)
  const { time, ...rest } = JSON.parse(line) as { time: string }
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, { level: 'info', event: 'event', a: 1, b: 'two\nthree', c: null })
})

const LEVELS = ['error', 'warn', 'info', 'debug'] as const
for (const [i, level] of LEVELS.entries())
  test(`level ${level} keeps ${LEVELS.slice(0, i + 1).join(', ')}`, () => {
    const stored = lines(level, (log) => {
      for (const at of LEVELS) log(at, 'event')
    })
    assert.deepEqual(
      stored.map((line) => (JSON.parse(line) as { level: string }).level),
      LEVELS.slice(0, i + 1),
    )
  })

test('an error is logged with its name and message, and at level debug with its stack', () => {
  const cause = new TypeError('went wrong')
  for (const level of ['debug', 'info'] as const) {
    const [line = ''] = lines(level, (log) => log('error', 'event', { cause }))
    const logged = (JSON.parse(line) as { cause: string }).cause
    if (level === 'debug') assert.match(logged, /^TypeError: went wrong\n[\s\S]*log\.test\.ts/)
    else assert.equal(logged, 'TypeError: went wrong')
  }
})

const bytes = (n: number) => randomBytes(n)
const jws = [bytes(30), bytes(60), bytes(64)].map((part) => part.toString('base64url')).join('.')
const canaries: [name: string, canary: string][] = [
  ['a token of the daemon', newToken('csd_')],
  ['a token of a machine', newToken('csm_')],
  ['a truncated token', newToken('csd_').slice(0, 12)],
  ['a signed structure', jws],
  ['a key in base64url', bytes(32).toString('base64url')],
  ['a key that begins with a dash', `-${bytes(32).toString('base64url').slice(1)}`],
  ['a key that ends with a dash', `${bytes(32).toString('base64url').slice(0, -1)}-`],
  ['a key in hex', bytes(32).toString('hex')],
  ['a key in upper-case hex', bytes(32).toString('hex').toUpperCase()],
  ['an enrolment code', '0A1B-2C3D-4E5F-6G7H'],
  ['a key that contains a possible code', `${'k-'.repeat(7)}0123456789abcdef-${'k'.repeat(12)}`],
  ['a key that contains another possible key', `${'k'.repeat(20)}-sk-${'k'.repeat(19)}`],
  ['a key of 64 bytes', bytes(64).toString('base64url')],
  ['a key in base64', bytes(32).toString('base64')],
  ['an enrolment code as typed', '0a1b-2c3d-4e5f-6g7h'],
  ['an enrolment code without hyphens', '0A1B2C3D4E5F6G7H'],
  ['three words', 'matador carload recede'],
  ['three words in a path', 'matador-carload-recede'],
  ['four words in capitals', 'MATADOR CARLOAD RECEDE MATADOR'],
  ['the key of an assistant', 'sk-proj-0a1b2c3d4e5f6g7h'],
]
const places: [name: string, put: (canary: string) => Record<string, unknown>][] = [
  ['a field', (it) => ({ it })],
  ['a nested field', (it) => ({ a: [{ b: { it } }] })],
  ['a field’s name', (it) => ({ [it]: 1 })],
  ['a text', (it) => ({ text: `before ${it} after` })],
  ['a header', (it) => ({ header: `Authorization: Bearer ${it}` })],
  ['a header of a bound token', (it) => ({ header: `Authorization: DPoP ${it}` })],
  ['a URL', (it) => ({ url: `http://127.0.0.1/x?access_token=${it}&b=1` })],
  ['a link', (it) => ({ url: `http://127.0.0.1/g/gst_x#${it}` })],
  ['an error', (it) => ({ cause: new Error(`no ${it}`) })],
  ['JSON in a text', (it) => ({ body: JSON.stringify({ token: it }) })],
  ['quotes', (it) => ({ body: `"${it}"` })],
]
for (const [what, canary] of canaries)
  for (const [where, put] of places)
    test(`${what} in ${where} does not reach the log`, () => {
      const line = one(put(canary))
      assert(!line.includes(canary), line)
      // Most of the secret must not appear either.
      assert(!line.includes(canary.slice(4, -4)), line)
      assert(line.includes('[redacted]'), line)
      assert.doesNotThrow(() => JSON.parse(line), line)
    })

for (const secret of ['abc', 'a.b', 'a b', 'x"y', 'x\\y', 'ä'])
  test(`a bearer header keeps its line JSON: ${secret}`, () => {
    const line = one({ header: `bearer ${secret}`, next: 1 })
    assert.equal((JSON.parse(line) as { next: number }).next, 1)
    assert(!line.includes(`bearer ${secret[0]}`), line)
  })

for (const [text, rest] of [
  ['postgres://ada:pass%2Fword@127.0.0.1:5432/x', 'postgres://[redacted]@127.0.0.1:5432/x'],
  ['Authorization: Digest username="ada"', 'Authorization: [redacted]"ada"'],
  ['Basic YWRhOnBhc3N3b3Jk', 'Basic [redacted]'],
  ['eyJhbGciOiJFZERTQSJ9.eyJ', '[redacted]'],
  ['say matador carload recede now', 'say [redacted] now'],
] as const)
  test(`${text} becomes ${rest}`, () => assert.equal(redact(text), rest))

for (const harmless of [
  'matador carload',
  'the request may be sent again',
  '0.1.0, 1a2bmih5k3x2-12',
  'Basic settings',
  'http://127.0.0.1:19821',
  'GET /api/v1/connections/con_01k9zq3v5w8x2y4z6a8b0c2d4e/code',
  'tok_01k9zq3v5w8x2y4z6a8b0c2d4e',
  '2026-01-02T03:04:05.678Z',
  'file:///opt/countersign/src/http/server.ts:123:45',
  'The request is not valid (body, name): Give at least one character.',
  'Bearer',
])
  test(`${harmless} is not redacted`, () => {
    assert.equal(redact(harmless), harmless)
  })

test('every line of the log is JSON without a token', () => {
  const token = newToken('csd_')
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const line = one({ text: `${a}Bearer ${token}${b}`, [`${a}#`]: b, last: 1 })
      assert(!line.includes(token.slice(4)))
      assert.doesNotThrow(() => JSON.parse(line), line)
      assert.equal(line.indexOf('\n'), line.length - 1)
    }),
  )
})
