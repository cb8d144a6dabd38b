/** Malformed entries and logs from an account server: refused by name, nothing stored, nothing held. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { openEntry, rotate } from '../../src/crypto/roster.ts'
import { rememberedRoster } from '../../src/device/remembered.ts'
import { consentTo, newDevice, newPerson, place, signer, logsOf } from '../crypto/builders.ts'
import { malformedEntries, signedText, torsionKey } from '../crypto/malformed.ts'
import { type Desk, connected, restless, verifies, worldOf } from './people.ts'
import { paged } from './paged.ts'

/** The account, whose server shows this of a connection's roster, or of somebody's key log. */
const showing =
  (of: {
    roster?: (entries: readonly string[]) => readonly string[]
    keyLog?: (entries: readonly string[], account: string) => readonly string[]
  }) =>
  (account: Account): Account => ({
    ...restless(account),
    rosters: {
      ...account.rosters,
      read: async (what) => {
        const honest = await account.rosters.read({ connection: what.connection })
        return { ...honest, ...paged(of.roster?.(honest.entries) ?? honest.entries, what) }
      },
    },
    keyLogs: {
      ...account.keyLogs,
      read: async (what) => {
        const honest = await account.keyLogs.read({ account: what.account })
        const entries = of.keyLog?.(honest.entries, what.account) ?? honest.entries
        return { ...honest, ...paged(entries, what) }
      },
    },
  })

const two = async (t: TestContext) => {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const id = await connected(ada, bob)
  await bob.sync()
  return { world, ada, bob, id }
}

/** What a rogue device of Bob would sign next. */
async function nextBy(bob: Desk, id: string) {
  const { roster, keyLogs } = rememberedRoster(bob.state, id)!
  const { identity } = bob.device()
  const { seq, head } = await identity.keyLog()
  const { sign } = await identity.keys()
  const by = { actor: bob.id, device: bob.deviceId, kid: identity.kid, seed: sign.secret, at: 1 }
  const entry = rotate({ roster, keyLogs, k: new Uint8Array(32), actorLog: { seq, head }, ...by })
  return { entry, seed: sign.secret }
}

/** Everything that this device remembers of logs and connections. */
const stored = ({ state }: Desk) =>
  ['logs', 'forks', 'connections'].map((table) =>
    JSON.stringify(state.db.prepare(`select * from ${table} order by 1, 2, 3`).all()),
  )

describe('an account server that shows', () => {
  it('malformed entries: each is refused by name, and the connection goes on', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const { entry, seed } = await nextBy(bob, id)
    const before = stored(ada)
    for (const [what, malformed, reason] of malformedEntries(entry, seed)) {
      const lied = ada.restart(showing({ roster: (entries) => [...entries, malformed] }))
      const { error } = await lied.device().sync.run('request')
      assert.match(error ?? '', new RegExp(`refused \\(${reason}\\): it stays here`), what)
      assert.deepEqual(stored(lied), before, what)
    }
    const honest = ada.restart((account) => account)
    await honest.sync()
    world.later()
    assert(await verifies(honest, bob, id))
  })

  it('100,001 entries: refused, and the connection goes on', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const many = (entries: readonly string[]) =>
      Array.from({ length: 100_001 }, (_, seq) => entries[seq] ?? entries.at(-1)!)
    const lied = ada.restart(showing({ roster: many }))
    const { error } = await lied.device().sync.run('request')
    assert.match(error ?? '', /refused \(log_full\): it stays here/)
    assert.deepEqual(stored(lied), before)
    world.later()
    assert(await verifies(lied, bob, id))
  })

  it('a public key with a torsion component: bad_key, and the connection goes on', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const { identity } = bob.device()
    const { sign } = await identity.keys()
    const { seed } = { seed: sign.secret }
    const keyLog = (entries: readonly string[], account: string) => {
      if (account !== bob.id) return entries
      const first = JSON.parse(Buffer.from(entries[0]!.split('.')[1]!, 'base64url').toString()) as {
        keys: { sign: object }
      }
      const { keys } = first
      const bad = { ...keys, sign: { ...keys.sign, x: torsionKey(seed) } }
      const added = {
        ...first,
        seq: 1,
        prev: hashText(entries[0]!),
        device: ada.deviceId,
        keys: bad,
      }
      const { salt: _, ...payload } = added as typeof added & { salt: string }
      return [...entries, signedText(entries[0]!, JSON.stringify(payload), seed)]
    }
    const lied = ada.restart((account) => {
      const shown = showing({ keyLog })(account)
      return {
        ...shown,
        rosters: {
          ...shown.rosters,
          read: async (what) => {
            const honest = await account.rosters.read(what)
            const key_logs = honest.key_logs.map((log) => ({ ...log, seq: 1 }))
            return { ...honest, key_logs }
          },
        },
      }
    })
    const { error } = await lied.device().sync.run('request')
    assert.match(error ?? '', /refused \(bad_key\): it stays here/)
    assert.deepEqual(stored(lied), before)
    world.later()
    assert(await verifies(lied, bob, id))
  })

  it('a connection with 201 members: too_many_members, nothing of it is stored', async (t) => {
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
      const roster = { connection, head: hashOf(entries.at(-1)!) }
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

const hashText = (jws: string) => Buffer.from(hashOf(jws)).toString('base64url')
