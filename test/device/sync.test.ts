/** Sync: what the account knows comes here, what was made here goes there, and a failure is told and not thrown. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { commitment } from '../../src/crypto/roster.ts'
import { AppError } from '../../src/errors.ts'
import { MINUTE } from './bench.ts'
import { enrolled, gate } from './enrolled.ts'

const unavailable = () => Promise.reject(new AppError('internal', 'The account is away.'))

describe('sync', () => {
  it('one run at a time: a request that comes while one runs joins it', async (t) => {
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
    assert.equal((await sync.run('timer')).trigger, 'timer', 'the next is a run of its own')
    assert.equal(lists, 2)
  })

  it('a failure stands in the report, keeps what is here, and the next run makes it good', async (t) => {
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

  it('nothing new: nothing pulled, nothing pushed', async (t) => {
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

  it('a connection and a guest code that vanished at the account are forgotten here', async (t) => {
    const device = await enrolled(t)
    const [kept, gone] = [await device.connect('kept'), await device.connect('gone')]
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
      assert(codes.has(kept) && vault.has(kept))
    }
  })

  it('what is made while the account answers is not forgotten', async (t) => {
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

  it('a lost secret of an own connection comes back out of its envelope', async (t) => {
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
    assert.equal(without.verifier.verify(words ?? '', null).echo, true)
  })

  it('a device that lost all it knew but its identity learns its connections again', async (t) => {
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

  it('the epoch is the roster’s, whatever the list says', async (t) => {
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

  it('an envelope that does not hold the committed secret is refused', async (t) => {
    const device = await enrolled(t)
    const [one, two] = [await device.connect('one'), await device.connect('two')]
    assert.notEqual(commitment(one, 1, device.vault.get(one) as Uint8Array), '')
    device.vault.delete(one)
    const lied = device.reopen({
      envelopes: { read: () => device.account.envelopes.read({ connection: two }) },
    })
    const { ok, error } = await lied.sync.run('request')
    assert.equal(ok, false)
    assert.match(error ?? '', /\S/)
    assert.equal(lied.vault.has(one), false)
  })

  it('the verification log goes up once, and again when the answer was not heard', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    for (let i = 0; i < 3; i++) device.verifier.verify('matador carload recede', null)
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
