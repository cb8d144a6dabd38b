/**
 * Tests key logs of other accounts that a dishonest account server shows.
 * They are forged, altered, cut or repeated. Each is refused with its reason and changes nothing.
 * The honest log is accepted after it.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { publicKeys, type DeviceKeyPairs } from '../../../src/crypto/device-keys.ts'
import { readEnvelope } from '../../../src/crypto/envelope-form.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { signJws } from '../../../src/crypto/jose/jws-signature.ts'
import { newSalt } from '../../../src/crypto/logs/key-log-entries.ts'
import { connections } from '../../../src/handlers/connections.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { at } from '../../world/requests.ts'
import { T0 } from '../bench.ts'
import { honest, lied, membersOf, showingLog } from '../../world/lies.ts'
import { type DeviceUser, connected, isIn, verifies, worldOf } from '../../world/world.ts'

/** Returns a key-log entry with these members, signed by a key. */
const signed = ({ sign }: Pick<DeviceKeyPairs, 'sign'>, members: Record<string, unknown>): string =>
  signJws('keylog+jws', thumbprint(sign.jwk), members, sign.secret)

const prevOf = (entry: string) => encodeBase64url(entryHash(entry))

/** Returns a log for the id of another account; its first entry has keys of the server’s own. */
function forgedLog(account: string): { entries: string[]; sealKey: string } {
  const keys = newDeviceKeys()
  const device = newId('dev_', T0)
  const members = { v: 2, account, seq: 0, prev: encodeBase64url(new Uint8Array(32)), op: 'add' }
  const salt = encodeBase64url(newSalt())
  const own = { device, keys: publicKeys(keys), salt, by: device, at: 1 }
  const sealKey = encodeBase64url(keys.seal.publicKey)
  return { entries: [signed(keys, { ...members, ...own })], sealKey }
}

/**
 * Returns the reset by which an unknown device replaces all others, which a server can sign
 * itself.
 */
function forgedReset(
  account: string,
  entries: readonly string[],
): { entry: string; sealKey: string } {
  const keys = newDeviceKeys()
  const device = newId('dev_', T0)
  const place = { v: 2, account, seq: entries.length, prev: prevOf(entries.at(-1)!) }
  const entry = signed(keys, {
    ...place,
    op: 'reset',
    device,
    keys: publicKeys(keys),
    by: device,
    at: 1,
  })
  return { entry, sealKey: encodeBase64url(keys.seal.publicKey) }
}

/** Gives Bob two devices and a revoked third; his log has four entries. */
async function scene(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  await world.further(bob, 'phone')
  const tablet = await world.further(bob, 'tablet')
  await bob.sync()
  await bob.revoke(tablet.deviceId)
  await ada.sync()
  const { entries } = await bob.account().keyLogs.read({ account: bob.id })
  assert.equal(entries.length, 4)
  return { world, ada, bob, id, entries }
}

/** Returns an entry with other members, signed again by the first device of Bob. */
async function resigned(bob: DeviceUser, entry: string, members: Record<string, unknown>) {
  const { sign } = await bob.device().identity.keys()
  return signed({ sign }, { ...membersOf(entry), ...members })
}

const otherKeys = (entry: string, name: 'sign' | 'seal' | 'auth') => {
  const keys = membersOf(entry)['keys'] as Record<string, unknown>
  return { ...keys, [name]: publicKeys(newDeviceKeys())[name] }
}

/** Returns other members under the same signature. */
function altered(entry: string, members: Record<string, unknown>): string {
  const [header, , signature] = entry.split('.')
  const payload = JSON.stringify({ ...membersOf(entry), ...members })
  return `${header}.${encodeBase64url(new Uint8Array(Buffer.from(payload)))}.${signature}`
}

