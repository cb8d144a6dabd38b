/**
 * Envelopes and sealing keys as a dishonest account server passes them on: what does not fit gives
 * no secret and no words, and an honest server brings the secret afterwards.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { decodeBase64url, encodeBase64url } from '../../src/crypto/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { sealEnvelope } from '../../src/crypto/envelope.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { renewSealKey } from '../../src/crypto/key-log-entries.ts'
import { remove, rotateNow } from '../../src/device/members.ts'
import { rememberedRoster } from '../../src/device/remembered.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { honest, lied, showingEnvelopes, showingLog } from './lying.ts'
import { type Desk, connected, takenIn, verifies, worldOf } from './people.ts'

const epochOf = ({ state }: Desk, id: string) => {
  const { connection, epoch, epochHead } = rememberedRoster(state, id)!.roster
  return { connection, epoch, epochHead }
}

/** Bob's device, to which an envelope is sealed. */
async function recipient(bob: Desk) {
  const { identity } = bob.device()
  const { publicKey } = (await identity.keys()).seal
  return { recipient: bob.deviceId, kid: sealKeyId(publicKey), publicKey }
}

const envelopesOf = async (desk: Desk, id: string) =>
  (await desk.account().envelopes.read({ connection: id })).envelopes

/** A member of an envelope, changed. */
const changed = (envelope: string, change: (members: Record<string, unknown>) => object) => {
  const members = JSON.parse(envelope) as Record<string, unknown>
  return JSON.stringify({ ...members, ...change(members) })
}
const shorter = (text: unknown) => encodeBase64url(decodeBase64url(String(text)).slice(1))

interface Scene {
  readonly ada: Desk
  readonly bob: Desk
  readonly id: string
  /** The envelope of an earlier epoch, and the one of now. */
  readonly before: string
  readonly now: string
}

/** Ada and Bob, connected; Ada has rotated, and Bob does not know it yet. */
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
    'of an epoch that nobody opened',
    async ({ ada, bob, id }) => {
      const of = epochOf(ada, id)
      const to = await recipient(bob)
      return sealEnvelope({ ...of, epoch: of.epoch + 1 }, new Uint8Array(32), to)
    },
    'unknown_epoch',
  ],
  [
    'of an epoch that another entry opened',
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
    'to a sealing key that the device does not hold',
    async ({ ada, bob, id }) => {
      const { seal } = newDeviceKeys()
      const to = { kid: sealKeyId(seal.publicKey), publicKey: seal.publicKey }
      return sealEnvelope(epochOf(ada, id), new Uint8Array(32), { recipient: bob.deviceId, ...to })
    },
    'wrong_recipient_kid',
  ],
  [
    'with a secret of the server’s own',
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
    'with a short id of the key',
    ({ now }) => changed(now, ({ recipient_kid: kid }) => ({ recipient_kid: shorter(kid) })),
    'bad_value',
  ],
  ['with a member more', ({ now }) => changed(now, () => ({ more: 1 })), 'unknown_member'],
  ['with a member less', ({ now }) => changed(now, () => ({ ct: undefined })), 'missing_member'],
  ['that is no JSON', ({ now }) => now.slice(1), 'bad_json'],
]

describe('an envelope', () => {
  for (const [lie, envelope, reason] of CASES)
    it(`${lie}: ${reason}, no words, and the honest one afterwards`, async (t) => {
      const of = await scene(t)
      const { ada, bob, id } = of
      const { lied: there, error } = await lied(bob, showingEnvelopes([await envelope(of)]))
      assert.match(error, new RegExp(`The secret of ${id} .* was refused \\(${reason}\\)`))
      assert.equal(there.words(id), null)
      assert(!there.device().vault.has(id), 'nothing of it is kept')
      const { verified, conclusive, reasons } = await there.hears(ada.words(id))
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
      // Where the device deleted the honest one, a member seals another.
      await ada.sync()
      const again = await honest(there)
      assert(await verifies(again, ada, id))
    })

  it('that never comes: secret_missing, and the honest server brings it', async (t) => {
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

/** What a server passes on in place of the sealing keys of an account. */
const KEYS: readonly [lie: string, keys: (honest: readonly string[]) => string[]][] = [
  ['none', () => []],
  ['one of its own', () => [encodeBase64url(newDeviceKeys().seal.publicKey)]],
  ['one of another length', ([key = '']) => [shorter(key)]],
  ['one that is spelt in another way', ([key = '']) => [respelt(key)]],
  ['one that is no base64url', ([key = '']) => [`${key.slice(0, -1)}=`]],
  ['an altered one', ([key = '']) => [`${key.startsWith('A') ? 'B' : 'A'}${key.slice(1)}`]],
  ['each twice', (keys) => [...keys, ...keys]],
]

/** Another text of the same bytes: the last character carries four bits that mean nothing. */
function respelt(key: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(key.at(-1)!)
  return key.slice(0, -1) + alphabet[last + 1]!
}

/** What a device posts, and to which devices it seals. */
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

describe('sealing keys that do not fit the log', () => {
  for (const [lie, keys] of KEYS)
    it(`${lie}: the log is taken, the others get the secret, and the device later`, async (t) => {
      const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
      const id = await ada.connect()
      await takenIn(ada, id, [cy])
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
      assert.equal(sealed.has(bob.deviceId), lie === 'each twice')
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

  it('beside a key known before: a removal is signed, and that key gets the secret', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await ada.connect()
    await takenIn(ada, id, [bob, cy])
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

/** Bob's device names another sealing key in its log; answers its id. */
async function renewed(bob: Desk): Promise<string> {
  const { identity } = bob.device()
  const { publicKey } = newDeviceKeys().seal
  const entry = renewSealKey({
    log: await identity.keyLog(),
    seal: sealKeyId(publicKey),
    by: bob.deviceId,
    kid: identity.kid,
    seed: (await identity.keys()).sign.secret,
    at: 1,
  })
  await bob.account().keyLogs.append({ body: { entry, seal_key: encodeBase64url(publicKey) } })
  return sealKeyId(publicKey)
}

describe('a sealing key that was renewed', () => {
  it('is the only one that gets the secret, though the server still gives the older one', async (t) => {
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
})
