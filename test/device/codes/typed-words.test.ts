/** Tests the errors for words that cannot be read. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { challengeWord, threeWords } from '../../../src/device/codes/typed-words.ts'
import { AppError } from '../../../src/errors.ts'

const key = (encoding: 'base64' | 'base64url') =>
  // The first run of letters has at least twelve, as one key of twelve has by chance.
  `abcdefghijKL${randomBytes(40).toString(encoding)}`.slice(0, 44).replace(/.$/, '=')

const cases: [name: string, typed: string, word: string][] = [
  ['a typing error', 'matador carload recdee', 'recdee'],
  ['words without spaces', 'matadorcarloadrecdee', 'matadorcarloadrecdee'],
  ['a key in base64', key('base64'), '[redacted]'],
  ['a key in base64url', key('base64url').slice(0, 43), '[redacted]'],
  ['a key among words', `matador ${key('base64')} recede`, '[redacted]'],
  ['a token', `csd_${'abcdef'.repeat(6)}`, '[redacted]'],
]
for (const [name, typed, word] of cases)
  for (const read of [threeWords, challengeWord])
    test(`${name} (${read.name}): the error names ${word}`, () => {
      assert.throws(
        () => read(typed),
        (error: unknown) => {
          assert(error instanceof AppError && error.code === 'unknown_word')
          assert.equal(error.details.word, word)
          assert(error.message.startsWith(`"${word}" is not on the word list.`))
          if (word === '[redacted]') assert.deepEqual(error.details.suggestions, [])
          return true
        },
      )
    })