/** Returns the entry that adds a device of the server’s, under the name of Bob’s signing key. */
function invented(bob: DeviceUser, entries: readonly string[]): string {
  const { kid } = bob.device().identity
  const keys = publicKeys(newDeviceKeys())
  const place = { v: 2, account: bob.id, seq: entries.length, prev: prevOf(entries.at(-1)!) }
  const members = { ...place, op: 'add', device: newId('dev_', T0), keys, by: bob.deviceId, at: 1 }
  return signJws('keylog+jws', kid, members, newDeviceKeys().sign.secret)
}

type Forged = (bob: DeviceUser, entries: readonly string[]) => Promise<readonly string[]>

const CASES: readonly [lie: string, forged: Forged, reason: string][] = [
  [
    'with first keys of the server’s choice',
    async ({ id }) => forgedLog(id).entries,
    'account_mismatch',
  ],
  [
    'with a first entry with another salt, signed by the account',
    async (bob, [first = '']) => [await resigned(bob, first, { salt: encodeBase64url(newSalt()) })],
    'account_mismatch',
  ],
  [
    'with a first entry with another sealing key, signed by the account',
    async (bob, [first = '']) => [await resigned(bob, first, { keys: otherKeys(first, 'seal') })],
    'account_mismatch',
  ],
  [
    'with a first entry with another time, signed by the account',
    async (bob, entries) => {
      const log = [await resigned(bob, entries[0]!, { at: 2 })]
      for (const entry of entries.slice(1))
        log.push(await resigned(bob, entry, { prev: prevOf(log.at(-1)!) }))
      return log
    },
    'key_log_forked',
  ],
  [
    'with another signing key of a further device',
    async (_, entries) =>
      entries.with(1, altered(entries[1]!, { keys: otherKeys(entries[1]!, 'sign') })),
    'bad_signature',
  ],
  [
    'with another sealing key of a further device',
    async (_, entries) =>
      entries.with(1, altered(entries[1]!, { keys: otherKeys(entries[1]!, 'seal') })),
    'bad_signature',
  ],
  [
    'with a device that the server added in the name of one of the account’s devices',
    async (bob, entries) => [...entries, invented(bob, entries)],
    'bad_signature',
  ],
  ['without its revocation', async (_, entries) => entries.slice(0, -1), 'rollback'],
  ['without an entry in the middle', async (_, entries) => entries.toSpliced(1, 1), 'gap'],
  ['without its first entry', async (_, entries) => entries.slice(1), 'gap'],
  ['with an entry twice', async (_, entries) => [...entries, entries[1]!], 'duplicate_entry'],
  [
    'with its first entry twice',
    async (_, [first = '', ...rest]) => [first, first, ...rest],
    'duplicate_entry',
  ],
  [
    'with another last entry, signed by the account',
    async (bob, entries) => entries.with(3, await resigned(bob, entries[3]!, { at: 2 })),
    'key_log_forked',
  ],
  [
    'with two last entries, both signed by the account',
    async (bob, entries) => [...entries, await resigned(bob, entries[3]!, { at: 2 })],
    'key_log_forked',
  ],
  ['without entries', async () => [], 'empty'],
]

describe('an invalid key log from the server', () => {
  for (const [lie, forged, reason] of CASES)
    it(`${lie}: ${reason}, and nothing changes`, async (t) => {
      const { world, ada, bob, id, entries } = await scene(t)
      const log = [...(await forged(bob, entries))]
      const lie = showingLog(bob.id, ({ seal_keys }) => ({ entries: log, seal_keys }))

      const own = await lied(bob, lie)
      // The device reads no further in a log that has the known length and the known last entry.
      const isSeen = log.length !== entries.length || log.at(-1) !== entries.at(-1)
      const message = `was refused \\(${reason}\\). This device uses the cached one`
      assert.equal(new RegExp(message).test(own.error), isSeen, own.error)
      assert.deepEqual(own.lied.state.logs.read('keylog', bob.id), entries)

      const other = await lied(ada, lie)
      const refused = new RegExp(`${id} was refused \\(${reason}\\)`).test(other.error)
      assert.equal(refused, isSeen, other.error)
      assert.deepEqual(other.lied.state.logs.read('keylog', bob.id), entries)
      assert(await verifies(other.lied, own.lied, id), 'what was known still verifies')

      const [speaker, listener] = [await honest(own.lied), await honest(other.lied)]
      // The server now returns the known log, which may grow.
      await world.further(speaker, 'watch')
      await listener.sync()
      world.later()
      assert(await verifies(listener, speaker, id))
      assert.equal(listener.state.logs.read('keylog', bob.id).length, 5)
    })
})

