/**
 * Tests sync: it fetches data of the account and sends data of this device.
 * A failure is reported and not thrown.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { serverName } from '../../src/api/rest/names.ts'
import { connections } from '../../src/handlers/connections.ts'
import { createGuestCode } from '../../src/device/connections/guests.ts'
import { guestCodes } from '../../src/handlers/guest-codes.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { status as statusHandler } from '../../src/handlers/status.ts'
import { keyCommitment } from '../../src/crypto/logs/roster-form.ts'
import { AppError } from '../../src/errors.ts'
import type { HandlerContext } from '../../src/handlers/context.ts'
import { contextOf } from '../world/requests.ts'
import { DAY, MINUTE } from './bench.ts'
import { type Enrolled, enrolled, gate } from './enrolled.ts'

const unavailable = () =>
  Promise.reject(new AppError('backend_unavailable', 'The account is away.'))

describe('sync', () => {
  it('one run at a time: a request during a run joins it', async (t) => {
    const device = await enrolled(t)
    const { promise, resolve } = gate()
    let lists = 0
    const { sync } = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          lists++
          await promise
          return device.account.connections.list(query)
        },
      },
    })
    assert.equal(sync.last(), null)
    const [first, second] = [sync.run('start'), sync.run('request')]
    let idle = false
    const ended = sync.idle().then(() => (idle = true))
    assert.equal(idle, false)
    resolve()
    assert.equal(await first, await second)
    await ended
    assert.deepEqual([(await first).trigger, lists], ['start', 1])
    // A sync that a user requests reads everything.
    assert.equal((await sync.run('request')).trigger, 'request', 'the next is a run of its own')
    assert.equal(lists, 2)
  })

  it('a failure is in the report, local data stays, and the next run succeeds', async (t) => {
    const device = await enrolled(t)
    const id = await device.connect()
    const away = device.reopen({
      connections: { ...device.account.connections, list: unavailable },
    })
    const report = await away.sync.run('timer')
    assert.deepEqual([report.ok, report.error], [false, 'The account is away.'])
    assert.deepEqual(away.sync.last(), report)
    assert(away.codes.has(id) && away.vault.has(id))
    device.clock.ms += MINUTE
    const good = await device.reopen().sync.run('request')
    assert.deepEqual([good.ok, good.error], [true, null])
    assert.notEqual(good.started_at, report.started_at)
    assert.deepEqual(device.reopen().sync.last(), good, 'the report outlives a start')
  })

  it('without changes nothing is pulled or pushed', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    await device.invite()
    await device.sync.run('start')
    const { ok, pulled, pushed } = await device.sync.run('timer')
    assert.deepEqual(
      { ok, pulled, pushed },
      {
        ok: true,
        pulled: { connections: 0, secrets: 0, guest_codes: 0, rosters: 0 },
        pushed: { verifications: 0, envelopes: 0 },
      },
    )
  })

  it('a guest code keeps its external member until it ends', async (t) => {
    const device = await enrolled(t)
    const member = await device.account.externalMembers.create({
      body: { display_name: 'Maria Muster' },
    })
    const of = { label: 'Mum', expiresIn: 3600, externalMember: member.id }
    const { made } = await createGuestCode(device, device.account, of, device.clock.ms)
    const row = device.state.guests.get(made.id)!
    const storedName = () => device.state.guests.get(made.id)?.external_member_name
    assert.equal(storedName(), 'Maria Muster')
    const report = await device.sync.run('timer')
    assert.deepEqual([report.ok, report.pulled.guest_codes], [true, 0])
    assert.deepEqual({ ...device.state.guests.get(made.id) }, { ...row })
    // Deleted by another device of the account: this one learns of it at its next sync.
    await device.account.guestCodes.delete({ id: made.id })
    for (const pulled of [1, 0]) {
      const report = await device.sync.run('timer')
      assert.deepEqual([report.pulled.guest_codes, storedName()], [pulled, null])
    }
  })

  it('a connection and a guest code that vanished at the account are deleted here', async (t) => {
    const device = await enrolled(t)
    const [remaining, gone] = [await device.connect('kept'), await device.connect('gone')]
    const guest = await device.invite()
    await device.account.connections.delete({ id: gone })
    await device.account.guestCodes.delete({ id: guest })
    const { ok } = await device.sync.run('timer')
    assert(ok)
    for (const { codes, vault, state } of [device, device.reopen()]) {
      assert.deepEqual(
        [codes.has(gone), vault.has(gone), state.connections.get(gone)],
        [false, false, null],
      )
      assert.deepEqual([codes.has(guest), vault.has(guest)], [false, false])
      assert.equal(state.guests.get(guest)?.state, 'revoked')
      assert(codes.has(remaining) && vault.has(remaining))
    }
  })

  it('objects created during the account’s answer are not deleted', async (t) => {
    const device = await enrolled(t)
    const old = await device.connect('old')
    const made: string[] = []
    const late = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          const page = await device.account.connections.list(query)
          made.push(await late.connect('new'), await late.invite('new'))
          return page
        },
      },
    })
    assert((await late.sync.run('timer')).ok)
    assert.equal(made.length, 2)
    for (const id of [old, ...made]) assert(late.codes.has(id) && late.vault.has(id), id)
  })

  it('a lost secret of an own connection is restored from its envelope', async (t) => {
    const device = await enrolled(t)
    const id = await device.connect()
    const words = device.codes.own(id, device.clock.ms)?.words
    assert.match(words ?? '', /^\w+ \w+ \w+$/)
    device.vault.delete(id)
    const without = device.reopen()
    assert.equal(without.codes.own(id, device.clock.ms), null)
    const report = await without.sync.run('request')
    assert.deepEqual([report.ok, report.pulled.secrets], [true, 1])
    assert.equal(without.codes.own(id, device.clock.ms)?.words, words)
    assert.equal((await without.verifier.verify(words ?? '', null)).echo, true)
  })

  it('a device that lost all data except its identity restores its connections', async (t) => {
    const device = await enrolled(t)
    const ids = [await device.connect('one'), await device.connect('two')]
    const words = ids.map((id) => device.codes.own(id, device.clock.ms)?.words)
    for (const id of ids) {
      device.vault.delete(id)
      device.state.connections.delete(id)
      device.state.logs.delete('roster', id)
    }
    const empty = device.reopen()
    const { ok, pulled } = await empty.sync.run('request')
    assert.deepEqual(
      [ok, pulled],
      [true, { connections: 2, secrets: 2, guest_codes: 0, rosters: 2 }],
    )
    assert.deepEqual(
      ids.map((id) => empty.codes.own(id, device.clock.ms)?.words),
      words,
    )
  })

  it('the epoch is the roster’s, even if the list has another', async (t) => {
    const device = await enrolled(t)
    const id = await device.connect()
    const words = device.codes.own(id, device.clock.ms)?.words
    device.vault.delete(id)
    const lied = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          const { items, next_cursor } = await device.account.connections.list(query)
          return { items: items.map((item) => ({ ...item, epoch: 7 })), next_cursor }
        },
      },
    })
    assert((await lied.sync.run('request')).ok)
    assert.equal(lied.state.connections.get(id)?.epoch, 1)
    assert.equal(lied.codes.own(id, device.clock.ms)?.words, words)
  })

  it('an envelope without the committed secret is rejected', async (t) => {
    const device = await enrolled(t)
    const [one, two] = [await device.connect('one'), await device.connect('two')]
    assert.notEqual(keyCommitment(one, 1, device.vault.get(one) as Uint8Array), '')
    device.vault.delete(one)
    const lied = device.reopen({
      envelopes: {
        ...device.account.envelopes,
        read: () => device.account.envelopes.read({ connection: two }),
      },
    })
    const { ok, error } = await lied.sync.run('request')
    assert.equal(ok, true, 'it costs this connection alone')
    assert.match(error ?? '', /\S/)
    assert.equal(lied.vault.has(one), false)
  })

  it('the verification log is sent once, and again if the answer was lost', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    for (let i = 0; i < 3; i++) await device.verifier.verify('matador carload recede', null)
    const deaf = device.reopen({
      verifications: {
        push: async (input) => {
          await device.account.verifications.push(input)
          return unavailable()
        },
      },
    })
    assert.equal((await deaf.sync.run('timer')).ok, false)
    assert.equal((await device.sync.run('timer')).pushed.verifications, 3)
    assert.equal((await device.sync.run('timer')).pushed.verifications, 0)
    const { items } = await device.account.verificationLog.list({})
    assert.deepEqual(items, device.state.verifications.page(9, null))
  })
})

describe('changes by the user during a sync are kept', () => {
  /**
   * Returns the device, a restart of it, and the context of its handlers.
   * `meanwhile` runs once, inside the call that the sync awaits.
   */
  async function waiting(
    t: TestContext,
    inside: 'connections' | 'guestCodes' | 'rosters' | 'envelopes',
    when: 'before' | 'after',
    meanwhile: (id: string, context: HandlerContext) => Promise<unknown>,
    make: (device: Enrolled) => Promise<string>,
  ) {
    const device = await enrolled(t)
    const id = await make(device)
    let done = false
    const act = async () => {
      if (done) return
      done = true
      await meanwhile(id, contextOf(late))
    }
    const around =
      <I, O>(call: (input: I) => Promise<O>) =>
      async (input: I) => {
        if (when === 'before') await act()
        const answer = await call(input)
        if (when === 'after') await act()
        return answer
      }
    const { account } = device
    const late: Enrolled = device.reopen({
      [inside]:
        inside === 'rosters' || inside === 'envelopes'
          ? { ...account[inside], read: around(account[inside].read as never) }
          : { ...account[inside], list: around(account[inside].list as never) },
    })
    const report = await late.sync.run('timer')
    assert(done)
    return { late, id, report }
  }

  const withoutSecret = async (device: Enrolled) => {
    const id = await device.connect('old')
    device.vault.delete(id)
    return id
  }
  const outOfDate = async (device: Enrolled) => {
    const id = await device.connect('old')
    const row = device.state.connections.get(id)
    assert(row)
    device.state.connections.put({ ...row, updated_at: 0 })
    return id
  }
  const remove = (id: string, context: HandlerContext) => connections.delete({ id }, context)

  for (const [inside, when, make] of [
    ['connections', 'after', withoutSecret],
    ['rosters', 'before', withoutSecret],
    ['rosters', 'after', outOfDate],
    ['envelopes', 'before', withoutSecret],
    ['envelopes', 'after', withoutSecret],
  ] as const)
    it(`a connection deleted ${when} ${inside} answered stays deleted`, async (t) => {
      const { late, id, report } = await waiting(t, inside, when, remove, make)
      assert.deepEqual([report.ok, report.error], [true, null])
      for (const { codes, vault, state } of [late, late.reopen()])
        assert.deepEqual(
          [codes.has(id), vault.has(id), state.connections.get(id), state.logs.head('roster', id)],
          [false, false, null, null],
        )
    })

  it('a guest revoked during the request for the list stays revoked', async (t) => {
    const revoke = (id: string, context: HandlerContext) => guestCodes.delete({ id }, context)
    const { late, id, report } = await waiting(t, 'guestCodes', 'after', revoke, (device) =>
      device.invite(),
    )
    assert.deepEqual([report.ok, report.pulled.guest_codes], [true, 0])
    assert.deepEqual(
      [late.state.guests.get(id)?.state, late.codes.has(id), late.vault.has(id)],
      ['revoked', false, false],
    )
  })

  it('a guest revoked here but made elsewhere does not become active', async (t) => {
    const revoke = (id: string, context: HandlerContext) => guestCodes.delete({ id }, context)
    const { late, id } = await waiting(t, 'guestCodes', 'after', revoke, async (device) => {
      const made = await device.invite()
      device.vault.delete(made)
      device.state.guests.delete(made)
      return made
    })
    assert.deepEqual([late.state.guests.get(id), late.codes.has(id)], [null, false])
    assert((await late.sync.run('timer')).ok)
    assert.deepEqual([late.state.guests.get(id)?.state, late.codes.has(id)], ['revoked', false])
  })

  it('a connection that another device deleted is deleted here, and the sync continues', async (t) => {
    const { late, id, report } = await waiting(
      t,
      'rosters',
      'before',
      (gone, { account }) => account.connections.delete({ id: gone }),
      outOfDate,
    )
    assert.deepEqual([report.ok, report.error], [true, null])
    assert.deepEqual(
      [late.codes.has(id), late.vault.has(id), late.state.connections.get(id)],
      [false, false, null],
    )
  })

  it('the secret of a connection postponed to the next sync does not count as unused', async (t) => {
    const rename = (id: string, context: HandlerContext) =>
      connections.update({ id, body: { name: 'new' } }, context)
    const { late, id, report } = await waiting(t, 'rosters', 'after', rename, async (device) => {
      const made = await device.connect('old')
      device.state.connections.delete(made)
      device.clock.ms += 2 * DAY
      return made
    })
    assert.deepEqual([report.ok, late.vault.has(id)], [true, true])
    assert((await late.sync.run('timer')).ok)
    assert.equal(late.state.connections.get(id)?.name, 'new')
  })

  it('a new name is not overwritten, and the next sync fetches the rest', async (t) => {
    const rename = (id: string, context: HandlerContext) =>
      connections.update({ id, body: { name: 'new' } }, context)
    const { late, id } = await waiting(t, 'rosters', 'after', rename, outOfDate)
    assert.equal(late.state.connections.get(id)?.name, 'new')
    const { ok, pulled } = await late.sync.run('timer')
    assert.deepEqual([ok, pulled.connections], [true, 1])
    assert.equal(late.state.connections.get(id)?.name, 'new')
  })
})

