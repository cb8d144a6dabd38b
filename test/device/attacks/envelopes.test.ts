/**
 * Tests envelopes that a dishonest account server changes.
 * A wrong envelope gives no secret and no words. An honest server delivers the secret afterwards.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { decodeBase64url, encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../../src/crypto/device-public-keys.ts'
import { sealEnvelope } from '../../../src/crypto/envelope.ts'
import { rotateNow } from '../../../src/device/connections/members.ts'
import { rememberedRoster } from '../../../src/device/logs/roster-cache.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { honest, lied, showingEnvelopes } from '../../world/lies.ts'
import { type DeviceUser, connected, verifies, worldOf } from '../../world/world.ts'

const epochOf = ({ state }: DeviceUser, id: string) => {
  const { connection, epoch, epochHead } = rememberedRoster(state, id)!.roster
  return { connection, epoch, epochHead }
}

/** Returns Bob’s device, to which an envelope is sealed. */
async function recipient(bob: DeviceUser) {
  const { identity } = bob.device()
  const { publicKey } = (await identity.keys()).seal
  return { recipient: bob.deviceId, kid: sealKeyId(publicKey), publicKey }
}

const envelopesOf = async (user: DeviceUser, id: string) =>
  (await user.account().envelopes.read({ connection: id })).envelopes

/** Returns an envelope with changed members. */
const changed = (envelope: string, change: (members: Record<string, unknown>) => object) => {
  const members = JSON.parse(envelope) as Record<string, unknown>
  return JSON.stringify({ ...members, ...change(members) })
}
const shorter = (text: unknown) => encodeBase64url(decodeBase64url(String(text)).slice(1))

interface Scene {
  readonly ada: DeviceUser
  readonly bob: DeviceUser
  readonly id: string
  /** The envelope of an earlier epoch; `now` is the current one. */
  readonly before: string
  readonly now: string
}

/** Connects Ada and Bob. Ada has rotated, and Bob has not synced since. */
async function scene(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  const [before = ''] = await envelopesOf(bob, id)
  await rotateNow(ada.device(), ada.account(), id)
  world.later()
  return { world, ada, bob, id, before, now: (await envelopesOf(bob, id)).at(-1) ?? '' }
}

const CASES: readonly [
  lie: string,
  envelope: (of: Scene) => string | Promise<string>,
  reason: string,
][] = [
  ['of an earlier epoch', ({ before }) => before, 'old_epoch'],
  [
    'of an epoch that does not exist',
    async ({ ada, bob, id }) => {
      const of = epochOf(ada, id)
      const to = await recipient(bob)
      return sealEnvelope({ ...of, epoch: of.epoch + 1 }, new Uint8Array(32), to)
    },
    'unknown_epoch',
  ],
  [
    'of an epoch that another entry began',
    async ({ ada, bob, id }) => {
      const epochHead = new Uint8Array(randomBytes(32))
      return sealEnvelope(
        { ...epochOf(ada, id), epochHead },
        new Uint8Array(32),
        await recipient(bob),
      )
    },
    'wrong_epoch_head',
  ],
  [
    'of an earlier epoch, renamed',
    ({ before, ada, id }) => {
      const { epoch, epochHead } = epochOf(ada, id)
      return changed(before, () => ({ epoch, epoch_head: encodeBase64url(epochHead) }))
    },
    'open_failed',
  ],
  [
    'sealed to another device, renamed',
    async ({ ada, bob, id }) => {
      const [own = ''] = (await envelopesOf(ada, id)).slice(-1)
      const { recipient: device, kid } = await recipient(bob)
      return changed(own, () => ({ recipient: device, recipient_kid: kid }))
    },
    'open_failed',
  ],
  [
    'to a sealing key that the device does not have',
    async ({ ada, bob, id }) => {
      const { seal } = newDeviceKeys()
      const to = { kid: sealKeyId(seal.publicKey), publicKey: seal.publicKey }
      return sealEnvelope(epochOf(ada, id), new Uint8Array(32), { recipient: bob.deviceId, ...to })
    },
    'wrong_recipient_kid',
  ],
  [
    'with a secret of the server’s choice',
    async ({ ada, bob, id }) =>
      sealEnvelope(epochOf(ada, id), new Uint8Array(randomBytes(32)), await recipient(bob)),
    'k_commit_mismatch',
  ],
  ['of an unknown suite', ({ now }) => changed(now, () => ({ suite: 2 })), 'unknown_suite'],
  ['of version 1', ({ now }) => changed(now, () => ({ v: 1 })), 'wrong_version'],
  [
    'with a short enc',
    ({ now }) => changed(now, ({ enc }) => ({ enc: shorter(enc) })),
    'bad_value',
  ],
  ['with a short ct', ({ now }) => changed(now, ({ ct }) => ({ ct: shorter(ct) })), 'bad_value'],
  [
    'with a short key id',
    ({ now }) => changed(now, ({ recipient_kid: kid }) => ({ recipient_kid: shorter(kid) })),
    'bad_value',
  ],
  ['with an additional member', ({ now }) => changed(now, () => ({ more: 1 })), 'unknown_member'],
  [
    'without one of its members',
    ({ now }) => changed(now, () => ({ ct: undefined })),
    'missing_member',
  ],
  ['that is not JSON', ({ now }) => now.slice(1), 'bad_json'],
]