describe('an account that is new to this device', () => {
  it('with first keys of the server’s choice: account_mismatch, and the device does not add the account', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    const { entries, sealKey } = forgedLog(bob.id)
    const { lied: there, error } = await lied(
      ada,
      showingLog(bob.id, () => ({ entries, seal_keys: [sealKey] })),
    )
    assert.match(error, new RegExp(`${id} was refused \\(account_mismatch\\)`))
    assert(!isIn(there, id, bob))
    assert.deepEqual(there.state.logs.read('keylog', bob.id), [])
    const again = await honest(there)
    await bob.sync()
    assert(isIn(again, id, bob))
    assert(await verifies(again, bob, id))
  })

  it('with an outdated log: devices missing from it get the secret later', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    const phone = await world.further(bob, 'phone')
    const { lied: there } = await lied(
      ada,
      showingLog(bob.id, ({ entries, seal_keys }) => ({
        entries: entries.slice(0, 1),
        seal_keys,
      })),
    )
    assert(isIn(there, id, bob))
    const older = await honest(there)
    for (const user of [bob, phone]) await user.sync()
    assert(await verifies(older, bob, id))
    world.later()
    assert(await verifies(older, phone, id))
  })
})

describe('a reset that the server signs itself', () => {
  /** Shows Ada’s device the reset; it waits for Bob’s devices to rotate. */
  async function shownReset(t: TestContext) {
    const { world, ada, bob, id, entries } = await scene(t)
    const { entry, sealKey } = forgedReset(bob.id, entries)
    const sealed: string[] = []
    const lie = showingLog(bob.id, ({ seal_keys }) => ({
      entries: [...entries, entry],
      seal_keys: [...seal_keys, sealKey],
    }))
    const { lied: there } = await lied(ada, (account) => ({
      ...lie(account),
      rosters: {
        ...lie(account).rosters,
        append: async (of) => {
          sealed.push(...of.body.envelopes.map((one) => readEnvelope(one).recipient))
          return account.rosters.append(of)
        },
      },
    }))
    assert.equal(there.words(id), null)
    const { verified, reasons } = await there.hears(bob.words(id))
    assert.deepEqual([verified, reasons], [false, ['rotation_pending']])
    return { world, ada: there, bob, id, sealed }
  }

  it('suspends the connection, and the next epoch is sealed to none of its keys', async (t) => {
    const { world, ada, id, sealed } = await shownReset(t)
    world.later(10)
    await ada.device().sync.run('request')
    assert.deepEqual(sealed, [ada.deviceId])
    assert.notEqual(ada.words(id), null)
  })

  it('followed by the true log: key_log_forked, and the connection can be deleted', async (t) => {
    const { world, ada, bob, id } = await shownReset(t)
    for (const name of ['watch', 'laptop']) await world.further(bob, name)
    const again = ada.restart((account) => account)
    const { ok, error } = await again.device().sync.run('request')
    assert.equal(ok, false)
    assert.match(error ?? '', /refused \(key_log_forked\)/)
    await connections.delete({ id }, at(again))
    await again.sync()
    assert.deepEqual((await connections.list({ limit: 50 }, at(again))).items, [])
    const { checked, unchecked } = await again.hears('matador carload recede')
    assert.deepEqual([checked, unchecked], [0, 0])
  })
})