describe('what a server cannot do', () => {
  it('revive an expired guest code', async (t) => {
    const device = await enrolled(t)
    const id = await device.invite()
    const { items } = await device.account.guestCodes.list({})
    await device.account.guestCodes.delete({ id })
    await device.sync.run('timer')
    const stale = device.reopen({
      guestCodes: {
        ...device.account.guestCodes,
        list: async () => ({ items, next_cursor: null }),
      },
    })
    assert((await stale.sync.run('timer')).ok)
    assert.deepEqual([stale.state.guests.get(id)?.state, stale.codes.has(id)], ['revoked', false])
  })

  it('change a connection by an invalid roster, or block the others', async (t) => {
    const device = await enrolled(t)
    const ids = [await device.connect('a'), await device.connect('b'), await device.connect('c')]
    const bad = ids[1] as string
    for (const id of ids) {
      const row = device.state.connections.get(id)
      assert(row)
      device.state.connections.put({ ...row, updated_at: 0 })
    }
    const before = device.state.connections.get(bad)
    const orphan = newId('con_', device.clock.ms)
    device.vault.put(orphan, new Uint8Array(32))
    device.clock.ms += 2 * DAY
    const lying = device.reopen({
      rosters: {
        ...device.account.rosters,
        read: async ({ connection }) =>
          device.account.rosters.read({ connection: connection === bad ? ids[0]! : connection }),
      },
    })
    const { ok, error, pulled } = await lying.sync.run('timer')
    assert.deepEqual([ok, pulled.connections], [false, 2])
    assert.match(
      error ?? '',
      new RegExp(`^Data .* ${bad} was refused \\(\\w+\\). The connection stays`),
    )
    assert.deepEqual(lying.state.connections.get(bad), before)
    assert(lying.codes.has(bad) && lying.vault.has(bad))
    assert.deepEqual(
      lying.logged.map(({ event }) => event),
      ['connection refused'],
    )
    assert.equal(lying.sync.lastGoodAt(), null)
    assert(lying.vault.has(orphan), 'what seems unused may belong to what was refused')
  })

  it('change the members of the roster, or the names under which they joined', async (t) => {
    const device = await enrolled(t)
    const id = await device.connect()
    const row = device.state.connections.get(id)
    assert(row)
    const me = device.identity.account
    const other = me.replace(/.$/, (c) => (c === '0' ? '1' : '0'))
    device.state.connections.put({ ...row, updated_at: 0 })
    const renaming = device.reopen({
      connections: {
        ...device.account.connections,
        list: async (query) => {
          const { items, next_cursor } = await device.account.connections.list(query)
          const named = (user_id: string, display_name: string) =>
            ({
              id: user_id,
              user_id,
              ...serverName(display_name),
              role: 'owner',
              state: 'active',
            }) as const
          const members = [named(me, 'Mallory'), named(other, 'Bob')]
          return { items: items.map((item) => ({ ...item, members })), next_cursor }
        },
      },
    })
    assert((await renaming.sync.run('timer')).ok)
    assert.deepEqual(renaming.state.connections.get(id)?.members, [
      { user_id: me, display_name: 'Ann' },
    ])
  })
})

