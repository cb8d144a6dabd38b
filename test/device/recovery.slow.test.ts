/**
 * Tests the recovery key: what a reset with it changes for contacts of the account.
 * A reset without it does not change that.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { TrustCard } from '../../src/api/rest/trust-cards.ts'
import type { KeyPair } from '../../src/crypto/device-keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { resetLog, vouchFor } from '../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../src/crypto/recovery-paper.ts'
import { putRecoveryKey, readRecoveryKey } from '../../src/device/trust/recovery-key.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { at, confirmAt } from '../world/requests.ts'
import {
  type DeviceUser,
  connected,
  isIn,
  newPaper,
  joinMembers,
  verifies,
  worldOf,
} from '../world/world.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

const otherPaper = (): KeyPair => recoveryKeyOf(newRecoverySeed())

const cardAt = async (user: DeviceUser): Promise<TrustCard> =>
  (await trustCards.list({ limit: 50 }, at(user))).items[0] ?? assert.fail('no account is followed')
const follow = (user: DeviceUser, { id }: DeviceUser) =>
  trustCards.create({ body: { user_id: id } }, at(user))
const confirm = (user: DeviceUser, id: string) => confirmAt(user, id)
const dismiss = (user: DeviceUser, id: string) =>
  trustCards.update({ id, body: { recovery_seen: true } }, at(user))

/** Ada follows and has confirmed Bob; both are in a connection of Ada’s. Bob has a paper. */
async function two(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  await follow(ada, bob)
  await confirm(ada, bob.id)
  const id = await connected(ada, bob)
  const paper = await newPaper(bob)
  for (const user of [ada, bob]) await user.sync()
  world.later()
  return { world, ada, bob, id, paper, bobId: bob.id }
}

/** Syncs both devices, and checks that each verifies the words of the other. */
async function wordsWork(world: { later(): void }, ada: DeviceUser, bob: DeviceUser, id: string) {
  await bob.sync()
  await ada.sync()
  await bob.sync()
  world.later()
  assert(await verifies(ada, bob, id), 'the words of the one who was reset')
  assert(await verifies(bob, ada, id), 'the words of the other')
}

describe('a reset with the recovery key', () => {
  it('keeps the keys confirmed: words verify again without a confirmation', async (t) => {
    const { world, ada, id, paper } = await two(t)
    const anew = await world.reset('bob', paper)
    await wordsWork(world, ada, anew, id)
    assert.equal((await cardAt(ada)).key_status, 'confirmed')
  })

  it('is shown on the card until it is dismissed, without a warning', async (t) => {
    const { world, ada, bobId, paper } = await two(t)
    assert.equal((await cardAt(ada)).recovered_at, null)
    await world.reset('bob', paper)
    world.later(60)
    await ada.sync()
    const { recovered_at, recovery_key_unused } = await cardAt(ada)
    assert.equal(recovered_at, new Date(world.clock.ms - 60 * 60_000).toISOString())
    assert.equal(recovery_key_unused, false)
    assert.equal((await dismiss(ada, bobId)).recovered_at, null)
    await ada.sync()
    assert.equal((await cardAt(ada)).recovered_at, null)
  })

  it('is dated between the last check and this one, not by its entry', async (t) => {
    const { world, ada, bobId, paper } = await two(t)
    const looked = ada.state.trust.get(bobId)?.checked_at ?? assert.fail('never looked at')
    const { entries } = await ada.account().keyLogs.read({ account: bobId })
    const log = verifyKeyLog(bobId, entries)
    const keys = newDeviceKeys()
    // The device that resets the account chooses `at`.
    const reset = resetLog({ log, device: newId('dev_', 1), keys, at: 1, recovery: paper })
    const late = ada.restart(
      instead('keyLogs', 'read', (honest) => async (input) => {
        const answer = await honest(input)
        return input.account === bobId ? { ...answer, entries: [...entries, reset] } : answer
      }),
    )
    world.later(61)
    const { recovered_at } = await trustCards.update({ id: bobId, body: {} }, at(late))
    assert.equal(recovered_at, new Date(looked).toISOString())
  })

  it('does not make the account server hint at changed keys', async (t) => {
    const { world, ada, paper } = await two(t)
    await world.reset('bob', paper)
    const [card] = (await ada.account().trustCards.list({})).items
    assert.equal(card?.key_status, 'confirmed')
  })

  it('in a group with another owner: the new device rotates itself', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await ada.connect()
    await joinMembers(ada, id, [bob, cy])
    const paper = await newPaper(bob)
    const anew = await world.reset('bob', paper)
    await cy.sync()
    assert.equal(cy.state.connections.get(id)?.hold, 'rotation_pending')
    await anew.sync()
    for (const user of [cy, ada, anew]) await user.sync()
    world.later()
    for (const [by, speaker] of [
      [cy, anew],
      [anew, cy],
      [ada, anew],
    ] as const)
      assert(await verifies(by, speaker, id))
    assert.equal((await cy.hears(bob.words(id))).verified, false)
  })
})

