/** Durations in the options of commands. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '../../src/cli/command.ts'
import { parseSeconds, span } from '../../src/cli/option-fields.ts'

const accepted: [text: string, seconds: number, shown: string][] = [
  ['90', 90, '90s'],
  ['90s', 90, '90s'],
  ['15m', 900, '15m'],
  ['12h', 43_200, '12h'],
  ['30d', 2_592_000, '30d'],
  ['2w', 1_209_600, '14d'],
  ['0', 0, '0d'],
  ['999999999w', 999_999_999 * 604_800, '6999999993d'],
]
for (const [text, length, shown] of accepted)
  test(`${text} is ${length} seconds`, () => {
    assert.equal(parseSeconds('expires-in', text), length)
    assert.equal(span(length), shown)
  })

const refused = ['', 's', '-1s', '1.5h', '1 h', '1y', '1S', '1m30s', '1e3', '١٥m', '123456789012']
for (const text of [...refused, '1000000000', '123456789012d'])
  test(`"${text}" is not a duration`, () => {
    assert.throws(() => parseSeconds('expires-in', text), {
      name: UsageError.name,
      message: `--expires-in must be a duration such as 90s, 15m, 12h, 30d or 2w, not "${text}".`,
    })
  })
