/** The stored copies of answers: which are kept, and which a newer one replaces. */
import assert from 'node:assert/strict'
import { type TestContext, it } from 'node:test'
import { openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const MIB = 1024 * 1024

function copiesOf(t: TestContext) {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  const { copies } = state
  const put = (input: string, at: number, answer = '{}') =>
    copies.put({ route: 'tags.list', input, at, answer }, 0)
  const at = (input: string) => copies.get({ route: 'tags.list', input })?.at ?? null
  return { copies, put, at }
}

it('the oldest copies are deleted when all are larger than 32 MiB', (t) => {
  const { put, at } = copiesOf(t)
  for (const n of [3, 1, 2, 4]) put(`page ${n}`, n, 'x'.repeat(7 * MIB))
  assert.deepEqual([at('page 1'), at('page 2')], [1, 2])
  put('page 5', 5, 'x'.repeat(7 * MIB))
  assert.deepEqual([at('page 1'), at('page 2'), at('page 5')], [null, 2, 5])
})

it('the inputs of copies count too, so that reads without results cannot fill the disk', (t) => {
  const { put, at } = copiesOf(t)
  const input = (n: number) => `${n} ${'x'.repeat(4 * MIB)}`
  for (const n of [1, 2, 3, 4]) put(input(n), n)
  assert.deepEqual([at(input(1)), at(input(2)), at(input(4))], [null, 2, 4])
})

it('a copy replaces the one of the same input, and those before a time are deleted', (t) => {
  const { copies, put, at } = copiesOf(t)
  put('old', 1)
  put('same', 2)
  copies.put({ route: 'tags.list', input: 'same', at: 9, answer: '{"a":1}' }, 2)
  assert.deepEqual([at('old'), at('same')], [null, 9])
  assert.equal(copies.get({ route: 'tags.list', input: 'same' })?.answer, '{"a":1}')
})

it('the copies of one route are deleted with their places', (t) => {
  const { copies, put, at } = copiesOf(t)
  put('one', 1)
  copies.put({ route: 'presets.list', input: 'one', at: 2, answer: '{}' }, 0)
  assert.deepEqual(copies.drop('tags.list'), [{ route: 'tags.list', input: 'one', at: 1 }])
  assert.equal(at('one'), null)
  assert.notEqual(copies.get({ route: 'presets.list', input: 'one' }), null)
})
