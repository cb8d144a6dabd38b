/**
 * Tests logs of several pages at a real account server, with two entries in each page.
 * The cases cover each operation that reads a whole log, and servers that page dishonestly.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import { paged } from '../world/paged.ts'
import { connected, newPaper, newWorld, verifies, type DeviceUser } from '../world/world.ts'
import { instead, restless } from '../world/interceptor.ts'

const PAGES = { entries: 2, characters: 1_000_000 }

type ShownLog = Awaited<ReturnType<Account['keyLogs']['read']>>
type Asked = { readonly account: string; readonly from?: number | undefined }

const logHere = (user: DeviceUser, id: string) => user.state.logs.read('keylog', id)
const rosterHere = (user: DeviceUser, id: string) => user.state.logs.read('roster', id)

/** Renews the sealing key of a device this many times. */
async function renews(user: DeviceUser, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await renewNow(user.device(), user.account())
}

/** Connects Ada and Bob; pages hold two entries. */
async function two(t: TestContext, logPages = PAGES) {
  const world = await newWorld(t, { logPages })
  const [ada, bob] = [await world.person('ada'), await world.person('bob')]
  const id = await connected(ada, bob)
  return { world, ada, bob, id }
}

/**
 * Records the first place and the number of entries of each page of a key log that a device
 * reads.
 */
function watching(of: string) {
  const pages: [from: number, entries: number][] = []
  const between = (account: Account) =>
    instead('keyLogs', 'read', (read) => async (asked) => {
      const page = await read(asked)
      if (asked.account === of) pages.push([asked.from ?? 0, page.entries.length])
      return page
    })(account)
  return { pages, between }
}

describe('logs of several pages', () => {
  it('a device reads three pages of a contact’s log, the last of them full, and then one entry', async (t) => {
    const { world, ada, bob, id } = await two(t)
    await renews(bob, 5)
    const { pages, between } = watching(bob.id)
    const there = ada.restart(between)
    await there.sync()
    assert.equal(logHere(there, bob.id).length, 6)
    assert.deepEqual(pages, [
      [0, 2],
      [2, 2],
      [4, 2],
    ])
    world.later()
    assert(await verifies(there, bob, id))
    pages.length = 0
    await renews(bob, 1)
    await ada.restart(between).sync()
    assert.deepEqual(pages, [[5, 2]])
  })

  it('a read that fails after two pages continues there', async (t) => {
    const { ada, bob } = await two(t)
    await renews(bob, 6)
    let reads = 0
    const cut = ada.restart((account) =>
      instead('keyLogs', 'read', (read) => async (asked) => {
        if (asked.account === bob.id && ++reads === 3) throw new Error('the line is cut')
        return read(asked)
      })(restless(account)),
    )
    await cut
      .device()
      .sync.run('request')
      .catch(() => undefined)
    assert.equal(logHere(cut, bob.id).length, 4)
    const { pages, between } = watching(bob.id)
    await cut.restart(between).sync()
    assert.deepEqual(pages[0], [3, 2])
    assert.equal(logHere(ada, bob.id).length, 7)
  })

  it('a roster is read in pages, and by a new device from its beginning', async (t) => {
    const { world, ada, bob, id } = await two(t)
    for (let i = 0; i < 5; i++) await rotateNow(ada.device(), ada.account(), id)
    await bob.sync()
    assert.equal(rosterHere(bob, id).length, 7)
    const phone = await world.further(bob, 'phone')
    await phone.sync()
    assert.deepEqual(rosterHere(phone, id), rosterHere(ada, id))
    for (const user of [ada, phone]) await user.sync()
    world.later()
    assert(await verifies(phone, ada, id))
  })

  it('devices are approved and revoked, and the account is reset with its recovery key', async (t) => {
    const { world, ada, bob, id } = await two(t)
    await renews(bob, 4)
    const paper = await newPaper(bob)
    const phone = await world.further(bob, 'phone')
    await renews(phone, 1)
    await bob.revoke(phone.deviceId)
    const before = logHere(bob, bob.id)
    assert.equal(before.length, 9)
    const anew = await world.reset('bob', paper)
    assert.deepEqual(logHere(anew, bob.id).slice(0, 9), before)
    await anew.sync()
    await ada.sync()
    await anew.sync()
    world.later()
    assert(await verifies(ada, anew, id), 'the reset is linked by the paper')
    await world.again(anew, bob)
    assert((await anew.device().sync.run('request')).ok)
  })
})

/** Returns the entry, unsigned, after another one. */
function withPrev(jws: string, prev: string): string {
  const [header, payload, signature] = jws.split('.')
  const members = JSON.parse(Buffer.from(payload!, 'base64url').toString()) as object
  const text = JSON.stringify({ ...members, prev })
  return [header, Buffer.from(text).toString('base64url'), signature].join('.')
}

