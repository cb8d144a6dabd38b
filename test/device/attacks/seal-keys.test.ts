/**
 * Tests wrong sealing keys from a dishonest account server and from a dishonest member.
 * A wrong key gets no secret, and does not prevent any other device from getting it.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../../src/crypto/device-public-keys.ts'
import { readEnvelope } from '../../../src/crypto/envelope-form.ts'
import { renewSealKey } from '../../../src/crypto/logs/key-log-entries.ts'
import { markRestored } from '../../../src/device/identity/own-keys.ts'
import { remove, rotateNow } from '../../../src/device/connections/members.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { honest, lied, showingLog } from '../../world/lies.ts'
import { type DeviceUser, connected, joinMembers, verifies, worldOf } from '../../world/world.ts'

const shorter = (text: string) => encodeBase64url(decodeBase64url(text).slice(1))

/** The keys that a server returns in place of the sealing keys of an account. */
const KEYS: readonly [lie: string, keys: (honest: readonly string[]) => string[]][] = [
  ['none', () => []],
  ['with one of the server’s own', () => [encodeBase64url(newDeviceKeys().seal.publicKey)]],
  ['with one of another length', ([key = '']) => [shorter(key)]],
  ['with one in another spelling', ([key = '']) => [respelt(key)]],
  ['with one that is not base64url', ([key = '']) => [`${key.slice(0, -1)}=`]],
  ['with an altered one', ([key = '']) => [`${key.startsWith('A') ? 'B' : 'A'}${key.slice(1)}`]],
  ['with each twice', (keys) => [...keys, ...keys]],
]

/** Returns another encoding of the same bytes: the last character has four unused bits. */
function respelt(key: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(key.at(-1)!)
  return key.slice(0, -1) + alphabet[last + 1]!
}

/** Records what a device posts, and to which devices it seals. */
function watching(sealed: Set<string>) {
  const note = (envelopes: readonly string[]) => {
    for (const one of envelopes) sealed.add(readEnvelope(one).recipient)
  }
  return (account: Account): Account => ({
    ...account,
    rosters: {
      ...account.rosters,
      append: async (of) => {
        note(of.body.envelopes)
        return account.rosters.append(of)
      },
    },
    envelopes: {
      ...account.envelopes,
      add: async (of) => {
        note(of.body.envelopes)
        return account.envelopes.add(of)
      },
    },
  })
}

describe('sealing keys that do not match the log', () => {
  for (const [lie, keys] of KEYS)
    it(`${lie}: the log is accepted, the other devices get the secret, and this one gets it later`, async (t) => {
      const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
      const id = await ada.connect()
      await joinMembers(ada, id, [cy])
      await ada.invite(id, { user_id: bob.id })
      await bob.approve()
      const sealed = new Set<string>()
      const shown = showingLog(bob.id, ({ entries, seal_keys }) => ({
        entries,
        seal_keys: keys(seal_keys),
      }))
      const { lied: there, error } = await lied(ada, (account) => watching(sealed)(shown(account)))
      assert.equal(error, '')
      await rotateNow(there.device(), there.account(), id)
      assert.equal(sealed.has(bob.deviceId), lie === 'with each twice')
      assert(sealed.has(cy.deviceId))
      await cy.sync()
      world.later()
      assert(await verifies(there, cy, id))

      const again = await honest(there)
      await again.sync()
      await bob.sync()
      world.later()
      assert(await verifies(again, bob, id))
    })

  it('beside a cached key: a removal is signed, and the cached key gets the secret', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await ada.connect()
    await joinMembers(ada, id, [bob, cy])
    await world.further(cy, 'phone')
    const { lied: there } = await lied(
      ada,
      showingLog(cy.id, ({ entries, seal_keys }) => ({
        entries,
        seal_keys: seal_keys.map(respelt),
      })),
    )
    await remove(there.device(), there.account(), id, bob.id)
    await cy.sync()
    world.later()
    assert.equal((await there.hears(bob.words(id) ?? 'matador carload recede')).verified, false)
    assert(await verifies(there, cy, id))
  })
})

const envelopesOf = async (user: DeviceUser, id: string) =>
  (await user.account().envelopes.read({ connection: id })).envelopes

/** Names another sealing key of a device in the log of its account; returns the key’s id. */
async function renewed(
  user: DeviceUser,
  { publicKey }: { publicKey: Uint8Array } = newDeviceKeys().seal,
): Promise<string> {
  const { identity } = user.device()
  const entry = renewSealKey({
    log: await identity.keyLog(),
    seal: sealKeyId(publicKey),
    by: user.deviceId,
    kid: identity.kid,
    seed: (await identity.keys()).sign.secret,
    at: 1,
  })
  await user.account().keyLogs.append({ body: { entry, seal_key: encodeBase64url(publicKey) } })
  return sealKeyId(publicKey)
}

describe('a sealing key that was renewed', () => {
  it('is the only one that gets the secret, although the server still returns the old key', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const { seal_keys: old } = await bob.account().keyLogs.read({ account: bob.id })
    const kid = await renewed(bob)
    const sealed = new Set<string>()
    const shown = showingLog(bob.id, ({ entries }) => ({ entries, seal_keys: old }))
    const { lied: there, error } = await lied(ada, (account) => watching(sealed)(shown(account)))
    assert.equal(error, '')
    await rotateNow(there.device(), there.account(), id)
    assert.deepEqual([...sealed], [ada.deviceId])
    await honest(there)
    const [newest = ''] = (await envelopesOf(bob, id)).slice(-1)
    assert.equal(readEnvelope(newest).recipient_kid, kid)
  })

  it('to a key that nothing can be sealed to gets no secret, and the member can continue', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const phone = await world.further(bob, 'phone')
    for (const user of [bob, phone, ada]) await user.sync()
    // The X25519 half of this key is of low order: the key deserialises, and every seal to it
    // fails.
    const { publicKey } = newDeviceKeys().seal
    await renewed(phone, { publicKey: publicKey.slice().fill(0, 1184) })
    await rotateNow(ada.device(), ada.account(), id)
    for (const user of [ada, bob, ada]) await user.sync()
    world.later()
    assert(await verifies(ada, bob, id))
    assert(await verifies(bob, ada, id))
    // The device does not have the private half either. Restored from a backup, it renews the
    // key.
    markRestored(phone.state)
    await phone.device().sync.run('request')
    assert.equal(phone.words(id), null)

    for (const user of [ada, phone]) await user.sync()
    assert.notEqual(phone.words(id), null)
  })
})
