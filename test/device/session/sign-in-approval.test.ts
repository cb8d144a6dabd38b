/** Tests the second laptop: it may only read until each has the words of the other. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { AppError } from '../../../src/errors.ts'
import { added, approved, shownBy } from '../../world/approving.ts'
import { crashAt, crashing, newLaptop } from './signing-in.ts'
import { isWaiting, twoLaptops } from '../waiting-laptop.ts'
import { paged } from '../../world/paged.ts'
import { rejects } from '../../rejects.ts'
import { instead } from '../../world/interceptor.ts'

describe('approval', () => {
  it('words typed on both sides: the new device is signed in, and both have the same log', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    assert.equal(fresh.deviceSession.device(), null, 'read-only')
    const { id, words } = await shownBy(old, fresh.flow)
    assert.equal(words.split(' ').length, 4)
    assert.equal((await fresh.flow.read()).device_words, words)
    const shown = await old.approver.approve(old.account, id, words.toUpperCase())
    assert.equal(shown.device_name, 'laptop 2')
    assert.equal(shown.words.split(' ').length, 4)
    assert.equal(fresh.identity().approved, false, 'one comparison is not two')
    const done = await fresh.flow.approve(` ${shown.words.replaceAll(' ', '-')} `)
    assert.deepEqual([done.state, done.device_words], ['signed_in', null])
    assert.notEqual(fresh.deviceSession.device(), null)
    for (const { identity } of [old, fresh])
      assert.deepEqual((await identity().keyLog()).entries, server.entries(account))
    assert.equal((await fresh.restart().flow.read()).state, 'signed_in')
    assert.equal((await fresh.flow.approve('x')).state, 'signed_in', 'done is done')
  })

  it('the approving device stores the grown log at once', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const identity = old.deviceSession.identity()
    assert.equal((await identity?.keyLog())?.seq, 0)
    await added(old, fresh.flow)
    assert.equal((await identity?.keyLog())?.seq, 1)
  })

  it('either side can begin, and each waits for the other', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { device: id } = fresh.identity()
    const seen = async () => (await old.approver.advance(old.account, id)).state
    const begun = await old.approver.begin(old.account, id)
    assert.deepEqual(begun, { device_name: 'laptop 2', state: 'waiting' })
    assert.equal(await seen(), 'waiting')
    assert.equal((await fresh.flow.beginApproval()).device_words, null)
    assert.equal((await fresh.flow.advanceApproval()).device_words, null)
    assert.equal(await seen(), 'revealing')
    assert.equal(await seen(), 'revealing')
    await rejects('invalid_state', old.approver.approve(old.account, id, 'x'), {
      state: 'not_revealed',
      says: /has not shown its words/,
    })
    const { device_words: words } = await fresh.flow.advanceApproval()
    assert.equal(await seen(), 'ready')
    const { words: others } = await old.approver.approve(old.account, id, words ?? '')
    assert.equal((await fresh.flow.approve(others)).state, 'signed_in')
  })

  const slips: [typed: string, code: AppError['code'], says: RegExp][] = [
    ['matador carload', 'word_count', /Four words are needed, but there are 2/],
    ['matadorx carload recede matador', 'unknown_word', /"matadorx" is not on.*matador/],
    ['matador carload recede matador', 'validation_failed', /may be dishonest/],
  ]
  for (const [typed, code, says] of slips) {
    it(`on the old device, "${typed}": ${code}, nothing is signed, and the words can be typed again`, async (t) => {
      const { server, old, fresh, account } = await twoLaptops(t)
      const { id, words } = await shownBy(old, fresh.flow)
      await rejects(code, old.approver.approve(old.account, id, typed), { says })
      assert.equal(server.logOf(account).seq, 0)
      await old.approver.approve(old.account, id, words)
      assert.equal(server.logOf(account).seq, 1)
    })

    it(`on the new device, "${typed}": ${code}, nothing changes, and the words can be typed again`, async (t) => {
      const { old, fresh } = await twoLaptops(t)
      const words = await added(old, fresh.flow)
      await rejects(code, fresh.flow.approve(typed), { says })
      await isWaiting(fresh)
      assert.equal((await fresh.flow.approve(words)).state, 'signed_in')
    })
  }

  it('words typed on the device that shows them are rejected, on both devices', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    await rejects('validation_failed', fresh.flow.approve(words), { says: /this device/ })
    const { words: others } = await old.approver.approve(old.account, id, words)
    await rejects('validation_failed', old.approver.approve(old.account, id, others), {
      says: /this device/,
    })
    assert.equal(server.logOf(account).seq, 1)
    await isWaiting(fresh)
  })

  it('words typed on the new device before the old one signed: the new device is asked to wait', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const words = await added(old, fresh.flow)
    const [first = ''] = server.entries(account)
    const early = fresh.restart({
      account: instead('keyLogs', 'read', () => async (of) => ({
        ...paged([first], of),
        seal_keys: [],
      })),
    })
    const again = await added(old, early.flow)
    assert.notEqual(again, words)
    // The server shows the log up to the place before the device’s own entry: that is no other
    // log.
    await rejects('invalid_state', early.flow.approve(again), {
      state: 'awaiting_approval',
      says: /^Not approved yet. First approve this device on the other one/,
    })
    await isWaiting(early)
  })

  it('compared a second time on the old device: the same words, and no further entry', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    const first = await old.approver.approve(old.account, id, words)
    assert.deepEqual(await old.approver.approve(old.account, id, words), first)
    assert.equal(server.logOf(account).seq, 1)
  })

  it('an unknown id', async (t) => {
    const { old } = await twoLaptops(t)
    await rejects('not_found', old.approver.begin(old.account, newId('dev_', 1)), {
      says: /no such device/,
    })
  })

  it('entries of another device in between: the addition follows them, and is accepted', async (t) => {
    const { server, old, fresh, account } = await twoLaptops(t)
    const third = newLaptop(t, server, 'phone')
    await third.signIn()
    let raced = false
    const slow = old.restart({
      account: instead('keyLogs', 'append', (honest) => async (input) => {
        if (!raced) {
          raced = true
          await approved(old, third.flow)
        }
        return honest(input)
      }),
    })
    await approved(slow, fresh.flow)
    assert.equal(server.logOf(account).seq, 2)
  })

  it('a new device that gives up ends its session and no longer waits', async (t) => {
    const { server, fresh } = await twoLaptops(t)
    const { device } = fresh.identity()
    await fresh.flow.end({ last_device: false, forget: false })
    assert.equal((await fresh.flow.read()).state, 'signed_out')
    assert(server.devices().every(({ id }) => id !== device))
  })

  it('a new device that was rejected meanwhile can leave', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    await old.account.devices.delete({ id: fresh.identity().device })
    await fresh.flow.end({ last_device: false, forget: false })
    assert.equal((await fresh.flow.read()).state, 'signed_out')
  })

  it('a crash at any step of the check: finished at the next start, or begun again', async (t) => {
    for (let at = 1; ; at++) {
      const { old, fresh } = await twoLaptops(t)
      const { arm, step, crashed } = crashAt(at)
      const { state } = fresh
      const dying = fresh.restart({
        state: { ...state, meta: crashing(state.meta, step), logs: crashing(state.logs, step) },
        account: (account) => crashing(account, step),
      })
      const words = await added(old, dying.flow)
      arm()
      await dying.flow.approve(words).catch(() => undefined)
      if (!crashed()) break
      const next = fresh.restart()
      const { state: then } = await next.flow.beginApproval()
      if (then === 'awaiting_approval') await approved(old, next.flow)
      assert.equal((await next.flow.read()).state, 'signed_in', `crash ${at}`)
      assert.equal((await next.identity().keyLog()).seq, 1)
    }
  })
})
