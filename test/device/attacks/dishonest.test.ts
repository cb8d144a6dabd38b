/**
 * Tests an account server that lies about connections.
 * Each lie is refused with its reason, and nothing verifies that should not.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { sealEnvelope } from '../../../src/crypto/envelope.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { signJws } from '../../../src/crypto/jose/jws-signature.ts'
import { verifyKeyLog } from '../../../src/crypto/logs/key-log.ts'
import { recipientsOf, verifyRoster } from '../../../src/crypto/logs/roster.ts'
import { rotateNow } from '../../../src/device/connections/members.ts'
import { connections } from '../../../src/handlers/connections.ts'
import { at } from '../../world/requests.ts'
import { showing } from '../../world/lies.ts'
import { type DeviceUser, connected, consentFor, verifies, worldOf } from '../../world/world.ts'
import { paged } from '../../world/paged.ts'
import { rejects } from '../../rejects.ts'
import { restless } from '../../world/interceptor.ts'

type Entries = readonly string[]

/** Restarts a device with a server that lies; returns the report of its sync. */
async function syncLying(user: DeviceUser, lie: (account: Account) => Account) {
  const lied = user.restart(lie)
  const report = await lied.device().sync.run('request')
  return { lied, error: report.error ?? '', report }
}

describe('rosters', () => {
  const two = async (t: TestContext) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await rotateNow(ada.device(), ada.account(), id)
    await bob.sync()
    world.later()
    return { world, ada, bob, id }
  }

  for (const [lie, change, reason] of [
    ['rolled back', (entries: Entries) => entries.slice(0, -1), 'rollback'],
    ['without its first entry', (entries: Entries) => entries.slice(1), 'gap'],
    ['empty', () => [], 'empty'],
    [
      'with an entry repeated',
      (entries: Entries) => [...entries, entries.at(-1)!],
      'duplicate_entry',
    ],
    ['with an entry left out', (entries: Entries) => entries.toSpliced(1, 1), 'gap'],
    [
      'with an entry altered',
      (entries: Entries) => entries.with(-1, `${entries.at(-1)!.slice(0, -4)}AAAA`),
      'bad_signature',
    ],
  ] as const)
    it(`${lie}: ${reason}, and the stored roster stays unchanged`, async (t) => {
      const { ada, bob, id } = await two(t)
      const { lied, error } = await syncLying(ada, showing(change))
      assert.match(error, new RegExp(`refused \\(${reason}\\). The connection stays unchanged`))
      assert(await verifies(lied, bob, id))
    })

  it('of another connection: wrong_connection', async (t) => {
    const { ada, bob, id } = await two(t)
    const other = await connected(ada, bob, 'Other')
    const { entries } = await ada.account().rosters.read({ connection: other })
    const { error } = await syncLying(
      ada,
      showing((own, connection) => (connection === id ? entries : own)),
    )
    assert.match(error, /wrong_connection/)
  })

  it('two histories: the device keeps both as evidence, and words of the connection no longer verify', async (t) => {
    const { world, ada, bob, id } = await two(t)
    // The server acknowledges what Ada signs and shows it to no account.
    const hiding = ada.restart((account) => ({
      ...account,
      rosters: { ...account.rosters, append: async () => ({ seq: 3, head: 'A'.repeat(43) }) },
    }))
    await rotateNow(hiding.device(), hiding.account(), id)
    const hidden = hiding.state.logs.head('roster', id)?.entry
    await rotateNow(bob.device(), bob.account(), id)
    const shown = (await bob.account().rosters.read({ connection: id })).entries.at(-1)
    assert.notEqual(hidden, shown)
    const { lied, error } = await syncLying(hiding, (account) => account)
    assert.match(error, /forked: .* two histories .* opens a new connection that replaces/)
    assert.equal(lied.state.logs.head('roster', id)?.entry, hidden)
    assert.deepEqual(
      lied.state.forks.read(id).map(({ entry }) => entry),
      [shown],
    )
    world.later()
    for (const words of [bob.words(id), hiding.words(id)]) {
      if (words === null) continue
      const { verified, conclusive, reasons } = await lied.hears(words)
      assert.deepEqual([verified, conclusive], [false, false])
      assert(reasons.includes('roster_forked'))
    }
    assert.equal(lied.words(id), null)
    const again = await lied.device().sync.run('request')
    assert.equal(again.error, null, 'told once; the rest goes on')
    assert.equal(lied.restart().words(id), null, 'also after another start')
    const without = lied.restart((account) => ({
      ...account,
      connections: {
        ...account.connections,
        list: async () => ({ items: [], next_cursor: null }),
      },
    }))
    await without.sync()
    assert.equal(without.state.connections.get(id), null)
    const listed = without.restart(showing(() => without.state.logs.read('roster', id)))
    await listed.device().sync.run('request')
    assert.equal(listed.words(id), null, 'also when it was left out for a while')
    assert.equal(listed.state.connections.get(id)?.hold, 'roster_forked')

    const rid = lied.restart((account) => account)
    await connections.delete({ id }, at(rid))
    await rid.sync()
    const left = (await connections.list({ limit: 50 }, at(rid))).items
    assert.deepEqual(
      left.map(({ replaces }) => replaces),
      [id],
      'the connection that replaced it stays',
    )
    await rejects('not_found', connections.read({ id }, at(rid)))
    assert.equal(rid.state.connections.get(id), null, 'whoever gave it up is rid of it')
  })

  it('withheld: cached data becomes stale', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const { lied } = await syncLying(
      ada,
      showing(() => []),
    )
    assert(await verifies(lied, bob, id))
    world.later(7 * 24 * 60 + 1)
    const { conclusive, reasons } = await lied.hears(bob.words(id))
    assert.deepEqual([conclusive, reasons], [false, ['sync_stale']])
  })

  it('withheld: a failed verification is conclusive for an hour', async (t) => {
    const { world, ada } = await two(t)
    const { lied } = await syncLying(
      ada,
      showing(() => []),
    )
    const nobodys = async () => {
      const { verified, conclusive, reasons } = await lied.hears('matador carload recede')
      return { verified, conclusive, reasons }
    }
    world.later(59)
    assert.deepEqual(await nobodys(), { verified: false, conclusive: true, reasons: [] })
    world.later(2)
    const stale = { verified: false, conclusive: false, reasons: ['sync_stale'] }
    assert.deepEqual(await nobodys(), stale)
  })
})

