/** Tests a person’s sign-in on one device: codes, resets, and refusals. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newWorld, type World } from '../../world/world.ts'
import { EMAIL, type Laptop, newLaptop, written } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { away, insteadAtDoor, losing } from '../../world/interceptor.ts'

describe('a person’s first device', () => {
  it('requests a code, signs in, and is still signed in after a restart', async (t) => {
    const server = await newWorld(t)
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
    const code = await server.code(EMAIL)
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
    assert.deepEqual((await keyLog()).entries, server.entries(account as string))
    assert(!written(laptop).includes(code), 'the code is kept')
  })

  it('an expired code is discarded; the next one counts', async (t) => {
    const server = await newWorld(t)
    const { flow } = newLaptop(t, server)
    await flow.begin(EMAIL)
    server.clock.ms += 900_001
    assert.equal((await flow.read()).state, 'signed_out')
  })

  it('a wrong code: rejected without quoting it, and nothing changes; the right one then works', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const wrong = laptop.flow.code({ code: 'secret', reset: false })
    const error = await rejects('not_signed_in', wrong, { says: /wrong, used or expired/ })
    assert(!`${error.message} ${String(error.cause)}`.includes('secret'))
    assert.equal((await laptop.flow.read()).state, 'code_sent')
    assert.equal(
      (await laptop.flow.code({ code: await server.code(EMAIL), reset: false })).state,
      'signed_in',
    )
  })

  it('a code that another device used is rejected', async (t) => {
    const server = await newWorld(t)
    await newLaptop(t, server).signIn()
    const other = newLaptop(t, server)
    await rejects(
      'not_signed_in',
      other.flow.code({ code: await server.code(EMAIL), reset: false }),
      {
        says: /used/,
      },
    )
  })

  it('a signed-in device has to sign out first', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    for (const again of [
      () => laptop.flow.begin('bob@example.org'),
      () => laptop.flow.code({ code: 'x', reset: true }),
    ])
      await rejects('invalid_state', again, { state: 'signed_in', says: /countersignd logout/ })
  })

  it('two concurrent steps run one after the other: one account, one device', async (t) => {
    const server = await newWorld(t)
    const { flow } = newLaptop(t, server)
    await flow.begin(EMAIL)
    const code = await server.code(EMAIL)
    const both = [flow.code({ code, reset: false }), flow.code({ code, reset: false })]
    const [one, two] = await Promise.allSettled(both)
    assert.deepEqual([one?.status, two?.status], ['fulfilled', 'rejected'])
    assert.equal(server.devices().length, 1)
  })

  it('another mailbox, while an earlier answer is missing: rejected, the keys stay, and the sign-in can be finished or given up', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const first = await server.code(EMAIL)
    const door = insteadAtDoor('enrolment', 'create', losing(3))
    const dead = laptop.restart({ door })
    await assert.rejects(dead.flow.code({ code: first, reset: false }))
    const enrolled = server.devices()[0]?.id
    const keys = laptop.keychain.get('device')
    await server.door.signIns.create({ body: { email: 'bob@example.org' } })
    const other = await server.code('bob@example.org')
    const unfinished = (call: Call) =>
      rejects('invalid_state', call, {
        state: 'unfinished',
        says: /ada@example\.org.*login --email ada@example\.org.*countersignd logout --forget/,
      })
    await unfinished(laptop.flow.begin('bob@example.org'))
    assert.deepEqual(await server.codes('bob@example.org'), [other], 'no mail in vain')
    await unfinished(laptop.flow.code({ code: other, reset: false }))
    assert.equal(laptop.keychain.get('device'), keys)

    const finished = await laptop.restart().signIn()
    assert.deepEqual([finished.device_id, finished.email], [enrolled, EMAIL])
  })

  it('an unfinished sign-in that is given up leaves no keys, and another mailbox gets its own', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const dead = laptop.restart({ door: insteadAtDoor('enrolment', 'create', () => away) })
    await assert.rejects(dead.flow.code({ code: await server.code(EMAIL), reset: false }))
    const keys = laptop.keychain.get('device')
    const { flow } = laptop.restart()
    await flow.end({ last_device: false, forget: false })
    assert.equal(
      laptop.keychain.get('device'),
      keys,
      'no code is waited for any more, and that is all',
    )
    await rejects('not_signed_in', flow.end({ last_device: false, forget: false }), {
      says: /No account/,
    })
    await flow.end({ last_device: false, forget: true })
    assert.equal(laptop.keychain.get('device'), null)
    const { email } = await laptop.signIn({ email: 'bob@example.org' })
    assert.equal(email, 'bob@example.org')
    assert.notEqual(laptop.keychain.get('device'), keys)
  })

  const mailed: [what: string, then: (laptop: Laptop, own: World['clock']) => Promise<unknown>][] =
    [
      [
        'after a code for another mailbox was requested',
        ({ flow }) => flow.begin('bob@example.org'),
      ],
      ['after this device stopped waiting for it', async (_, own) => void (own.ms += 900_001)],
    ]
  for (const [what, then] of mailed)
    it(`a code that is typed ${what} signs in the account that it was mailed to`, async (t) => {
      const server = await newWorld(t)
      const own = { ...server.clock }
      const laptop = newLaptop(t, server, 'laptop', { now: () => own.ms })
      await laptop.flow.begin(EMAIL)
      const code = await server.code(EMAIL)
      await then(laptop, own)
      assert.equal((await laptop.flow.code({ code, reset: false })).email, EMAIL)
      assert.equal(laptop.identity().email, EMAIL)
    })

  for (const wrong of ['account_id', 'device_id'] as const)
    it(`an enrolment with another ${wrong} than requested is rejected`, async (t) => {
      const server = await newWorld(t)
      const other = newLaptop(t, server)
      await other.signIn({ email: 'bob@example.org' })
      const { account, device } = other.identity()
      const lie = { account_id: account, device_id: device }[wrong]
      const door = insteadAtDoor('enrolment', 'create', (honest) => async (input) => ({
        ...(await honest(input)),
        [wrong]: lie,
      }))
      const laptop = newLaptop(t, server, 'laptop', { door })
      await rejects('backend_error', laptop.signIn(), { says: /may be dishonest/ })
      assert.equal(laptop.deviceSession.identity(), null)
    })
})

describe('reset', () => {
  it('with remaining devices: they are revoked, and this one is alone', async (t) => {
    const server = await newWorld(t)
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
    await rejects('not_signed_in', lost.deviceSession.account().keyLogs.read({ account }))
  })

  it('an account that lost all its devices is not opened without reset', async (t) => {
    const server = await newWorld(t)
    const lost = newLaptop(t, server, 'lost')
    await lost.signIn()
    await lost.flow.end({ last_device: true, forget: false })
    const laptop = newLaptop(t, server)
    await rejects('invalid_state', laptop.signIn(), {
      state: 'all_devices_lost',
      says: /countersignd reset/,
    })
    assert.equal((await laptop.flow.read()).state, 'code_sent')
    const signedIn = await laptop.flow.code({ code: await server.code(EMAIL), reset: true })
    assert.equal(signedIn.state, 'signed_in')
  })

  it('an account without a device has nothing to reset', async (t) => {
    const server = await newWorld(t)
    await rejects('invalid_state', newLaptop(t, server).signIn({ reset: true }), {
      state: 'no_device_yet',
      says: /nothing to reset/,
    })
    assert.deepEqual(server.accounts(), [])
  })

  it('a key log that breaks a rule is rejected, and nothing is signed', async (t) => {
    const server = await newWorld(t)
    const lost = newLaptop(t, server, 'lost')
    await lost.signIn()
    const door = insteadAtDoor('signIns', 'read', (honest) => async (input) => {
      const { key_log, ...rest } = await honest(input)
      return { ...rest, key_log: [...key_log, ...key_log], key_log_seq: 1 }
    })
    const laptop = newLaptop(t, server, 'laptop', { door })
    await rejects('backend_error', laptop.signIn({ reset: true }), {
      says: /invalid key log \(duplicate_entry\)/,
    })
    assert.equal(laptop.deviceSession.identity(), null)
  })
})

describe('the embedded account', () => {
  it('has no sign-in and sign-out, and the error explains how to use a server', async (t) => {
    const server = await newWorld(t)
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
      await rejects('invalid_state', step, { state: 'embedded', says: /SVC_BACKEND_URL/ })
  })
})
