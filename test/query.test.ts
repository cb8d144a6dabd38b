/** The decoder from a query string to the input of a schema. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as v from 'valibot'
import { Page } from '../src/api/fields.ts'
import { decodeQuery } from '../src/http/query.ts'

const Everything = v.strictObject({
  text: v.optional(v.string()),
  count: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
  flag: v.optional(v.nullable(v.boolean())),
  ids: v.optional(v.pipe(v.array(v.string()), v.maxLength(3))),
  kind: v.optional(v.picklist(['a', 'b'])),
})
const decode = (query: string) => decodeQuery(Everything, query)

const decoded: [query: string, input: Record<string, unknown>][] = [
  ['', {}],
  ['&', {}],
  ['text=a', { text: 'a' }],
  ['text=', { text: '' }],
  ['text', { text: '' }],
  ['text=5', { text: '5' }],
  ['text=true', { text: 'true' }],
  ['text=a+b%20c%2Bd', { text: 'a b c+d' }],
  ['text=%', { text: '%' }],
  ['text=%ff', { text: '\ufffd' }],
  ['text=a=b', { text: 'a=b' }],
  ['%74ext=a', { text: 'a' }],
  ['count=5', { count: 5 }],
  ['count=-1', { count: -1 }],
  ['count=007', { count: 7 }],
  ['count=5.5', { count: '5.5' }],
  ['count=1e3', { count: '1e3' }],
  ['count=0x5', { count: '0x5' }],
  ['count=+5', { count: ' 5' }],
  ['count=%2B5', { count: '+5' }],
  ['count=', { count: '' }],
  ['count=Infinity', { count: 'Infinity' }],
  ['count=NaN', { count: 'NaN' }],
  ['count=9999999999999999', { count: '9999999999999999' }],
  ['count=٣', { count: '٣' }],
  ['count=1&count=2', { count: ['1', '2'] }],
  ['flag=true', { flag: true }],
  ['flag=false', { flag: false }],
  ['flag=1', { flag: '1' }],
  ['flag=TRUE', { flag: 'TRUE' }],
  ['flag=null', { flag: 'null' }],
  ['ids=a', { ids: ['a'] }],
  ['ids=a&text=x&ids=b', { ids: ['a', 'b'], text: 'x' }],
  ['ids=a,b', { ids: ['a,b'] }],
  ['ids=1&ids=true', { ids: ['1', 'true'] }],
  ['text=a&text=b', { text: ['a', 'b'] }],
  ['kind=a', { kind: 'a' }],
  ['other=5', { other: '5' }],
]
for (const [query, input] of decoded)
  test(`"${query}" is ${JSON.stringify(input)}`, () => {
    assert.deepEqual({ ...decode(query) }, input)
  })

for (const query of [
  '__proto__=1',
  '__proto__[x]=1',
  'constructor=1',
  'prototype=1',
  'toString=x',
  'text=a&__proto__=b',
])
  test(`"${query}" is an unknown member`, () => {
    const input = decode(query)
    assert.equal(Object.getPrototypeOf(input), null)
    assert.equal(v.safeParse(Everything, input).success, false)
    assert.equal(({} as { x?: unknown }).x, undefined)
  })

const pages: [query: string, page: unknown][] = [
  ['', { limit: 50 }],
  ['limit=1', { limit: 1 }],
  ['limit=200&cursor=x', { limit: 200, cursor: 'x' }],
  ...['0', '201', '-1', 'x', '', '1.5', '1e2', ' 5', '5 ', '0x10'].map((limit): [string, null] => [
    `limit=${limit}`,
    null,
  ]),
  ['limit=5&limit=5', null],
  ['cursor=a&cursor=b', null],
  ['Limit=5', null],
  ['limit[]=5', null],
]
for (const [query, page] of pages)
  test(`the page of "${query}" is ${JSON.stringify(page)}`, () => {
    const { success, output } = v.safeParse(Page, decodeQuery(Page, query))
    assert.deepEqual(success ? output : null, page)
  })

test('texts and lists of texts are decoded unchanged', () => {
  const Text = fc.string({ unit: 'binary' }).map((text) => text.toWellFormed())
  fc.assert(
    fc.property(Text, fc.array(Text, { minLength: 1 }), (text, ids) => {
      const query = new URLSearchParams([
        ['text', text],
        ...ids.map((id): [string, string] => ['ids', id]),
      ])
      assert.deepEqual({ ...decode(query.toString()) }, { text, ids })
    }),
  )
})

test('no query string makes the decoder throw', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (query) => {
      for (const value of Object.values(decode(query)))
        assert(['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value))
    }),
  )
})
