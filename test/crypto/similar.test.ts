/** The suggestion of names: which one is offered, and that none is where nothing is near. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { didYouMean, editDistance, nearestName } from '../../src/crypto/encoding/similar.ts'

const NAMES = ['status', 'stamp verify', 'org members', 'org member', 'SVC_HTTP_PORT', 'SVC_ENV']

for (const [a, b, edits] of [
  ['', '', 0],
  ['', 'abc', 3],
  ['status', 'status', 0],
  ['stauts', 'status', 1],
  ['stats', 'status', 1],
  ['stratus', 'status', 1],
  ['stbtus', 'status', 1],
  ['ca', 'abc', 3],
] as const) {
  test(`${edits} edits lead from "${a}" to "${b}"`, () => {
    assert.equal(editDistance(a, b), edits)
    assert.equal(editDistance(b, a), edits)
  })
}

for (const [typed, meant] of [
  ['stauts', 'status'],
  ['ststsu', 'status'],
  ['org membres', 'org members'],
  ['org membe', 'org member'],
  ['verify', 'stamp verify'],
  ['SVC_PORT', 'SVC_HTTP_PORT'],
  ['SVC_EVN', 'SVC_ENV'],
  ['SVC_PORT_HTTP', null],
  ['SVC_FOO', null],
  ['xyz', null],
  ['', null],
  ['status'.repeat(1000), null],
] as const) {
  test(`"${typed.slice(0, 20)}" probably means ${meant ?? 'none of the names'}`, () => {
    assert.equal(nearestName(typed, NAMES), meant)
  })
}

test('the question offers every similar word, and is empty without words', () => {
  assert.equal(didYouMean(['able', 'cable'], 'Did you hear'), ' Did you hear able, or cable?')
  assert.equal(didYouMean(['able']), ' Did you mean able?')
  assert.equal(didYouMean([]), '')
  assert.equal(didYouMean(undefined), '')
})