describe('a reset without the recovery key', () => {
  it('warns that the key was not used, until the keys are confirmed', async (t) => {
    const { world, ada, bobId } = await two(t)
    await world.reset('bob')
    await ada.sync()
    const card = await cardAt(ada)
    assert.deepEqual(
      [card.key_status, card.recovery_key_unused, card.recovered_at],
      ['changed_unverified', true, null],
    )
    const after = await confirm(ada, bobId)
    assert.deepEqual([after.key_status, after.recovery_key_unused], ['confirmed', false])
  })

  it('warns accounts that first see the account after it, also once the log has grown', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const paper = await newPaper(bob)
    const thief = await world.reset('bob')
    const unused = async () => (await cardAt(ada)).recovery_key_unused
    await follow(ada, thief)
    assert.equal(await unused(), true)
    await newPaper(thief)
    await ada.sync()
    assert.equal(await unused(), true)
    // After the confirmation there is no warning.
    const eve = await world.person('eve')
    await follow(eve, thief)
    assert.equal((await confirm(eve, thief.id)).recovery_key_unused, false)
    await eve.sync()
    assert.equal((await cardAt(eve)).recovery_key_unused, false)
    const cy = await world.person('cy')
    const owner = await world.reset('bob', paper)
    await follow(cy, owner)
    assert.equal((await cardAt(cy)).recovery_key_unused, false)
  })

  it('does not warn of a key that never existed', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    await follow(ada, bob)
    world.later()
    await world.reset('bob')
    await ada.sync()
    const { key_status, recovery_key_unused } = await cardAt(ada)
    assert.deepEqual([key_status, recovery_key_unused], ['changed_unverified', false])
  })
})

describe('a thief who resets the account without the recovery key', () => {
  it('cannot delete it, and does not leave connections in the attempt', async (t) => {
    const { world, ada, id, paper, bobId } = await two(t)
    const thief = await world.reset('bob')
    await rejects('invalid_state', thief.flow.deleteAccount(), {
      state: 'reset_without_recovery_key',
    })
    assert(isIn(ada, id, thief))
    world.later()
    const owner = await world.reset('bob', paper)
    assert.equal(owner.id, bobId)
    await wordsWork(world, ada, owner, id)
    await owner.flow.deleteAccount()
    assert.equal((await owner.flow.read()).state, 'signed_out')
  })

  it('is undone by a reset with the key: followers and connections continue', async (t) => {
    const { world, ada, id, paper } = await two(t)
    const thief = await world.reset('bob')
    await ada.sync()
    assert.equal((await cardAt(ada)).key_status, 'changed_unverified')
    assert.equal(thief.words(id), null)
    world.later()
    const owner = await world.reset('bob', paper)
    await wordsWork(world, ada, owner, id)
    const { key_status, recovery_key_unused, recovered_at } = await cardAt(ada)
    assert.deepEqual([key_status, recovery_key_unused], ['confirmed', false])
    assert(recovered_at !== null)
  })

  it('is undone although the thief made a recovery key as well', async (t) => {
    const { world, ada, id, paper } = await two(t)
    const thief = await world.reset('bob')
    await newPaper(thief)
    const owner = await world.reset('bob', paper)
    await wordsWork(world, ada, owner, id)
  })

  it('is undone also if both resets come in one sync', async (t) => {
    const { world, ada, id, paper } = await two(t)
    await world.reset('bob')
    const owner = await world.reset('bob', paper)
    await wordsWork(world, ada, owner, id)
    assert.equal((await cardAt(ada)).key_status, 'confirmed')
  })

  it('with keys that a member confirmed: that member confirms the owner again', async (t) => {
    const { world, ada, id, paper, bobId } = await two(t)
    await world.reset('bob')
    await ada.sync()
    await cardAt(ada)
    await confirm(ada, bobId)
    world.later()
    const owner = await world.reset('bob', paper)
    await owner.sync()
    await ada.sync()
    assert.equal((await cardAt(ada)).key_status, 'changed_unverified')
    assert.equal(owner.words(id), null)
    await confirm(ada, bobId)
    await wordsWork(world, ada, owner, id)
  })
})

