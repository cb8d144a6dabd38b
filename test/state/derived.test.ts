/** Tests values that are computed from the state and cached until it changes. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { wipe } from '../../src/state/database.ts'
import { derived } from '../../src/state/derived.ts'
import { type State, openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

/** Opens a state with a derived value, and counts how often the value is computed. */
function opened(t: TestContext) {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  let made = 0
  const value = derived(({ meta }: State) => {
    made++
    return meta.get('key')
  })
  return { state, read: () => value(state), made: () => made }
}

test('a derived value is computed once, until the state changes', (t) => {
  const { state, read, made } = opened(t)
  assert.deepEqual([read(), read(), made()], [null, null, 1])
  state.meta.set('key', 'a')
  assert.deepEqual([read(), read(), made()], ['a', 'a', 2])
  state.names.set('acc_a', 'given', 'Ada')
  assert.deepEqual([read(), read(), made()], ['a', 'a', 3])
})

test('a value computed inside a transaction is not kept', (t) => {
  const { state, read } = opened(t)
  state.meta.set('key', 'before')
  assert.equal(read(), 'before')
  assert.throws(() =>
    state.transaction(() => {
      state.meta.set('key', 'inside')
      assert.equal(read(), 'inside')
      throw new Error('undo')
    }),
  )
  assert.equal(read(), 'before')
})

test('a sign-out, which deletes all rows, is a change', (t) => {
  const { state, read } = opened(t)
  state.meta.set('key', 'a')
  assert.equal(read(), 'a')
  wipe(state.db)
  assert.equal(read(), null)
})

test('each state has its own value', (t) => {
  const [one, other] = [opened(t), opened(t)]
  const value = derived(({ meta }: State) => meta.get('key'))
  one.state.meta.set('key', 'one')
  other.state.meta.set('key', 'other')
  assert.deepEqual([value(one.state), value(other.state)], ['one', 'other'])
})
