/**
 * Messages about invalid input: they state the expected value in full and quote the sent value in
 * part.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as v from 'valibot'
import { local } from '../src/api/local/index.ts'
import { parse } from '../src/api/input.ts'
import type { RowSchema, Table } from '../src/api/route.ts'
import { rest } from '../src/api/rest/index.ts'
import { AppError } from '../src/errors.ts'
import { rowsOf } from '../src/api/rows.ts'
import { accountTable } from '../src/http/account-listener.ts'

/** Returns the messages for an invalid value: that of the error, and that of each issue. */
function messagesOf(schema: RowSchema, value: unknown): string[] {
  try {
    parse('query', schema, value)
  } catch (error) {
    assert(error instanceof AppError)
    assert.equal(error.code, 'validation_failed')
    return [error.message, ...(error.details.issues ?? []).map(({ message }) => message)]
  }
  assert.fail('the value was taken')
}

type Picklist = RowSchema & { readonly options: readonly (string | number)[] }

/** Returns the picklists in a schema, each with the path to it. */
function picklistsIn(value: unknown, way: string): [way: string, schema: Picklist][] {
  if (typeof value !== 'object' || value === null) return []
  if ('type' in value && value.type === 'picklist') return [[way, value as Picklist]]
  const { entries, item, wrapped, options } = value as Record<string, unknown>
  return [
    ...Object.entries(entries ?? {}),
    ['[]', item] as const,
    ['', wrapped] as const,
    ...(Array.isArray(options) ? options.map((one, i) => [`|${i}`, one] as const) : []),
  ].flatMap(([name, inner]) => picklistsIn(inner, `${way} ${name}`.trimEnd()))
}

describe('an invalid choice gets the whole list', () => {
  const table: Table = { ...accountTable, ...rest, ...local }
  const found = rowsOf(table).flatMap(({ group, name, route }) => [
    ...picklistsIn(route.query, `${group}.${name}: query`),
    ...picklistsIn(route.body, `${group}.${name}: body`),
  ])

  test('some rows have choices, the longest lists included', () => {
    for (const way of [
      'orgAnalytics.trends: query metric',
      'orgAlerts.create: body event',
      'orgMembers.bulkInvite: body invites [] role',
    ])
      assert(
        found.some(([one]) => one === way),
        way,
      )
  })

  for (const [way, schema] of found)
    test(way, () => {
      for (const message of messagesOf(v.strictObject({ picked: schema }), {
        picked: 'nothing of it',
      })) {
        for (const option of schema.options)
          assert(message.includes(JSON.stringify(option)), message)
        assert.match(message, /\.$/)
      }
    })
})

describe('long input makes no long answer', () => {
  const long = 'word '.repeat(2000)
  const cases: [what: string, schema: RowSchema, value: unknown, says: RegExp][] = [
    [
      'an unknown field',
      v.strictObject({}),
      { [long]: 1 },
      /There is no field "(word )*word… here. Remove it\.$/,
    ],
    [
      'a field of one word',
      v.strictObject({}),
      { ['x.'.repeat(9999)]: 1 },
      /no field "(x\.){99}x… here. Remove it\.$/,
    ],
    [
      'a field that looks like a key',
      v.strictObject({}),
      { ['x'.repeat(9999)]: 1 },
      /no field "\[redacted\]… here. Remove it\.$/,
    ],
    [
      'a text in another format',
      v.object({ at: v.pipe(v.string(), v.isoTimestamp()) }),
      { at: long },
      /Received "(word )*word…$/,
    ],
  ]
  for (const [what, schema, value, says] of cases)
    test(what, () => {
      for (const message of messagesOf(schema, value)) {
        assert.match(message, says)
        assert(message.length < 600, `${message.length} characters`)
        assert(message.isWellFormed())
      }
    })

  test('a lone surrogate is not quoted', () => {
    // The cut falls within one of them, with one or with two quoting characters before it.
    for (const before of ['', 'x'])
      for (const message of messagesOf(v.strictObject({}), { [before + '😀'.repeat(500)]: 1 }))
        assert(message.isWellFormed(), message)
  })
})
