/**
 * Tests attempts of an approval: one at a time, few in a day, and ended by 15 minutes or a
 * restart.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { approved, shownBy } from '../../world/approving.ts'
import { newWorld } from '../../world/world.ts'
import { newLaptop } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { instead } from '../../world/interceptor.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** Returns a signed-in device and one that waits. */
async function twoLaptops(t: TestContext) {
  const server = await newWorld(t)
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const fresh = newLaptop(t, server, 'laptop 2')
  await fresh.signIn()
  /** Returns one more that waits, by a code of the operator: few are mailed to an address. */
  const another = async (name: string) => {
    const one = newLaptop(t, server, name)
    const code = await server.server.newEnrolmentCode(old.identity().account)
    await one.flow.code({ code, reset: false })
    return one
  }
  const seq = () => server.logOf(old.identity().account).seq
  return { server, old, fresh, another, seq }
}

const tooMany = (call: Call) =>
  rejects('rate_limited', call, { says: /5 approvals in 24 hours.*Try again in/ })

const endedByRestart = (call: Call) =>
  rejects('invalid_state', call, { state: 'no_attempt', says: /ends with a restart/ })

describe('a restart in the middle', () => {
  it('of the new device: the same keys, other words, and the other attempt ends', async (t) => {
    const { old, fresh, seq } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    const { device, kid } = fresh.identity()
    const next = fresh.restart()
    assert.equal((await next.flow.read()).device_words, null)
    await endedByRestart(next.flow.advanceApproval())
    await endedByRestart(next.flow.approve(words))
    // The words prepared on the old device are of no use to the new one.
    const { words: stale } = await old.approver.approve(old.account, id, words)
    await next.flow.beginApproval()
    await rejects('invalid_state', next.flow.approve(stale), {
      state: 'awaiting_approval',
      says: /Not approved yet/,
    })
    const again = await shownBy(old, next.flow)
    assert.notEqual(again.words, words)
    const shown = await old.approver.approve(old.account, id, again.words)
    assert.equal((await next.flow.approve(shown.words)).state, 'signed_in')
    assert.deepEqual([next.identity().device, next.identity().kid, seq()], [device, kid, 1])
  })

  it('of the new device, before it revealed: the old one reports that it began again', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { device: id } = fresh.identity()
    await fresh.flow.beginApproval()
    await old.approver.begin(old.account, id)
    const next = fresh.restart()
    await next.flow.beginApproval()
    await rejects('conflict', old.approver.advance(old.account, id), { says: /started again/ })
    await approved(old, next.flow)
  })

  it('of the old device: it does not answer a commitment twice, and waits for another', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    const next = old.restart()
    await endedByRestart(next.approver.approve(next.account, id, words))
    assert.equal((await next.approver.begin(next.account, id)).state, 'answered')
    assert.equal((await next.approver.advance(next.account, id)).state, 'answered')
    await approved(next, fresh.flow)
  })
})

describe('the lifetime of an attempt', () => {
  it('is 15 minutes on both devices', async (t) => {
    const { server, old, fresh, seq } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    const noAttempt = (call: Call) =>
      rejects('invalid_state', call, { state: 'no_attempt', says: /lasts 15 minutes/ })
    server.clock.ms += 15 * MINUTE - 1
    await rejects('unknown_word', old.approver.approve(old.account, id, 'x'))
    server.clock.ms += 1
    await noAttempt(old.approver.approve(old.account, id, words))
    await noAttempt(fresh.flow.approve(words))
    assert.equal((await fresh.flow.read()).device_words, null)
    assert.equal(seq(), 0)
  })

  it('ends if the account server has the attempt no longer', async (t) => {
    const { fresh } = await twoLaptops(t)
    const none = { commitment: null, answer: null }
    const lost = fresh.restart({ account: instead('approval', 'read', () => async () => none) })
    await lost.flow.beginApproval()
    await rejects('conflict', lost.flow.advanceApproval(), { says: /no longer has/ })
  })
})

