/**
 * Tests rows of key logs that match no log, signed by a dishonest member in a rotation.
 * Each verifier ignores them, nothing is sealed to the account that they name, and its devices
 * open another epoch.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { sealEnvelope } from '../../../src/crypto/envelope.ts'
import { keyCommitment } from '../../../src/crypto/logs/roster-form.ts'
import { recipientsOf, verifyRoster } from '../../../src/crypto/logs/roster.ts'
import { noWords } from '../../../src/device/connections/no-words.ts'
import { rememberedRoster } from '../../../src/device/logs/roster-cache.ts'
import { forgedEntry, honest, placeOf } from '../../world/lies.ts'
import { type DeviceUser, three, verifies } from '../../world/world.ts'

interface Row {
  readonly account: string
  readonly seq: number
  readonly head: string
}

/** Rotates as Bob with these rows, and seals the secret to the accounts that may have it then. */
async function rotatedBy(bob: DeviceUser, id: string, logs: readonly Row[]): Promise<void> {
  const { roster, keyLogs } = rememberedRoster(bob.state, id) ?? assert.fail('no roster')
  const [epoch, k] = [roster.epoch + 1, new Uint8Array(randomBytes(32))]
  const k_commit = keyCommitment(id, epoch, k)
  const entry = await forgedEntry(bob, id, { op: 'rotate', epoch, k_commit, logs })
  const after = verifyRoster(id, [...roster.entries, entry], keyLogs)
  const devices = recipientsOf(after, keyLogs)
  const envelopes = await Promise.all(
    devices.map(async ({ account, device }) => {
      const publicKey = bob.state.sealKeys.get(account, device.seal) ?? (await ownKey(bob))
      return sealEnvelope(after, k, { recipient: device.id, kid: device.seal, publicKey })
    }),
  )
  await bob.account().rosters.append({ connection: id, body: { entry, envelopes } })
}

const ownKey = async (user: DeviceUser) => (await user.device().identity.keys()).seal.publicKey

const ROWS: readonly [what: string, row: (cy: DeviceUser) => Promise<Row>][] = [
  [
    'a seq that the log does not have',
    async (cy) => ({ account: cy.id, seq: 7, head: encodeBase64url(randomBytes(32)) }),
  ],
  [
    'another entry hash at a seq of the log',
    async (cy) => ({ account: cy.id, seq: 0, head: encodeBase64url(randomBytes(32)) }),
  ],
  [
    'an entry hash of the log at another seq',
    async (cy) => ({ account: cy.id, ...(await placeOf(cy)), seq: 1 }),
  ],
]

async function scene(t: TestContext) {
  const { world, ada, bob, cy, id } = await three(t)
  for (const user of [ada, bob, cy]) await user.sync()
  return { world, ada, bob, cy, id }
}

describe('an entry that names a state of a key log that does not exist', () => {
  for (const [what, row] of ROWS)
    it(`${what}: the entry is valid, the named state is ignored, and the next epoch includes all devices`, async (t) => {
      const { world, ada, bob, cy, id } = await scene(t)
      await rotatedBy(bob, id, [await row(cy)])
      const listener = await honest(ada)
      assert.equal(listener.state.connections.get(id)?.hold, null, 'it holds no connection')
      const { epoch, unfit } = rememberedRoster(listener.state, id)!.roster
      assert.deepEqual([epoch, unfit], [2, [cy.id]])
      const other = await honest(cy)
      assert.equal(rememberedRoster(other.state, id)!.roster.epoch, 3, 'it rotated')
      await listener.sync()
      world.later()
      assert(await verifies(listener, other, id))
      assert(await verifies(other, listener, id))
      assert.deepEqual(rememberedRoster(listener.state, id)!.roster.unfit, [])
    })

  it('is answered three times a day; then the signing member is reported', async (t) => {
    const { world, ada, bob, cy, id } = await scene(t)
    const epochs: number[] = []
    for (let time = 0; time < 4; time++) {
      await bob.sync()
      await rotatedBy(bob, id, [await ROWS[0]![1](cy)])
      await cy.sync()
      await cy.sync()
      epochs.push(rememberedRoster(cy.state, id)!.roster.epoch)
    }
    assert.deepEqual(epochs, [3, 5, 7, 8], 'the fourth stands')
    const { code, message } = await noWords(cy.device(), cy.account(), id)
    assert.equal(code, 'secret_unavailable')
    assert.match(
      message,
      /"bob" has suspended the connection more than three times in a day: an owner can remove/,
    )
    world.later(24 * 60)
    await cy.sync()
    await ada.sync()
    assert(await verifies(ada, cy, id), 'another day')
  })

  it('is answered only by devices of the named account', async (t) => {
    const { ada, bob, cy, id } = await scene(t)
    await rotatedBy(bob, id, [await ROWS[0]![1](cy)])
    await ada.sync()
    await bob.sync()
    await ada.sync()
    assert.equal(rememberedRoster(ada.state, id)!.roster.epoch, 2)
  })

  it('for a revocation that no other device has: it ends nothing once the true one arrives', async (t) => {
    const { world, ada, bob, cy, id } = await scene(t)
    const phone = await world.further(cy, 'phone')
    for (const user of [cy, phone, ada, bob]) await user.sync()
    const row = { account: cy.id, seq: 2, head: encodeBase64url(randomBytes(32)) }
    await rotatedBy(bob, id, [row])
    await ada.sync()
    const cut = cy.restart((account) => ({
      ...account,
      rosters: { ...account.rosters, append: () => Promise.reject(new Error('away')) },
    }))
    await cut.revoke(phone.deviceId).catch(() => undefined)
    await ada.sync()
    assert.equal(ada.state.connections.get(id)?.hold, 'rotation_pending')
    const back = await honest(cut)
    await ada.sync()
    world.later()
    assert(await verifies(ada, back, id))
  })
})