/** The entries that a server shows of Bob’s key log, of which the device knows one. */
const LIES: readonly [
  lie: string,
  shown: (entries: readonly string[], from: number) => Pick<ShownLog, 'entries' | 'seq'>,
  reason: string,
  kept: number,
][] = [
  ['an empty page before the end', (_, from) => ({ entries: [], seq: from + 5 }), 'empty', 1],
  [
    'nothing after the known entry, although there is more',
    (entries, from) => ({ entries: entries.slice(from, 1), seq: 6 }),
    'gap',
    1,
  ],
  [
    'a million entries in one page',
    () => ({ entries: Array(1_000_000).fill(''), seq: 6 }),
    'log_full',
    1,
  ],
  [
    'the same page forever',
    (entries) => ({ entries: entries.slice(0, 2), seq: 99_999 }),
    'duplicate_entry',
    2,
  ],
  [
    'a gap between two pages',
    (entries, from) => ({ entries: from < 2 ? entries.slice(from, 2) : entries.slice(3), seq: 6 }),
    'gap',
    2,
  ],
]

describe('a server with dishonest pages', () => {
  for (const [lie, shown, reason, length] of LIES)
    it(`${lie}: ${reason}, and nothing of that page is stored`, async (t) => {
      const { world, ada, bob, id } = await two(t)
      await renews(bob, 6)
      const entries = logHere(bob, bob.id)
      const lying = (account: Account): Account =>
        instead('keyLogs', 'read', (read) => async (asked: Asked) => {
          const honest = await read(asked)
          return asked.account === bob.id
            ? { ...honest, ...shown(entries, asked.from ?? 0) }
            : honest
        })(restless(account))
      const there = ada.restart(lying)
      const { error } = await there.device().sync.run('request')
      assert.match(error ?? '', new RegExp(`server for ${id} was refused \\(${reason}\\)`))
      assert.deepEqual(logHere(there, bob.id), entries.slice(0, length))
      const honest = there.restart((account) => account)
      await honest.sync()
      world.later()
      assert(await verifies(honest, bob, id))
    })

  it('a page that does not continue the one before: prev_mismatch', async (t) => {
    const { ada, bob, id } = await two(t)
    await renews(bob, 6)
    const entries = logHere(bob, bob.id)
    const foreign = entries.with(2, withPrev(entries[2]!, 'A'.repeat(43)))
    const there = ada.restart((account) =>
      instead(
        'keyLogs',
        'read',
        (read) => async (asked: Asked) =>
          asked.account === bob.id
            ? {
                ...(await read(asked)),
                ...((asked.from ?? 0) < 2
                  ? { entries: entries.slice(asked.from, 2), seq: 6 }
                  : paged(foreign, asked)),
              }
            : read(asked),
      )(restless(account)),
    )
    const { error } = await there.device().sync.run('request')
    assert.match(error ?? '', new RegExp(`server for ${id} was refused \\(prev_mismatch\\)`))
    assert.deepEqual(logHere(there, bob.id), entries.slice(0, 2))
  })

  it('a shorter log than before: rollback', async (t) => {
    const { ada, bob, id } = await two(t)
    await renews(bob, 4)
    await ada.sync()
    const known = logHere(ada, bob.id)
    assert.equal(known.length, 5)
    await renews(bob, 1)
    const there = ada.restart((account) =>
      instead(
        'keyLogs',
        'read',
        (read) => async (asked: Asked) =>
          asked.account === bob.id
            ? { ...(await read(asked)), ...paged(known.slice(0, 3), asked) }
            : read(asked),
      )(restless(account)),
    )
    const { error } = await there.device().sync.run('request')
    assert.match(error ?? '', new RegExp(`server for ${id} was refused \\(rollback\\)`))
    assert.deepEqual(logHere(there, bob.id), known)
  })
})

describe('a log above the limit of the cache', () => {
  /**
   * Returns the device after a restart with a limit, in characters, of its cache of other logs.
   */
  const limited = (user: DeviceUser, mostCharacters: number) => {
    const logs = { ...user.state.logs, mostCharacters }
    return user.restart(restless, { state: { ...user.state, logs } })
  }

  it('of a contact: too_large, which affects its connections alone', async (t) => {
    const { world, ada, bob, id } = await two(t)
    const cy = await world.person('cy')
    const other = await connected(ada, cy)
    await renews(bob, 6)
    const there = limited(ada, 3_500)
    const { ok, error } = await there.device().sync.run('request')
    assert.equal(ok, false)
    assert.match(error ?? '', new RegExp(`server for ${id} was refused \\(too_large\\)`))
    assert(!error?.includes(other))
    world.later()
    assert(await verifies(there, cy, other))
    assert(await verifies(there, bob, id), 'what was known still verifies')
  })

  it('of the own account: the device reads it whole, and can revoke and reset', async (t) => {
    const { world, bob } = await two(t)
    await renews(bob, 6)
    const phone = await world.further(bob, 'phone')
    const there = limited(bob, 3_500)
    await there.revoke(phone.deviceId)
    assert.equal(logHere(there, bob.id).length, 9)
    const anew = await world.reset('bob')
    assert.equal(logHere(anew, bob.id).length, 10)
  })
})