describe('two attempts at once', () => {
  it('on the old device: the second ends the first, which signs nothing', async (t) => {
    const { old, fresh, another, seq } = await twoLaptops(t)
    const { id, words } = await shownBy(old, fresh.flow)
    const phone = await another('phone')
    const second = await shownBy(old, phone.flow)
    await rejects('conflict', old.approver.approve(old.account, id, words), {
      says: /Another approval was started/,
    })
    assert.equal(seq(), 0)
    await old.approver.approve(old.account, second.id, second.words)
    assert.equal(seq(), 1)
  })

  it('with two concurrent steps: one nonce is drawn', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { device: id } = fresh.identity()
    await old.approver.begin(old.account, id)
    await fresh.flow.beginApproval()
    const step = () => old.approver.advance(old.account, id)
    const seen = await Promise.all([step(), step(), step()])
    assert.deepEqual(new Set(seen.map(({ state }) => state)), new Set(['revealing']))
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
  })

  it('by two devices of the account: one answers, the other gets an error', async (t) => {
    const { old, fresh, another, seq } = await twoLaptops(t)
    const phone = await another('phone')
    await approved(old, phone.flow)
    const { id } = await shownBy(old, fresh.flow)
    const theirs = await phone.approver.begin(phone.account, id)
    assert.equal(theirs.state, 'answered')
    assert.equal(phone.state.approvalAttempts.after('approving', 0).length, 0)
    assert.equal(seq(), 1)
  })
})

describe('five attempts in 24 hours', () => {
  it('the sixth is rejected on both sides, also after a restart, until the first is a day old', async (t) => {
    const { server, old, fresh } = await twoLaptops(t)
    const first = server.clock.ms
    for (let made = 0; made < 5; made++) {
      await shownBy(old.restart(), fresh.restart().flow)
      server.clock.ms += MINUTE
    }
    const [again, waiting] = [old.restart(), fresh.restart()]
    const { device: id } = waiting.identity()
    const sixth = [
      () => again.approver.begin(again.account, id),
      () => waiting.flow.beginApproval(),
    ]
    for (const at of [server.clock.ms, first + DAY - 1]) {
      server.clock.ms = at
      for (const begin of sixth) await tooMany(begin)
    }
    server.clock.ms = first + DAY
    await approved(again, waiting.flow)
  })

  it('devices are counted separately, and so is each side', async (t) => {
    const { old, fresh, another } = await twoLaptops(t)
    for (let made = 0; made < 5; made++) await shownBy(old, fresh.flow)
    const phone = await another('phone')
    await phone.flow.beginApproval()
    assert.equal(old.state.approvalAttempts.after('new', 0).length, 0)
    assert.equal(fresh.state.approvalAttempts.after('approving', 0).length, 0)
  })

  it('sent nonces count; commitments and waiting do not', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { device: id } = fresh.identity()
    for (let made = 0; made < 7; made++) {
      assert.equal((await old.approver.begin(old.account, id)).state, 'waiting')
    }
    for (let made = 0; made < 7; made++) {
      await fresh.flow.beginApproval()
      await fresh.flow.advanceApproval()
    }
    await approved(old, fresh.flow)
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
    assert.equal(fresh.state.approvalAttempts.after('new', 0).length, 1)
  })

  it('the sixth is rejected when it would send the nonce, whenever it began', async (t) => {
    const { old, fresh, another } = await twoLaptops(t)
    const begun = old.restart()
    const { device: id } = fresh.identity()
    await begun.approver.begin(begun.account, id)
    for (let made = 0; made < 5; made++) await shownBy(old, (await another(`phone ${made}`)).flow)
    await fresh.flow.beginApproval()
    await tooMany(begun.approver.advance(begun.account, id))
    assert.deepEqual(
      await begun.account.pendingDevices.read({ id }).then((of) => of.answered_by),
      null,
    )
  })

  it('counted before sending: a lost answer counts, and the nonce is not drawn again', async (t) => {
    const { old, fresh } = await twoLaptops(t)
    const { device: id } = fresh.identity()
    const sent: unknown[] = []
    const lossy = old.restart({
      account: instead('pendingDevices', 'answer', (honest) => async (input) => {
        sent.push(input.body)
        if (sent.length === 1) throw new Error('lost')
        return honest(input)
      }),
    })
    await fresh.flow.beginApproval()
    await assert.rejects(lossy.approver.begin(lossy.account, id), /lost/)
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
    assert.equal((await lossy.approver.advance(lossy.account, id)).state, 'revealing')
    assert.deepEqual(sent[1], sent[0])
    assert.equal(old.state.approvalAttempts.after('approving', 0).length, 1)
  })

  it('a clock that was set back delays an attempt for a day at most', async (t) => {
    const { server, old, another } = await twoLaptops(t)
    const now = server.clock.ms
    server.clock.ms = now + 365 * DAY
    for (let made = 0; made < 5; made++) await shownBy(old, (await another(`p ${made}`)).flow)
    server.clock.ms = now
    const last = await another('last')
    const begin = () => old.approver.begin(old.account, last.identity().device)
    await tooMany(begin)
    server.clock.ms = now + DAY - 1
    await tooMany(begin)
    server.clock.ms = now + DAY
    await begin()
  })
})
