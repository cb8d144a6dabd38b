/** Tests what a process leaves behind when it dies without a chance to clean up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lockState } from '../../src/storage/lock.ts'
import type { EventType } from '../../src/api/live/catalogue.ts'
import { openState, type State } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { startChild } from './child.ts'

test('a lock of another process is refused, and free after its death', async (t) => {
  const dir = freshFolder(t)
  const holder = startChild(t, 'holder.ts', dir)
  assert.equal(await holder.line(), 'held')
  assert.equal(lockState(dir), null)
  const second = startChild(t, 'holder.ts', dir)
  assert.equal(await second.line(), 'refused')
  await second.kill()
  assert.equal(lockState(dir), null)
  await holder.kill()
  const lock = lockState(dir)
  assert(lock !== null)
  const third = startChild(t, 'holder.ts', dir)
  assert.equal(await third.line(), 'refused')
  lock.release()
  lock.release()
  const fourth = startChild(t, 'holder.ts', dir)
  assert.equal(await fourth.line(), 'held')
})

test('a lock is refused to its own process, too', (t) => {
  const dir = freshFolder(t)
  const lock = lockState(dir)
  assert.equal(lockState(dir), null)
  assert.equal(lockState(dir), null)
  lock?.release()
  const again = lockState(dir)
  assert(again !== null)
  again.release()
})

const sorted = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).toSorted()

/** Returns the ids of the resources in the events of a type. */
const reported = ({ events }: State, type: EventType): string[] =>
  events
    .after(0, 10_000)
    .filter((event) => event.type === type)
    .map(({ data }) => String(data['token_id'] ?? data['connection_id'] ?? data['guest_code_id']))
    .toSorted()

test('kill -9 while writing: all acknowledged writes are there, with their events, and none in part', async (t) => {
  const dir = freshFolder(t)
  let next = 0
  for (const count of [1, 2, 9, 60]) {
    const writer = startChild(t, 'writer.ts', dir, String(next))
    let acknowledged = -1
    for (let i = 0; i < count; i++) acknowledged = Number(await writer.line())
    for (const line of await writer.kill()) acknowledged = Number(line)
    const state = openState(dir)
    const stored = state.tokens.all().length
    assert(stored > acknowledged, `${acknowledged} was acknowledged, ${stored} are stored`)
    assert.equal(state.secrets.ids().length, stored)
    assert.equal(state.logs.read('roster', 'con').length, stored)
    assert.equal(state.replays.highest(), stored - 1)
    for (let n = 0; n < stored; n++) {
      assert.deepEqual(state.secrets.get(`con_${n}`)?.sealed, new Uint8Array(500).fill(n))
      const use = { subject: `con_${n}`, epoch: 1, speaker: 'acc', window: n }
      assert.equal(state.replays.firstUse(use, 1e9), n)
    }
    assert.deepEqual(reported(state, 'token.created'), sorted(state.tokens.all()))
    assert.deepEqual(reported(state, 'connection.added'), sorted(state.connections.all()))
    assert.deepEqual(reported(state, 'connection.ready'), sorted(state.connections.all()))
    assert.deepEqual(reported(state, 'guest_code.created'), sorted(state.guests.all()))
    assert.deepEqual(
      { ...state.db.prepare('pragma integrity_check').get() },
      { integrity_check: 'ok' },
    )
    state.close()
    next = stored
  }
})
