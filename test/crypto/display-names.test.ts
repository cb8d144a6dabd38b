/** Tests display names that look like others: the cases of test kit 2. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { comparableName, nameMarks } from '../../src/crypto/encoding/display-names.ts'
import { ofKind, run } from './kit2.ts'

run<{ name: string; others: string[]; marked: string[] }>(
  'profile-names.json',
  ofKind('mark'),
  (of) => assert.deepEqual(nameMarks(of.name, new Set(of.others.map(comparableName))), of.marked),
)

describe('a name', () => {
  const names = fc.string({ unit: 'binary', maxLength: 20 })

  test('has a comparable form that is stable', () => {
    fc.assert(
      fc.property(names, (name) => {
        const comparable = comparableName(name)
        assert.equal(comparableName(comparable), comparable)
      }),
      { numRuns: 5000 },
    )
  })
  test('equals itself with added marks, spaces and invisible characters', () => {
    const added = fc.constantFrom('\u0301', '\u200d', '\u00ad', '\u2066', ' ', '\u3000', '\ufeff')
    fc.assert(
      fc.property(names, added, fc.nat(20), (name, more, at) => {
        const characters = Array.from(name.normalize('NFKD'))
        const other = characters.toSpliced(at, 0, more).join('')
        assert.ok(nameMarks(other, new Set([comparableName(name)])).includes('equal'))
      }),
      { numRuns: 2000 },
    )
  })
  test('of two scripts is marked in any order, with any third script', () => {
    const [latin, greek, cyrillic, other] = ['a', 'λ', 'ж', '李']
    for (const mixed of [latin + greek, cyrillic + latin, greek + other + cyrillic])
      assert.deepEqual(nameMarks(mixed, new Set()), ['mixed_script'])
    for (const single of [latin, greek, cyrillic, latin + other, other + cyrillic])
      assert.deepEqual(nameMarks(single, new Set()), [])
  })
})