describe('a sync that fails', () => {
  it('reports no internals, and logs the cause', async (t) => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.7:5432 for ada:hunter2')
    const device = await enrolled(t)
    const away = device.reopen({
      connections: { ...device.account.connections, list: () => Promise.reject(cause) },
    })
    const { ok, error } = await away.sync.run('timer')
    assert.deepEqual([ok, error], [false, 'Something went wrong here. The log has the details.'])
    assert.deepEqual(away.logged, [{ event: 'sync failed', cause }])
  })

  it('and cannot store its report: logged, not thrown', async (t) => {
    const device = await enrolled(t)
    // The first sync signs the name of the account, and records the age of the sealing key.
    await device.sync.run('timer')
    const full = new Error('disk full')
    t.mock.method(device.state.meta, 'set', () => {
      throw full
    })
    assert.equal((await device.sync.run('timer')).ok, true)
    assert.deepEqual(device.logged, [{ event: 'sync report not stored', cause: full }])
  })

  it('keeps the time of the last good one', async (t) => {
    const device = await enrolled(t)
    assert.equal(device.sync.lastGoodAt(), null)
    const { finished_at } = await device.sync.run('timer')
    device.clock.ms += MINUTE
    const away = device.reopen({
      connections: { ...device.account.connections, list: unavailable },
    })
    assert.equal((await away.sync.run('timer')).ok, false)
    const status = await statusHandler.read({}, contextOf(away))
    assert.equal(status.last_sync_at, finished_at)
  })
})