describe('an invalid envelope', () => {
  for (const [lie, envelope, reason] of CASES)
    it(`${lie}: ${reason}, the device has no words, and an honest envelope follows`, async (t) => {
      const of = await scene(t)
      const { ada, bob, id } = of
      const { lied: there, error } = await lied(bob, showingEnvelopes([await envelope(of)]))
      const says =
        reason === 'wrong_recipient_kid'
          ? 'was sealed to a key that this device no longer has'
          : `.* was refused \\(${reason}\\)`
      assert.match(error, new RegExp(`The secret of ${id} ${says}`))
      assert.equal(there.words(id), null)
      assert(!there.device().vault.has(id), 'nothing of it is kept')
      const { verified, conclusive, reasons } = await there.hears(ada.words(id))
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
      // If the device deleted the honest envelope, a member seals another one.
      await ada.sync()
      const again = await honest(there)
      assert(await verifies(again, ada, id))
    })

  it('corrupted by a member: the device deletes it at the server, and another is sealed', async (t) => {
    const { world, ada, bob, id } = await scene(t)
    const damaged = (envelope: string) =>
      JSON.parse(envelope).recipient === bob.deviceId
        ? changed(envelope, () => ({ ct: encodeBase64url(new Uint8Array(48)) }))
        : envelope
    const damaging = ada.restart((account) => ({
      ...account,
      rosters: {
        ...account.rosters,
        append: ({ connection, body: { entry, envelopes } }) =>
          account.rosters.append({
            connection,
            body: { entry, envelopes: envelopes.map(damaged) },
          }),
      },
    }))
    await rotateNow(damaging.device(), damaging.account(), id)
    const { error } = await bob.device().sync.run('request')
    assert.match(error ?? '', /refused \(open_failed\)/)
    assert.deepEqual(await envelopesOf(bob, id), [])
    await honest(damaging)
    await bob.sync()
    world.later()
    assert(await verifies(bob, damaging, id))
  })

  it('withheld: secret_missing, and an honest server delivers it', async (t) => {
    const { world, ada, bob, id } = await scene(t)
    const { lied: there, error } = await lied(bob, showingEnvelopes([]))
    for (let round = 0; round < 3; round++) await there.device().sync.run('timer')
    assert.equal(error, '')
    const { verified, conclusive, reasons } = await there.hears(ada.words(id))
    assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
    const again = await honest(there)
    world.later()
    assert(await verifies(again, ada, id))
  })
})