describe('a recovery key on paper', () => {
  it('that was replaced is rejected before anything is posted', async (t) => {
    const { world, ada, bob, bobId, paper } = await two(t)
    const newer = await newPaper(bob, paper)
    const before = (await ada.account().keyLogs.read({ account: bobId })).entries
    await rejects('invalid_state', world.reset('bob', paper), { state: 'other_recovery_key' })
    assert.deepEqual((await ada.account().keyLogs.read({ account: bobId })).entries, before)
    await world.reset('bob', newer)
    await ada.sync()
    assert.equal((await cardAt(ada)).key_status, 'confirmed')
  })

  it('of a generation that another key ended is useless', async (t) => {
    const { world, bob, paper } = await two(t)
    const newer = await newPaper(bob, paper)
    const anew = await world.reset('bob', newer)
    const third = await newPaper(anew, newer)
    await rejects('invalid_state', world.reset('bob', newer), { state: 'other_recovery_key' })
    await world.reset('bob', third)
  })

  it('of another account is rejected', async (t) => {
    const { world } = await two(t)
    await rejects('invalid_state', world.reset('bob', otherPaper()), {
      state: 'other_recovery_key',
    })
  })

  it('for an account without a recovery key is rejected', async (t) => {
    const { world } = await worldOf(t, 'bob')
    await rejects('invalid_state', world.reset('bob', otherPaper()), { state: 'no_recovery_key' })
  })

  it('stays in force after its reset, and can be used again', async (t) => {
    const { world, ada, id, paper } = await two(t)
    const anew = await world.reset('bob', paper)
    const { key } = await readRecoveryKey(anew.device(), anew.account())
    assert.equal(key?.x, paper.jwk.x)
    const again = await world.reset('bob', paper)
    await wordsWork(world, ada, again, id)
  })
})

describe('putting a recovery key in force', () => {
  const put = (user: DeviceUser, of: Parameters<typeof putRecoveryKey>[2]) =>
    putRecoveryKey(user.device(), user.account(), of)
  const conflict = { code: 'conflict' }

  it('again after a lost answer changes nothing', async (t) => {
    const { bob } = await worldOf(t, 'bob')
    const { next } = await readRecoveryKey(bob.device(), bob.account())
    const { jwk: key } = otherPaper()
    const first = await put(bob, { key, seq: next.seq })
    assert.equal(first.key?.x, key.x)
    assert.deepEqual(await put(bob, { key, seq: next.seq }), first)
  })

  it('is rejected without the old one, with a wrong one, and for another seq', async (t) => {
    const { bob, paper } = await two(t)
    const { next } = await readRecoveryKey(bob.device(), bob.account())
    const { jwk: key } = otherPaper()
    const signed = (by: KeyPair) => vouchFor({ op: 'recovery', ...next, key }, by)
    await assert.rejects(put(bob, { key, seq: next.seq }), conflict)
    const wrong = signed(otherPaper())
    await assert.rejects(put(bob, { key, seq: next.seq, recovery_sig: wrong }), conflict)
    const good = signed(paper)
    await assert.rejects(put(bob, { key, seq: next.seq + 1, recovery_sig: good }), conflict)
    const { key: inForce } = await put(bob, { key, seq: next.seq, recovery_sig: good })
    assert.equal(inForce?.x, key.x)
  })

  it('with an earlier key of the log is rejected', async (t) => {
    const { bob, paper } = await two(t)
    await newPaper(bob, paper)
    const { next } = await readRecoveryKey(bob.device(), bob.account())
    const seq = { seq: next.seq }
    await assert.rejects(put(bob, { key: paper.jwk, ...seq }), conflict)
  })

  it('between the plan of a reset and the reset: the reset fails, and succeeds when planned again', async (t) => {
    const { world, bob, paper, bobId } = await two(t)
    const meanwhile = () => world.further(bob, 'bob 2')
    await assert.rejects(world.reset('bob', paper, meanwhile), conflict)
    assert.equal((await world.reset('bob', paper)).id, bobId)
  })
})
