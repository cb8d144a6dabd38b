/** Malformed entries and logs from an account server: refused by name, nothing stored, nothing held. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { hashOf } from '../../src/crypto/jws.ts'
import { openEntry, rotate } from '../../src/crypto/roster.ts'
import { rememberedRoster } from '../../src/device/remembered.ts'
import { consentTo, newMember, place, signer, logsOf } from '../crypto/builders.ts'
import { malformedEntries, signedText, torsionKey } from '../crypto/malformed.ts'
import { honest, lied, membersOf, showing, showingLog } from './lying.ts'
import { type Desk, connected, verifies, worldOf } from './people.ts'

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

/** The rows of logs and connections that this device stores. */
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
      const { lied: there, error } = await lied(
        ada,
        showing((entries) => [...entries, malformed]),
      )
      assert.match(error, new RegExp(`refused \\(${reason}\\): it stays here`), what)
      assert.deepEqual(stored(there), before, what)
    }
    const there = await honest(ada)
    world.later()
    assert(await verifies(there, bob, id))
  })

  it('100,001 entries: refused, and the connection goes on', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const many = (entries: readonly string[]) =>
      Array.from({ length: 100_001 }, (_, seq) => entries[seq] ?? entries.at(-1)!)
    const { lied: there, error } = await lied(ada, showing(many))
    assert.match(error, /refused \(log_full\): it stays here/)
    assert.deepEqual(stored(there), before)
    world.later()
    assert(await verifies(there, bob, id))
  })

  it('a public key with a torsion component: bad_key, and the connection goes on', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const before = stored(ada)
    const { sign } = await bob.device().identity.keys()
    const { lied: there, error } = await lied(
      ada,
      showingLog(bob.id, (honest) => {
        const [first = ''] = honest.entries
        const { salt: _, ...members } = membersOf(first)
        const keys = members['keys'] as { sign: object }
        const bad = { ...keys, sign: { ...keys.sign, x: torsionKey(sign.secret) } }
        const at = { seq: 1, prev: hashText(first), device: ada.deviceId }
        const added = JSON.stringify({ ...members, ...at, keys: bad })
        return { ...honest, entries: [...honest.entries, signedText(first, added, sign.secret)] }
      }),
    )
    assert.match(error, /refused \(bad_key\): it stays here/)
    assert.deepEqual(stored(there), before)
    world.later()
    assert(await verifies(there, bob, id))
  })

  it('a connection with 201 members: too_many_members, nothing of it is stored', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const { person: owner, device } = newMember()
    const others = Array.from({ length: 200 }, newMember)
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
      const { k_commit: _, ...common } = membersOf(entries[0]!)
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
    const { lied: there, error } = await lied(ada, (account) => ({
      ...account,
      connections: {
        ...account.connections,
        list: async (page) => {
          const shown = await account.connections.list(page)
          const [one] = shown.items
          return { ...shown, items: [...shown.items, { ...one!, id: connection, name: 'Crowd' }] }
        },
      },
      rosters: {
        ...account.rosters,
        read: async (what) =>
          what.connection === connection
            ? { entries, key_logs: [...logs.keys()].map((of) => ({ account: of, seq: 0 })) }
            : account.rosters.read(what),
      },
      keyLogs: {
        ...account.keyLogs,
        read: async (what) => {
          const log = logs.get(what.account)
          return log === undefined
            ? account.keyLogs.read(what)
            : { entries: [...log.entries], seal_keys: [] }
        },
      },
    }))
    assert.match(error, /refused \(too_many_members\)/)
    assert.equal(there.state.logs.head('roster', connection), null)
    const again = await honest(there)
    assert.equal(again.state.connections.get(connection), null)
    world.later()
    assert(await verifies(again, bob, id))
  })
})

const hashText = (jws: string) => Buffer.from(hashOf(jws)).toString('base64url')
