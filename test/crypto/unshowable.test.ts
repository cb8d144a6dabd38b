/** One class of characters that are not displayed: everything that shows foreign text uses it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as v from 'valibot'
import { name, text } from '../../src/api/fields.ts'
import { shown, shownText } from '../../src/cli/table.ts'
import { inMessage, printableJson, UNSHOWABLE } from '../../src/crypto/encoding/quoted.ts'

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i))
const HIDDEN = [
  ...range(0, 0x1f),
  ...range(0x7f, 0x9f),
  ...range(0x2028, 0x2029),
  ...range(0x202a, 0x202e),
  ...range(0x2066, 0x2069),
]
const LINES = ['\n', '\r', '\t']

test('the class has exactly these characters', () => {
  const pattern = new RegExp(`[${UNSHOWABLE}]`, 'u')
  const found = range(0, 0xffff).filter((character) => pattern.test(character))
  assert.deepEqual(found, HIDDEN)
})

for (const character of HIDDEN) {
  const title = `U+${character.codePointAt(0)?.toString(16).padStart(4, '0')}`
  const given = `a${character}b`
  test(`${title} is removed from cells of tables, quotations, names and messages`, () => {
    assert.equal(shown(given), 'a�b')
    if (!LINES.includes(character)) assert.equal(shownText(given), 'a�b')
    for (const json of [inMessage(given), printableJson(given), printableJson([given], 2)]) {
      assert(!json.replaceAll('\n', '').includes(character) || character === '\n')
      assert.equal([JSON.parse(json)].flat()[0], given)
    }
    assert(!inMessage(given).includes(character))
    assert.equal(v.safeParse(name(10), given).success, false)
    assert.equal(v.safeParse(text(10), given).success, LINES.includes(character))
  })
}
