/**
 * Tests malformed entries and logs from an account server.
 * They are refused with a reason; nothing is stored, and no connection is suspended.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { renewSealKey } from '../../../src/crypto/logs/key-log-entries.ts'
import { openEntry, rotate } from '../../../src/crypto/logs/roster.ts'
import { rememberedRoster } from '../../../src/device/logs/roster-cache.ts'
import { consentTo, newDevice, newPerson, place, signer, logsOf } from '../../crypto/builders.ts'
import { malformedEntries, malformedKeyLogEntries, signedText } from '../../crypto/malformed.ts'
import { honest, lied, showing, showingLog } from '../../world/lies.ts'
import { paged } from '../../world/paged.ts'
import { type DeviceUser, connected, verifies, worldOf } from '../../world/world.ts'

const two = async (t: TestContext) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  await bob.sync()
  return { world, ada, bob, id }
}

/** Returns the next entry that a dishonest device of Bob would sign. */
async function nextBy(bob: DeviceUser, id: string) {
  const { roster, keyLogs } = rememberedRoster(bob.state, id)!
  const { identity } = bob.device()
  const { seq, head } = await identity.keyLog()
  const { sign } = await identity.keys()
  const by = { actor: bob.id, device: bob.deviceId, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = rotate({ roster, keyLogs, k: new Uint8Array(32), actorLog: { seq, head }, ...by })
  return { entry, seed: sign.secret }
}

/** Returns all stored rows of logs and connections. */
const stored = ({ state }: DeviceUser) =>
  ['logs', 'forks', 'connections'].map((table) =>
    JSON.stringify(state.db.prepare(`select * from ${table} order by 1, 2, 3`).all()),
  )

describe('an account server that returns', () => {
  it('malformed entries: each is rejected with a reason, and the connection continues', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const { entry, seed } = await nextBy(bob, id)
    const before = stored(ada)
    for (const [what, malformed, reason] of malformedEntries(entry, seed)) {
      const lied = ada.restart(showing((entries) => [...entries, malformed]))
      const { error } = await lied.device().sync.run('request')
      assert.match(
        error ?? '',
        new RegExp(`refused \\(${reason}\\). The connection stays unchanged`),
        what,
      )
      assert.deepEqual(stored(lied), before, what)
    }
    const honest = ada.restart((account) => account)
    await honest.sync()
    world.later()
    assert(await verifies(honest, bob, id))
  })

  it('100,001 entries: rejected, and the connection continues', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const many = (entries: readonly string[]) =>
      Array.from({ length: 100_001 }, (_, seq) => entries[seq] ?? entries.at(-1)!)
    const lied = ada.restart(showing(many))
    const { error } = await lied.device().sync.run('request')
    assert.match(error ?? '', /refused \(log_full\). The connection stays unchanged/)
    assert.deepEqual(stored(lied), before)
    world.later()
    assert(await verifies(lied, bob, id))
  })

  it('malformed entries of a key log: each is rejected with a reason, and the connection continues', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const { identity } = bob.device()
    const [{ sign }, log] = [await identity.keys(), await identity.keyLog()]
    const seal = encodeBase64url(new Uint8Array(32))
    const by = { by: bob.deviceId, kid: identity.kid, seed: sign.secret, at: 1 }
    const renewal = renewSealKey({ log, seal, ...by })
    for (const [what, malformed, reason] of malformedKeyLogEntries(renewal, sign.secret)) {
      const lie = showingLog(bob.id, ({ entries, seal_keys }) => ({
        entries: [...entries, malformed],
        seal_keys,
      }))
      const { lied: there, error } = await lied(ada, lie)
      assert.match(
        error,
        new RegExp(`refused \\(${reason}\\). The connection stays unchanged`),
        what,
      )
      assert.deepEqual(stored(there), before, what)
    }
    const there = await honest(ada)
    world.later()
    assert(await verifies(there, bob, id))
  })

  it('100,001 entries of a key log: rejected, and the connection continues', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const lie = showingLog(bob.id, ({ entries, seal_keys }) => ({
      entries: Array.from({ length: 100_001 }, () => entries[0]!),
      seal_keys,
    }))
    const { lied: there, error } = await lied(ada, lie)
    assert.match(error, /refused \(log_full\). The connection stays unchanged/)
    assert.deepEqual(stored(there), before)
    world.later()
    assert(await verifies(there, bob, id))
  })

  it('malformed entries of the own key log: each is rejected, and the device keeps its words', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const { identity } = ada.device()
    const [{ sign }, log] = [await identity.keys(), await identity.keyLog()]
    const seal = encodeBase64url(new Uint8Array(32))
    const by = { by: ada.deviceId, kid: identity.kid, seed: sign.secret, at: 1 }
    const before = stored(ada)
    const renewal = renewSealKey({ log, seal, ...by })
    for (const [what, malformed, reason] of malformedKeyLogEntries(renewal, sign.secret)) {
      const lie = showingLog(ada.id, ({ entries, seal_keys }) => ({
        entries: [...entries, malformed],
        seal_keys,
      }))
      const { lied: there, error } = await lied(ada, lie)
      const says = `key log of this account.* was refused \\(${reason}\\)`
      assert.match(error, new RegExp(says), what)
      assert.deepEqual(stored(there), before, what)
    }
    const there = await honest(ada)
    world.later()
    assert(await verifies(bob, there, id))
  })

  it('a connection with 201 members: too_many_members, and nothing of it is stored', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const device = newDevice()
    const owner = newPerson(device)
    const others = Array.from({ length: 200 }, () => {
      const one = newDevice()
      return { person: newPerson(one), device: one }
    })
    const logs = logsOf(owner, ...others.map(({ person }) => person))
    const connection = `con_0${'9'.repeat(25)}`
    const by = signer(owner, device)
    const entries = [openEntry({ connection, k: new Uint8Array(32), ...by })]
    for (const { person, device: own } of others) {
      const roster = { connection, head: entryHash(entries.at(-1)!) }
      const consent = consentTo(roster, owner, person, own)
      entries.push(unverified({ entries, consent, member: person.account, log: place(person) }))
    }
    function unverified(of: {
      entries: readonly string[]
      consent: string
      member: string
      log: object
    }) {
      const opened = JSON.parse(
        Buffer.from(entries[0]!.split('.')[1]!, 'base64url').toString(),
      ) as Record<string, unknown>
      const { k_commit: _, ...common } = opened
      const payload = {
        ...common,
        seq: of.entries.length,
        prev: hashText(of.entries.at(-1)!),
        op: 'add',
        member: of.member,
        member_log: of.log,
        role: 'member',
        consent: of.consent,
      }
      return signedText(entries[0]!, JSON.stringify(payload), by.seed)
    }
    const lied = ada.restart((account) => ({
      ...account,
      connections: {
        ...account.connections,
        list: async (page) => {
          const honest = await account.connections.list(page)
          const [one] = honest.items
          return { ...honest, items: [...honest.items, { ...one!, id: connection, name: 'Crowd' }] }
        },
      },
      rosters: {
        ...account.rosters,
        read: async (what) =>
          what.connection === connection
            ? {
                ...paged(entries, what),
                key_logs: [...logs.keys()].map((of) => ({ account: of, seq: 0 })),
              }
            : account.rosters.read(what),
      },
      keyLogs: {
        ...account.keyLogs,
        read: async (what) => {
          const log = logs.get(what.account)
          return log === undefined
            ? account.keyLogs.read(what)
            : { ...paged(log.entries, what), seal_keys: [] }
        },
      },
    }))
    const { error } = await lied.device().sync.run('request')
    assert.match(error ?? '', /refused \(too_many_members\)/)
    assert.equal(lied.state.logs.head('roster', connection), null)
    const honest = lied.restart((account) => account)
    await honest.sync()
    assert.equal(honest.state.connections.get(connection), null)
    world.later()
    assert(await verifies(honest, bob, id))
  })
})

const hashText = (jws: string) => Buffer.from(entryHash(jws)).toString('base64url')
