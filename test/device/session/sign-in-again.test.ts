/**
 * Tests an enrolled device that signs in again.
 * Its session ended, it was rejected or revoked, or an answer was lost.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { approved } from '../../world/approving.ts'
import { newWorld } from '../../world/world.ts'
import { EMAIL, type Laptop, newLaptop } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { insteadAtDoor, losing, refusing } from '../../world/interceptor.ts'

/** Deletes the session of a device on the server, and nothing else. */
const endSession = ({ account }: Laptop) => account.currentSession.delete({})

const read = ({ deviceSession, identity }: Laptop) =>
  deviceSession.account().keyLogs.read({ account: identity().account })

describe('a user with an ended session', () => {
  for (const which of ['the first device', 'a further device'] as const)
    it(`${which}: a code gives the same device with the same keys a new session`, async (t) => {
      const server = await newWorld(t)
      const first = newLaptop(t, server, 'desk')
      await first.signIn()
      let laptop = first
      if (which === 'a further device') {
        laptop = newLaptop(t, server, 'laptop 2')
        await laptop.signIn()
        await approved(first, laptop.flow)
      }
      const { account, device, session } = laptop.identity()
      const keys = laptop.keychain.get('device')
      const devices = server.devices().length
      await endSession(laptop)
      await rejects('not_signed_in', read(laptop))
      const begun = await laptop.flow.begin(EMAIL.toUpperCase())
      assert.deepEqual(
        [begun.state, begun.account_id, begun.device_id],
        ['code_sent', account, device],
      )
      const seen = await laptop
        .restart()
        .flow.code({ code: await server.code(EMAIL), reset: false })
      assert.deepEqual([seen.state, seen.account_id], ['signed_in', account])
      assert.deepEqual([laptop.identity().device, server.devices().length], [device, devices])
      assert.equal(laptop.keychain.get('device'), keys)
      assert.notEqual(laptop.identity().session, session)
      await read(laptop)
      assert.equal((await laptop.flow.read()).state, 'signed_in')
    })

  it('a wrong code changes nothing, and the right one then works', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await endSession(laptop)
    await laptop.flow.begin(EMAIL)
    await rejects('not_signed_in', laptop.flow.code({ code: 'x', reset: false }), {
      says: /wrong, used or expired/,
    })
    const { state } = await laptop.flow.code({ code: await server.code(EMAIL), reset: false })
    assert.equal(state, 'signed_in')
  })

  it('another address and a reset are rejected while this device is signed in', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await endSession(laptop)
    const isHere = (call: Call) =>
      rejects('invalid_state', call, { state: 'signed_in', says: /countersignd logout/ })
    await isHere(laptop.flow.begin('bob@example.org'))
    await laptop.flow.begin(EMAIL)
    await isHere(laptop.flow.code({ code: await server.code(EMAIL), reset: true }))
  })

  it('a revoked device gets that error, and signs in as a new one after logout --forget', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    const { device } = laptop.identity()
    const other = newLaptop(t, server, 'other')
    await other.signIn({ reset: true })
    await laptop.flow.begin(EMAIL)
    await rejects(
      'not_signed_in',
      laptop.flow.code({ code: await server.code(EMAIL), reset: false }),
      {
        says: /was revoked.*countersignd logout --forget/,
      },
    )
    await laptop.flow.end({ last_device: false, forget: true })
    assert.equal((await laptop.flow.read()).state, 'signed_out')
    assert.equal((await laptop.signIn()).state, 'awaiting_approval')
    assert.notEqual(laptop.identity().device, device)
  })

  it('a rejected device can ask for approval again with a code, as the same device', async (t) => {
    const server = await newWorld(t)
    const old = newLaptop(t, server, 'desk')
    await old.signIn()
    const fresh = newLaptop(t, server, 'laptop 2')
    await fresh.signIn()
    const { device } = fresh.identity()
    await old.account.devices.delete({ id: device })
    await rejects('not_signed_in', read(fresh))
    const asked = await fresh.signIn()
    assert.deepEqual([asked.state, asked.device_id], ['awaiting_approval', device])
    await approved(old, fresh.flow)
  })
})

describe('data for one account server', () => {
  const other = 'https://other.test'

  it('a code of one server is not awaited at another', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    assert.equal((await laptop.restart({ server: other }).flow.read()).state, 'signed_out')
    assert.equal((await laptop.restart().flow.read()).state, 'code_sent')
  })

  it('at another than the server’s public address, sign-in fails: the error names both, and no mail is sent', async (t) => {
    const server = await newWorld(t, { publicUrl: () => other })
    const laptop = newLaptop(t, server, 'laptop', { server: 'https://localhost' })
    const refused = (call: Call) =>
      rejects('invalid_state', call, {
        state: 'other_address',
        says: /localhost.*https:\/\/other\.test.*SVC_BACKEND_URL/,
      })
    await refused(laptop.flow.begin(EMAIL))
    assert.deepEqual(await server.codes(EMAIL), [])
    await refused(laptop.flow.code({ code: 'operator-made', reset: false }))
    assert.equal((await laptop.flow.read()).state, 'signed_out')
  })

  it('keys and accounts of one server are not sent to another', async (t) => {
    const [server, second] = [await newWorld(t), await newWorld(t, { publicUrl: () => other })]
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const door = insteadAtDoor('enrolment', 'create', () => refusing('backend_error', 'crash'))
    await assert.rejects(
      laptop.restart({ door }).flow.code({ code: await server.code(EMAIL), reset: false }),
    )
    const keys = laptop.keychain.get('device')
    const shown: string[] = []
    const seen = insteadAtDoor('enrolment', 'create', (honest) => (input) => {
      shown.push(input.body.entry)
      return honest(input)
    })
    const elsewhere = laptop.restart({ server: other, door: () => seen(second.door) })
    const unfinished = (call: Call) =>
      rejects('invalid_state', call, { state: 'unfinished', says: /countersign\.test/ })
    await unfinished(elsewhere.flow.begin(EMAIL))
    await second.door.signIns.create({ body: { email: EMAIL } })
    await unfinished(elsewhere.flow.code({ code: await second.code(EMAIL), reset: false }))
    assert.equal(laptop.keychain.get('device'), keys)
    assert.equal(shown.length, 0)
    await elsewhere.flow.end({ last_device: false, forget: true })
    await elsewhere.flow.begin(EMAIL)
    await elsewhere.flow.code({ code: await second.code(EMAIL), reset: false })
    assert.equal(shown.length, 1)
    assert.notEqual(laptop.keychain.get('device'), keys)
    assert.equal(laptop.identity().server, other)
    assert.equal((await laptop.restart().flow.read()).state, 'signed_out', 'nobody is here')
    await rejects('invalid_state', laptop.restart().flow.begin(EMAIL), {
      state: 'other_server',
      says: /https:\/\/other\.test/,
    })
  })
})

