/** Tests a person’s sign-in on one device: codes, resets, and refusals. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UnauthenticatedClient } from '../../../src/api/port.ts'
import { type TestServer, testServer } from './sign-in-server.ts'
import { EMAIL, type Laptop, away, losing, newLaptop, refusedWith, written } from './signing-in.ts'

describe('a person’s first device', () => {
  it('requests a code, signs in, and is still signed in after a restart', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const out = {
      state: 'signed_out',
      email: null,
      account_id: null,
      device_id: null,
      device_words: null,
    }
    assert.deepEqual(await laptop.flow.read(), out)
    assert.deepEqual(await laptop.flow.begin(EMAIL), { ...out, state: 'code_sent', email: EMAIL })
    assert.equal((await laptop.restart().flow.read()).state, 'code_sent')
    const code = server.code()
    const signedIn = await laptop.flow.code({ code, reset: false })
    const [account] = server.accounts()
    assert.deepEqual(signedIn, {
      state: 'signed_in',
      email: EMAIL,
      account_id: account,
      device_id: laptop.identity().device,
      device_words: null,
    })
    assert.deepEqual(await laptop.restart().flow.read(), signedIn)
    const { approved, machine, server: origin, keyLog } = laptop.identity()
    assert.deepEqual([approved, machine, origin], [true, null, server.origin])
    assert.deepEqual((await keyLog()).entries, server.logs.get(account as string))
    assert(!written(laptop).includes(code), 'the code is kept')
  })

  it('an expired code is discarded; the next one counts', async (t) => {
    const server = testServer()
    const { flow } = newLaptop(t, server)
    await flow.begin(EMAIL)
    server.clock.ms += 900_001
    assert.equal((await flow.read()).state, 'signed_out')
  })

  it('a wrong code: rejected without quoting it, and nothing changes; the right one then works', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    await assert.rejects(laptop.flow.code({ code: 'secret', reset: false }), (error: Error) => {
      assert(!`${error.message} ${String(error.cause)}`.includes('secret'))
      return refusedWith('not_signed_in', /wrong, used or expired/)(error)
    })
    assert.equal((await laptop.flow.read()).state, 'code_sent')
    assert.equal((await laptop.flow.code({ code: server.code(), reset: false })).state, 'signed_in')
  })

  it('a code that another device used is rejected', async (t) => {
    const server = testServer()
    await newLaptop(t, server).signIn()
    const other = newLaptop(t, server)
    await assert.rejects(
      other.flow.code({ code: server.code(), reset: false }),
      refusedWith('not_signed_in', /used/),
    )
  })

  it('a signed-in device has to sign out first', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    for (const again of [
      () => laptop.flow.begin('bob@example.org'),
      () => laptop.flow.code({ code: 'x', reset: true }),
    ])
      await assert.rejects(again, refusedWith('invalid_state', /countersignd logout/, 'signed_in'))
  })

  it('two concurrent steps run one after the other: one account, one device', async (t) => {
    const server = testServer()
    const { flow } = newLaptop(t, server)
    await flow.begin(EMAIL)
    const code = server.code()
    const both = [flow.code({ code, reset: false }), flow.code({ code, reset: false })]
    const [one, two] = await Promise.allSettled(both)
    assert.deepEqual([one?.status, two?.status], ['fulfilled', 'rejected'])
    assert.equal(server.devices.size, 1)
  })

  it('another mailbox, while an earlier answer is missing: rejected, the keys stay, and the sign-in can be finished or given up', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const first = server.code()
    const door = losing(server.door, 'enrolment', 'create', 3, 'backend_unavailable')
    const dead = laptop.restart({ door })
    await assert.rejects(dead.flow.code({ code: first, reset: false }))
    const [enrolled] = server.devices.keys()
    const keys = laptop.keychain.get('device')
    await server.door.signIns.create({ body: { email: 'bob@example.org' } })
    const other = server.code()
    const unfinished = refusedWith(
      'invalid_state',
      /ada@example\.org.*login --email ada@example\.org.*countersignd logout --forget/,
      'unfinished',
    )
    await assert.rejects(laptop.flow.begin('bob@example.org'), unfinished)
    assert.equal(server.code(), other, 'no mail in vain')
    await assert.rejects(laptop.flow.code({ code: other, reset: false }), unfinished)
    assert.equal(laptop.keychain.get('device'), keys)

    const finished = await laptop.restart().signIn()
    assert.deepEqual([finished.device_id, finished.email], [enrolled, EMAIL])
  })

  it('an unfinished sign-in that is given up leaves no keys, and another mailbox gets its own', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const dead = laptop.restart({
      door: {
        ...server.door,
        enrolment: { create: away, further: away },
      } as unknown as UnauthenticatedClient,
    })
    await assert.rejects(dead.flow.code({ code: server.code(), reset: false }))
    const keys = laptop.keychain.get('device')
    const { flow } = laptop.restart()
    await flow.end({ last_device: false, forget: false })
    assert.equal(
      laptop.keychain.get('device'),
      keys,
      'no code is waited for any more, and that is all',
    )
    await assert.rejects(
      flow.end({ last_device: false, forget: false }),
      refusedWith('not_signed_in', /No account/),
    )
    await flow.end({ last_device: false, forget: true })
    assert.equal(laptop.keychain.get('device'), null)
    const { email } = await laptop.signIn({ email: 'bob@example.org' })
    assert.equal(email, 'bob@example.org')
    assert.notEqual(laptop.keychain.get('device'), keys)
  })

  const mailed: [what: string, then: (laptop: Laptop, server: TestServer) => Promise<unknown>][] = [
    ['after a code for another mailbox was requested', ({ flow }) => flow.begin('bob@example.org')],
    [
      'after this device stopped waiting for it',
      async (_, { clock }) => void (clock.ms += 900_001),
    ],
  ]
  for (const [what, then] of mailed)
    it(`a code that is typed ${what} signs in the account that it was mailed to`, async (t) => {
      const server = testServer()
      const laptop = newLaptop(t, server)
      await laptop.flow.begin(EMAIL)
      const code = server.code()
      await then(laptop, server)
      assert.equal((await laptop.flow.code({ code, reset: false })).email, EMAIL)
      assert.equal(laptop.identity().email, EMAIL)
    })

  for (const wrong of ['account_id', 'device_id'] as const)
    it(`an enrolment with another ${wrong} than requested is rejected`, async (t) => {
      const server = testServer()
      const other = newLaptop(t, server)
      await other.signIn({ email: 'bob@example.org' })
      const { account, device } = other.identity()
      const lie = { account_id: account, device_id: device }[wrong]
      const door = {
        ...server.door,
        enrolment: {
          ...server.door.enrolment,
          create: async (input: Parameters<UnauthenticatedClient['enrolment']['create']>[0]) => ({
            ...(await server.door.enrolment.create(input)),
            [wrong]: lie,
          }),
        },
      }
      const laptop = newLaptop(t, server, 'laptop', { door })
      await assert.rejects(laptop.signIn(), refusedWith('backend_error', /may be dishonest/))
      assert.equal(laptop.seat.identity(), null)
    })
})

describe('reset', () => {
  it('with remaining devices: they are revoked, and this one is alone', async (t) => {
    const server = testServer()
    const lost = newLaptop(t, server, 'lost')
    await lost.signIn()
    const { account } = lost.identity()
    const laptop = newLaptop(t, server)
    assert.equal((await laptop.signIn({ reset: true })).state, 'signed_in')
    const log = server.logOf(account)
    assert.deepEqual(
      log.active.map(({ id }) => id),
      [laptop.identity().device],
    )
    assert.equal(log.generation, 2)
    assert.deepEqual((await laptop.identity().keyLog()).entries, log.entries)
    await assert.rejects(
      lost.seat.account().keyLogs.read({ account }),
      refusedWith('not_signed_in', /./),
    )
  })

  it('an account that lost all its devices is not opened without reset', async (t) => {
    const server = testServer()
    const lost = newLaptop(t, server, 'lost')
    await lost.signIn()
    await lost.flow.end({ last_device: true, forget: false })
    const laptop = newLaptop(t, server)
    await assert.rejects(
      laptop.signIn(),
      refusedWith('invalid_state', /countersignd reset/, 'all_devices_lost'),
    )
    assert.equal((await laptop.flow.read()).state, 'code_sent')
    const signedIn = await laptop.flow.code({ code: server.code(), reset: true })
    assert.equal(signedIn.state, 'signed_in')
  })

  it('an account without a device has nothing to reset', async (t) => {
    const server = testServer()
    await assert.rejects(
      newLaptop(t, server).signIn({ reset: true }),
      refusedWith('invalid_state', /nothing to reset/),
    )
    assert.deepEqual(server.accounts(), [])
  })

  it('a key log that breaks a rule is rejected, and nothing is signed', async (t) => {
    const server = testServer()
    const lost = newLaptop(t, server, 'lost')
    await lost.signIn()
    const { account } = lost.identity()
    const [entry = ''] = server.logs.get(account) ?? []
    server.logs.set(account, [entry, entry])
    const laptop = newLaptop(t, server)
    await assert.rejects(
      laptop.signIn({ reset: true }),
      refusedWith('backend_error', /invalid key log \(duplicate_entry\)/),
    )
    assert.equal(laptop.seat.identity(), null)
  })
})

describe('the embedded account', () => {
  it('has no sign-in and sign-out, and the error explains how to use a server', async (t) => {
    const server = testServer()
    const { flow } = newLaptop(t, server, 'laptop', { server: null })
    const key = {
      kty: 'OKP',
      crv: 'Ed25519',
      x: '',
      d: '',
      machine: 'mch_00000000000000000000000000',
      token_endpoint: '',
    } as const
    for (const step of [
      () => flow.begin(EMAIL),
      () => flow.code({ code: 'x', reset: false }),
      () => flow.machine({ key, reset: false }),
    ])
      await assert.rejects(step, refusedWith('invalid_state', /SVC_BACKEND_URL/, 'embedded'))
  })
})