describe('members', () => {
  it('the device adds no account that it did not invite', async (t) => {
    const { ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
    const id = await connected(ada, bob)
    const consent = await consentFor(eve, ada, id)
    const { lied, error } = await syncLying(ada, (account) => ({
      ...account,
      duties: {
        read: async () => ({
          joins: [{ connection: id, account: eve.id, email: null, consent }],
          unsealed: [{ connection: id, devices: [eve.deviceId] }],
        }),
      },
    }))
    assert.equal(error, '')
    assert.equal((await lied.account().rosters.read({ connection: id })).entries.length, 2)
    const { envelopes } = await ada.account().envelopes.read({ connection: id })
    assert.equal(envelopes.length, 1)
  })

  it('the device does not add another account in place of the invited one', async (t) => {
    const { ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    const consent = await consentFor(eve, ada, id)
    const { lied } = await syncLying(ada, (account) => ({
      ...account,
      duties: {
        read: async () => ({
          joins: [{ connection: id, account: eve.id, email: null, consent }],
          unsealed: [],
        }),
      },
    }))
    assert.equal((await lied.account().rosters.read({ connection: id })).entries.length, 1)
  })
})

describe('key logs and envelopes', () => {
  it('another account’s key log in place of a member’s: wrong_account', async (t) => {
    const { ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    const { lied, error } = await syncLying(ada, (account) => ({
      ...account,
      keyLogs: {
        ...account.keyLogs,
        read: ({ account: of }) => account.keyLogs.read({ account: of === bob.id ? eve.id : of }),
      },
    }))
    assert.match(error, /wrong_account/)
    assert.equal((await lied.account().rosters.read({ connection: id })).entries.length, 1)
  })

  it('the device seals nothing to an invented device of a member', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const { entries } = await bob.account().keyLogs.read({ account: bob.id })
    const [keys, device] = [newDeviceKeys(), newId('dev_', world.clock.ms)]
    // The device signs its own addition: no device of Bob’s signed it.
    const forged = forgedAddition(bob.id, entries, { id: device, keys })
    const { error } = await syncLying(ada, (account) => ({
      ...restless(account),
      keyLogs: {
        ...account.keyLogs,
        read: async (of) =>
          of.account === bob.id
            ? { ...paged([...entries, forged], of), seal_keys: [] }
            : account.keyLogs.read(of),
      },
      rosters: {
        ...account.rosters,
        read: async (of) => {
          const roster = await account.rosters.read(of)
          return { ...roster, key_logs: [{ account: bob.id, seq: 1 }] }
        },
      },
      duties: {
        read: async () => ({ joins: [], unsealed: [{ connection: id, devices: [device] }] }),
      },
    }))
    assert.match(error, /refused \((unknown_signer|kid_mismatch|bad_signature)\)/)
  })

  for (const [lie, swap, reason] of [
    ['sealed to another device', 'recipient', 'wrong_recipient'],
    ['of another connection', 'connection', 'wrong_connection'],
    ['with another secret than that of the epoch', 'secret', 'k_commit_mismatch'],
  ] as const)
    it(`an envelope ${lie}: ${reason}, and no words verify with it`, async (t) => {
      const { ada, bob } = await worldOf(t, 'ada', 'bob')
      const id = await ada.connect()
      const other = await connected(ada, bob, 'Other')
      await ada.invite(id, { user_id: bob.id })
      await bob.approve()
      await ada.sync()
      const wrong = {
        recipient: async () => (await ada.account().envelopes.read({ connection: id })).envelopes,
        connection: async () =>
          (await bob.account().envelopes.read({ connection: other })).envelopes,
        secret: async () => [await sealedBy(ada, bob, id, randomBytes(32))],
      }[swap]
      const envelopes = await wrong()
      const { lied, error } = await syncLying(bob, (account) => ({
        ...account,
        envelopes: { ...account.envelopes, read: async () => ({ envelopes: [...envelopes] }) },
      }))
      assert.match(error, new RegExp(reason))
      assert.equal(lied.words(id), null)
      const { verified, conclusive, reasons } = await lied.hears(ada.words(id))
      assert.deepEqual([verified, conclusive, reasons], [false, false, ['secret_missing']])
    })
})

/** Returns an envelope from a dishonest member, who chooses the secret. */
async function sealedBy(
  by: DeviceUser,
  to: DeviceUser,
  connection: string,
  k: Uint8Array,
): Promise<string> {
  const { entries } = await by.account().rosters.read({ connection })
  const logs = new Map(
    await Promise.all(
      [by.id, to.id].map(async (id) => {
        const log = verifyKeyLog(id, (await by.account().keyLogs.read({ account: id })).entries)
        return [id, log] as const
      }),
    ),
  )
  const roster = verifyRoster(connection, entries, logs)
  const { device } = recipientsOf(roster, logs).find(({ account }) => account === to.id)!
  const { seal } = await to.deviceSession.identity()!.keys()
  const sealed = { recipient: device.id, kid: device.seal, publicKey: seal.publicKey }
  return sealEnvelope(roster, new Uint8Array(k), sealed)
}

/**
 * Returns the entry that adds a device to the log of another account, signed by no device of it.
 */
function forgedAddition(
  account: string,
  entries: readonly string[],
  { id, keys }: { id: string; keys: ReturnType<typeof newDeviceKeys> },
): string {
  const { seq, active } = verifyKeyLog(account, entries)
  const { id: by, kid } = active[0]!
  const prev = encodeBase64url(entryHash(entries.at(-1)!))
  const entry = { v: 2, account, seq: seq + 1, prev, op: 'add', device: id, keys: publicKeys(keys) }
  return signJws('keylog+jws', kid, { ...entry, by, at: 1 }, newDeviceKeys().sign.secret)
}