describe('unused secrets', () => {
  it('are deleted after a day and a good sync; younger and used ones stay', async (t) => {
    const device = await enrolled(t)
    // Ids only grow within a process, so these must be later than those of all tests before.
    device.clock.ms += 30 * DAY
    const [used, guest] = [await device.connect(), await device.invite()]
    const secret = new Uint8Array(32)
    const fresh = () => [newId('con_', device.clock.ms), newId('gst_', device.clock.ms)]
    const old = fresh()
    device.clock.ms += DAY
    const young = fresh()
    device.clock.ms += 60 * MINUTE
    for (const id of [...old, ...young]) device.vault.put(id, secret)
    const here = () => [...old, ...young, used, guest].map((id) => device.vault.has(id))
    const away = device.reopen({ guestCodes: { ...device.account.guestCodes, list: unavailable } })
    await away.sync.run('timer')
    assert.equal(new Set(here()).size, 1, 'a failed sync drops nothing')
    // The guest code has expired meanwhile, and its secret is deleted with it.
    assert((await device.sync.run('timer')).ok)
    assert.deepEqual(here(), [false, false, true, true, true, false])
  })
})

describe('stamps made while the server was unreachable', () => {
  it('get their receipt, except one with words that are in use', async (t) => {
    const device = await enrolled(t)
    const away = device.reopen({ stamps: { create: unavailable } })
    const made = await Promise.all(
      ['one', 'two', 'three'].map((content) =>
        stamp.create({ body: { content } }, contextOf(away)),
      ),
    )
    assert.deepEqual(
      made.map(({ receipt }) => receipt),
      [null, null, null],
    )
    const [one, taken, three] = made.map(({ id }) => id) as [string, string, string]
    assert.equal((await away.sync.run('timer')).ok, false)
    const back = device.reopen({
      stamps: {
        create: async (input) => {
          if (input.body.stamp === made[1]?.stamp) throw new AppError('conflict', 'taken')
          return device.account.stamps.create(input)
        },
      },
    })
    const { ok, error } = await back.sync.run('timer')
    assert.deepEqual([ok, error?.includes(taken)], [false, true])
    assert((await back.sync.run('timer')).ok, 'said once')
    const receipt = (id: string) => back.state.stamps.get(id)?.receipt
    assert.match(receipt(one) ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.match(receipt(three) ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.equal(receipt(taken), null)
    for (const { id, stamp: jws } of made) assert.equal(back.state.stamps.get(id)?.jws, jws)
  })
})
