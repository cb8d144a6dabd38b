/** Which language a page has, by the `Accept-Language` field of the request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { languageFor, languageOf } from '../../src/languages/languages.ts'

const CASES: readonly [field: string, tag: string | null][] = [
  ['', null],
  ['de', 'de'],
  ['DE', 'de'],
  ['de-AT', 'de'],
  ['de-Latn-CH-1996', 'de'],
  ['de-CH-x-private', 'de'],
  ['en-US,en;q=0.9', 'en'],
  ['en-US,en;q=0.9,de;q=0.8', 'en'],
  ['de-AT, de;q=0.9, en;q=0.8', 'de'],
  ['fr', null],
  ['fr-CH, de;q=0.5', 'de'],
  ['fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5', 'en'],
  ['en;q=0.2, de;q=0.3', 'de'],
  ['en;q=0.300, de;q=0.3', 'en'],
  ['de;q=0', null],
  ['de;q=0.000, en;q=0.1', 'en'],
  ['de-AT, de;q=0', null],
  ['*', 'en'],
  ['fr, *;q=0.1', 'en'],
  ['en;q=0, *', 'de'],
  ['*;q=0', null],
  ['*;q=0.5, de;q=0.1', 'en'],
  ['de ; q=0.5 , en ; q=0.4', 'de'],
  ['de;q=1.0', 'de'],
  ['de;q=2, en;q=0.1', 'en'],
  ['de;q=abc, en;q=0.1', 'en'],
  ['de;level=1, en;q=0.1', 'en'],
  ['de_AT, en;q=0.1', 'en'],
  ['deu', null],
  ['den', null],
  [',,;q=1,-,--,de-', 'de'],
  [`${'x,'.repeat(5000)}de`, 'de'],
  [`${'de-'.repeat(4000)}AT`, 'de'],
  // Half a minute, if each shorter range is searched for its end again.
  [`${'a'.repeat(7000)}${'-b'.repeat(3500)}, de;q=0.1`, 'de'],
]

for (const [field, tag] of CASES)
  test(`"${field.length > 60 ? `${field.slice(0, 40)}…` : field}" is ${tag ?? 'none'}`, () => {
    assert.equal(languageFor(field)?.tag ?? null, tag)
    assert.equal(languageOf(field).tag, tag ?? 'en')
  })

test('without the field, the language is English', () => {
  assert.equal(languageOf(undefined).tag, 'en')
})
