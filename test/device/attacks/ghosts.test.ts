/**
 * Tests members without consent.
 * A device refuses an owner who signs them and a server that asks for them, both with the same
 * reason. The account joins later by a consent of its own.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { signJws } from '../../../src/crypto/jose/jws-signature.ts'
import { remove } from '../../../src/device/connections/members.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { forgedEntry, honest, lied, membersOf, placeOf, showing } from '../../world/lies.ts'
import {
  type DeviceUser,
  type World,
  connected,
  consentFor,
  isIn,
  verifies,
  worldOf,
} from '../../world/world.ts'
import { instead } from '../../world/interceptor.ts'

interface Scene {
  readonly world: World
  readonly ada: DeviceUser
  readonly bob: DeviceUser
  readonly eve: DeviceUser
  readonly id: string
}

/** Returns the consent of Eve that waits at the server for Ada. */
async function waitingConsent({ ada }: Scene): Promise<string> {
  const { joins } = await ada.account().duties.read({})
  return joins[0]?.consent ?? assert.fail('no invitation waits')
}

/** Ada invites Eve, who approves. */
async function invited({ ada, eve, id }: Scene): Promise<void> {
  await ada.invite(id, { user_id: eve.id })
  await eve.approve()
}

/** Returns a used consent: Eve was added by it and removed again. */
async function usedConsent(scene: Scene): Promise<string> {
  await invited(scene)
  const consent = await waitingConsent(scene)
  await scene.ada.sync()
  assert(isIn(scene.ada, scene.id, scene.eve))
  await remove(scene.ada.device(), scene.ada.account(), scene.id, scene.eve.id)
  return consent
}

/** Returns the consent of a device of Eve that was revoked since. */
async function revokedConsent({ world, ada, eve, id }: Scene): Promise<string> {
  const phone = await world.further(eve, 'phone')
  const consent = await consentFor(phone, ada, id)
  await eve.revoke(phone.deviceId)
  return consent
}

/** Returns the consent of Eve, signed by another key under the name of hers. */
async function forgedConsent({ ada, eve, id }: Scene): Promise<string> {
  const consent = membersOf(await consentFor(eve, ada, id))
  const { kid } = eve.device().identity
  return signJws('consent+jws', kid, consent, newDeviceKeys().sign.secret)
}

const CASES: readonly [what: string, consent: (scene: Scene) => Promise<string>, reason: string][] =
  [
    [
      'for another connection',
      async ({ ada, bob, eve }) => consentFor(eve, ada, await connected(ada, bob, 'Other')),
      'consent_mismatch',
    ],
    ['for another inviter', ({ bob, eve, id }) => consentFor(eve, bob, id), 'consent_mismatch'],
    ['of another account', ({ ada, bob, id }) => consentFor(bob, ada, id), 'consent_mismatch'],
    ['signed by another key', forgedConsent, 'bad_consent'],
    ['of a device that was revoked since', revokedConsent, 'consent_log'],
    ['that was used before a removal', usedConsent, 'consent_stale'],
    [
      'with a text that is no consent',
      async ({ ada, id }) => (await ada.account().rosters.read({ connection: id })).entries[0]!,
      'bad_consent',
    ],
  ]

async function scene(t: TestContext): Promise<Scene> {
  const { world, ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
  return { world, ada, bob, eve, id: await connected(ada, bob) }
}

/** A server that shows the roster of a connection with one more entry. */
const withGhost = (id: string, ghost: string) =>
  showing((entries, connection) => (connection === id ? [...entries, ghost] : entries))

/**
 * Checks that Ada’s device signs nothing for Eve, and that Bob’s accepts no entry that adds her.
 */
describe('an invalid consent', () => {
  for (const [what, consentIn, reason] of CASES)
    it(`${what}: ${reason} at the inviter and at every member`, async (t) => {
      const of = await scene(t)
      const { world, ada, bob, eve, id } = of
      const consent = await consentIn(of)
      await invited(of)
      await bob.sync()

      const member = { member: eve.id, member_log: await placeOf(eve), role: 'member', consent }
      const ghost = await forgedEntry(ada, id, { op: 'add', ...member })
      const shown = await lied(bob, withGhost(id, ghost))
      assert.match(shown.error, new RegExp(`${id} was refused \\(${reason}\\)`))
      assert(!isIn(shown.lied, id, eve))
      assert(await verifies(shown.lied, ada, id), 'the connection goes on')

      const asked = await lied(
        ada,
        instead('duties', 'read', () => async () => ({
          joins: [{ connection: id, account: eve.id, email: null, consent }],
          unsealed: [],
        })),
      )
      assert.match(asked.error, new RegExp(`invitation is not valid \\(${reason}\\)`))
      assert(!isIn(asked.lied, id, eve))

      const [inviter, other] = [await honest(asked.lied), await honest(shown.lied)]
      assert(isIn(inviter, id, eve), 'her own consent takes her in')
      await eve.sync()
      await honest(other)
      world.later()
      assert(await verifies(other, eve, id))
    })

  it('missing from an entry: missing_member', async (t) => {
    const { ada, bob, eve, id } = await scene(t)
    const member = { member: eve.id, member_log: await placeOf(eve), role: 'member' }
    const ghost = await forgedEntry(ada, id, { op: 'add', ...member })
    const { lied: there, error } = await lied(bob, withGhost(id, ghost))
    assert.match(error, /refused \(missing_member\)/)
    assert(!isIn(there, id, eve))
    assert(await verifies(there, ada, id))
  })
})