describe('an address that reached its limit of mails', () => {
  const limited = insteadAtDoor('signIns', 'create', () =>
    refusing('rate_limited', 'Too many codes.', { details: { state: 'code_sent' } }),
  )

  it('a code that is in the mailbox already signs in', async (t) => {
    const server = await newWorld(t)
    await server.door.signIns.create({ body: { email: EMAIL } })
    const { flow } = newLaptop(t, server, 'laptop', { door: limited })
    await rejects('rate_limited', flow.begin(EMAIL), { state: 'code_sent' })
    assert.deepEqual([(await flow.read()).state, (await flow.read()).email], ['code_sent', EMAIL])
    const { email, state } = await flow.code({ code: await server.code(EMAIL), reset: false })
    assert.deepEqual([state, email], ['signed_in', EMAIL])
  })

  it('a server that sends no mail for now: no new code is awaited, and an earlier one still is', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const door = insteadAtDoor('signIns', 'create', () => refusing('rate_limited', 'Later.'))
    const { flow } = laptop.restart({ door })
    await rejects('rate_limited', flow.begin(EMAIL))
    assert.equal((await flow.read()).state, 'signed_out')
    await laptop.flow.begin(EMAIL)
    await rejects('rate_limited', flow.begin(EMAIL))
    assert.deepEqual([(await flow.read()).state, (await flow.read()).email], ['code_sent', EMAIL])
  })

  it('a code is not awaited longer than its lifetime', async (t) => {
    const server = await newWorld(t)
    const { flow } = newLaptop(t, server, 'laptop', { door: limited })
    await assert.rejects(flow.begin(EMAIL))
    server.clock.ms += 600_000
    await assert.rejects(flow.begin(EMAIL))
    server.clock.ms += 301_000
    assert.equal((await flow.read()).state, 'signed_out')
  })
})

for (const minutes of [-20, 20])
  it(`a clock that is ${minutes} minutes off does not prevent a sign-in`, async (t) => {
    const server = await newWorld(t)
    const clock = { ms: server.clock.ms + minutes * 60_000 }
    const { flow } = newLaptop(t, server, 'laptop', { now: () => clock.ms })
    assert.equal((await flow.begin(EMAIL)).state, 'code_sent')
    assert.equal((await flow.read()).state, 'code_sent')
    clock.ms += 899_000
    assert.equal((await flow.read()).state, 'code_sent')
    assert.equal(
      (await flow.code({ code: await server.code(EMAIL), reset: false })).state,
      'signed_in',
    )
  })

describe('an answer that is lost after the server executed the request', () => {
  const cases = [
    ['signIns', 'read', 'first'],
    ['enrolment', 'create', 'first'],
    ['enrolment', 'further', 'further'],
    ['enrolment', 'create', 'reset'],
  ] as const
  for (const [group, row, as] of cases)
    for (const code of ['backend_unavailable', 'backend_timeout'] as const)
      it(`${group}.${row} of a ${as} device, ${code}: repeated, and executed once`, async (t) => {
        const server = await newWorld(t)
        if (as !== 'first') await newLaptop(t, server, 'old').signIn()
        const before = server.devices().length
        const door = insteadAtDoor(group, row as never, losing(2, code) as never)
        const laptop = newLaptop(t, server, 'laptop', { door })
        const { state } = await laptop.signIn({ reset: as === 'reset' })
        assert.equal(state, as === 'further' ? 'awaiting_approval' : 'signed_in')
        assert.equal(server.devices().length, before + 1)
        const { account } = laptop.identity()
        assert.equal(server.logOf(account).seq, as === 'reset' ? 1 : 0)
      })

  it('always: reported after three attempts', async (t) => {
    const server = await newWorld(t)
    const door = insteadAtDoor('enrolment', 'create', losing(3))
    const laptop = newLaptop(t, server, 'laptop', { door })
    await rejects('backend_unavailable', laptop.signIn())
    assert.equal(
      (await laptop.flow.code({ code: await server.code(EMAIL), reset: false })).state,
      'signed_in',
    )
    assert.deepEqual([server.accounts().length, server.devices().length], [1, 1])
  })

  it('signIns.create: sends no second mail by itself', async (t) => {
    const server = await newWorld(t)
    const door = insteadAtDoor('signIns', 'create', losing(1))
    const laptop = newLaptop(t, server, 'laptop', { door })
    await rejects('backend_unavailable', laptop.flow.begin(EMAIL))
    assert.equal((await server.codes(EMAIL)).length, 1)
  })
})
