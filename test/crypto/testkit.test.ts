/**
 * Runs every case of the test kit from its files.
 * Another file of the same form runs as well.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { formatId, isId, parseId } from '../../src/crypto/encoding/id.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { checkToken } from '../../src/crypto/token.ts'
import { parseWords, wordsAt } from '../../src/crypto/words.ts'

/** Kit cases that this code answers differently, each with the reason. */
const NOT_FOLLOWED: { file: string; id: string; why: string }[] = []

/** Rules that this code checks earlier than the kit’s verifier: file/id → reason here. */
const OTHER_REASON: Record<string, string> = {
  // The prefix is present; the part after it is one character too long.
  'ids.json/double-separator': 'length',
}

type Case = { id: string; reason?: string; accept?: boolean; valid?: boolean }
type Kit<C> = { cases: (Case & C)[] }

const read = <C>(file: string): Kit<C> =>
  JSON.parse(readFileSync(new URL(`../testkit/${file}`, import.meta.url), 'utf8')) as Kit<C>
const hex = (data: Uint8Array) => Buffer.from(data).toString('hex')

/** Runs one test for each case. A case to refuse must be refused for its reason. */
function run<C>(file: string, cases: (Case & C)[], check: (of: Case & C) => unknown) {
  describe(file, () => {
    assert.ok(cases.length > 0, `${file} has no cases`)
    for (const of of cases) {
      if (NOT_FOLLOWED.some((skip) => skip.file === file && skip.id === of.id)) continue
      test(of.id, async () => {
        if (of.reason === undefined && of.accept !== false && of.valid !== false) {
          await check(of)
          return
        }
        const found = await refusalOf(() => check(of))
        assert.equal(found, OTHER_REASON[`${file}/${of.id}`] ?? of.reason)
      })
    }
  })
}

async function refusalOf(attempt: () => unknown): Promise<string> {
  try {
    await attempt()
  } catch (error) {
    if (error instanceof Refusal) return error.reason
    throw error
  }
  assert.fail('accepted')
}

type WordsCase = {
  input: string
  expect: number
  words?: string[]
  indices?: number[]
  error?: string
  found?: number
  unknown?: string
  suggest_includes?: string
}
run('words.json', read<WordsCase>('words.json').cases, (of) => {
  if (of.error === undefined) {
    assert.deepEqual(parseWords(of.input, of.expect), { words: of.words, indices: of.indices })
    return assert.deepEqual(wordsAt(of.indices!), of.words)
  }
  const refused = (error: Refusal) => {
    const { found, word, suggestions = [] } = error.details
    assert.deepEqual([error.reason, found, word], [of.error, of.found, of.unknown])
    assert.ok(suggestions.length <= 5)
    return of.suggest_includes === undefined || suggestions.includes(of.suggest_includes)
  }
  assert.throws(() => parseWords(of.input, of.expect), refused)
})

type IdCase = { prefix: string; text: string; hex: string; valid: boolean }
run('ids.json', read<IdCase>('ids.json').cases, (of) => {
  assert.equal(isId(of.prefix, of.text), of.valid)
  const id = parseId(of.prefix, of.text)
  assert.equal(hex(id), of.hex)
  assert.equal(formatId(of.prefix, id), of.text)
})

type TokenCase = { token: string; kind: string }
run('tokens.json', read<TokenCase>('tokens.json').cases, (of) => {
  assert.equal(checkToken(of.token), of.kind)
})

test('the exceptions are cases of the kit', () => {
  for (const { file, id } of NOT_FOLLOWED) {
    assert.ok(
      read(file).cases.some((of) => of.id === id),
      `${file} has no ${id}`,
    )
  }
})
