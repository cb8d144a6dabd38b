/**
 * Tests every field in the table that takes free text from the caller, in every body.
 * Characters that change the direction of the displayed text, or hide in it, are refused. Markup
 * is ordinary text. A text of one mebibyte is too long.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type GenericSchema, safeParse } from 'valibot'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { type TestDaemon, startDaemon } from '../daemon.ts'

interface Shape {
  readonly type: string
  readonly entries?: Readonly<Record<string, Shape>>
  readonly wrapped?: Shape
}

const unwrapped = (shape: Shape): Shape =>
  shape.wrapped === undefined ? shape : unwrapped(shape.wrapped)

/**
 * Fields that are not shown as text.
 * These are content that is signed unchanged, the words that were heard, a link that is only
 * compared, and a purpose, of which only letters and digits are kept and shown.
 */
const RAW = new Set([
  'stamp.create content',
  'stamps.check link',
  'approvals.create words',
  'verify.words words',
  'verify.public words',
  'verify.challenge purpose',
  'invitations.approve words',
])

/**
 * Returns whether a field accepts free text, and not only one format such as an address or an id.
 */
const isText = (shape: Shape): boolean =>
  safeParse(shape as unknown as GenericSchema, 'Ann & Söhne (1)').success

const fields = rowsOf(rest).flatMap(({ group, name, route }) => {
  if (route.body === undefined) return []
  const { entries = {} } = unwrapped(route.body as unknown as Shape)
  return Object.entries(entries)
    .filter(([field, shape]) => !RAW.has(`${group}.${name} ${field}`) && isText(shape))
    .map(([field]) => ({ row: `${group}.${name}`, route, field }))
})

const TRICKS = {
  'right-to-left override': 'a\u202egpj.exe',
  'left-to-right embedding': 'a\u202ab',
  'an isolate without an end': 'a\u2067b',
  'a line separator': 'a\u2028b',
  'a NUL': 'a\u0000b',
  'an escape sequence': 'a\u001b[2Jb',
  'a lone surrogate': 'a\ud800b',
  'nothing but spaces': '   ',
  'nothing to see': '\u200b\u2060\u00ad\u3164',
  nothing: '',
  'too much': 'a'.repeat(20_000),
}

let daemon: TestDaemon
let token: string
before(async () => {
  daemon = await startDaemon()
  token = await daemon.token('full')
})
after(() => daemon.close())

/**
 * Returns a path with parameters in the form of ids. The body is validated before access to them
 * is checked.
 */
const pathOf = (path: string) => path.replace(/\{\w+\}/g, 'xyz_00000000000000000000000000')

describe('texts of callers', () => {
  test('the table has such fields', () => assert(fields.length >= 15, String(fields.length)))

  for (const { row, route, field } of fields)
    test(`${row} ${field}`, async () => {
      const send = (text: string) =>
        daemon.request(route.method, pathOf(route.path), { token, body: { [field]: text } })
      for (const [what, text] of Object.entries(TRICKS)) {
        // JSON can represent a lone surrogate, UTF-8 cannot.
        const { status, json } = await send(text)
        const { error, issues = [] } = json as {
          error: string
          issues?: { path: string; message: string }[]
        }
        assert.equal(`${status} ${error}`, '422 validation_failed', what)
        const issue = issues.find(({ path }) => path === field)
        assert.match(issue?.message ?? '', /\S/, `${what}: told at ${field}`)
        assert(JSON.stringify(json).length < 4000, 'the answer does not grow with it')
      }
      const { status, json } = await send('a'.repeat(1024 * 1024))
      assert.equal(
        `${status} ${(json as { error: string }).error}`,
        route.limit === undefined ? '413 payload_too_large' : '422 validation_failed',
      )
    })
})
