/** Tests machine accounts, which sign in with a key in place of a person. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { nameToSign } from '../../../src/device/identity/signed-name.ts'
import { added } from '../../world/approving.ts'
import { newWorld } from '../../world/world.ts'
import { EMAIL, newLaptop, written } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { away, insteadAtDoor, losing } from '../../world/interceptor.ts'

describe('a machine account', () => {
  it('signs in by its key, which is stored in the keychain alone', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    const { state, account_id, email } = await laptop.flow.machine({ key, reset: false })
    assert.deepEqual([state, account_id, email], ['signed_in', laptop.identity().account, null])
    assert.equal(laptop.identity().machine, key.machine)
    assert.equal(server.logOf(laptop.identity().account).seq, 0)
    assert(!written(laptop).includes(key.d), 'the key is kept')
    await laptop.flow.end({ last_device: true, forget: false })
    assert.equal(laptop.keychain.get('machine'), null)
  })

  it('signs the name in its key file, and not the host name if there is none', async (t) => {
    for (const name of ['billing', undefined]) {
      const server = await newWorld(t)
      const laptop = newLaptop(t, server)
      const key = { ...(await server.machine()), ...(name === undefined ? {} : { name }) }
      await laptop.flow.machine({ key, reset: false })
      assert.equal(nameToSign(laptop.state), name ?? null)
    }
  })

  it('signs the name in its key file after a reset, too', async (t) => {
    const server = await newWorld(t)
    const key = { ...(await server.machine()), name: 'billing' }
    await newLaptop(t, server, 'first').flow.machine({ key, reset: false })
    const anew = newLaptop(t, server, 'new')
    await anew.flow.machine({ key, reset: true })
    assert.equal(nameToSign(anew.state), 'billing')
  })

  it('renews a lost session without a user: the same device, another session', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    await laptop.flow.machine({ key, reset: false })
    const { account, device, session } = laptop.identity()
    const next = laptop.restart()
    const made = await next.flow.again()
    assert.notEqual(made.session_id, session)
    assert.equal(laptop.keychain.get('session'), made.refresh_token)
    assert.deepEqual(
      [laptop.identity().device, laptop.identity().session],
      [device, made.session_id],
    )
    assert.deepEqual([server.devices(account).length, server.logOf(account).seq], [1, 0])
    // As a restarted service does that is configured to sign in at every start.
    assert.equal((await next.flow.machine({ key, reset: false })).state, 'signed_in')
    assert.deepEqual([server.devices(account).length, server.logOf(account).seq], [1, 0])
  })

  it('that was revoked cannot sign in again', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    await laptop.flow.machine({ key, reset: false })
    const { device, kid, keys, keyLog } = laptop.identity()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log: await keyLog(), device, by: device, kid, seed, at: 1 })
    await laptop.deviceSession.account().keyLogs.append({ body: { entry } })
    await rejects('not_signed_in', laptop.flow.again(), { says: /was revoked/ })
  })

  it('that was revoked leaves with logout --forget', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    await laptop.flow.machine({ key, reset: false })
    await newLaptop(t, server, 'new').flow.machine({ key, reset: true })
    const isRevoked = (call: Call) =>
      rejects('not_signed_in', call, { says: /was revoked.*countersignd logout --forget/ })
    await isRevoked(laptop.flow.machine({ key, reset: false }))
    await rejects('invalid_state', laptop.flow.end({ last_device: false, forget: false }), {
      state: 'unknown_here',
      says: /--forget/,
    })
    await laptop.flow.end({ last_device: false, forget: true })
    assert.deepEqual(
      [laptop.deviceSession.identity(), laptop.keychain.get('machine')],
      [null, null],
    )
  })

  it('that was rejected before its approval does not return by itself', async (t) => {
    const server = await newWorld(t)
    const key = await server.machine()
    const first = newLaptop(t, server, 'first')
    await first.flow.machine({ key, reset: false })
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const { device } = second.identity()
    await first.account.devices.delete({ id: device })
    const isThere = () => server.devices().some(({ id }) => id === device)
    await rejects('not_signed_in', second.flow.again(), { says: /was rejected before/ })
    assert(!isThere())
    const asked = await second.flow.machine({ key, reset: false })
    assert.equal(asked.state, 'awaiting_approval', 'when somebody says so, it does')
    assert(isThere())
  })

  it('a reset while the server is unreachable keeps a waiting device', async (t) => {
    const server = await newWorld(t)
    const key = await server.machine()
    const first = newLaptop(t, server, 'first')
    await first.flow.machine({ key, reset: false })
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const keys = second.keychain.get('device')
    const door = insteadAtDoor('signIns', 'read', () => away)
    await rejects(
      'backend_unavailable',
      second.restart({ door }).flow.machine({ key, reset: true }),
    )
    assert.equal((await second.flow.read()).state, 'awaiting_approval')
    assert.equal(second.keychain.get('device'), keys)
    assert.equal(server.devices(first.identity().account).length, 2)
  })

  it('a reset of an approved, unconfirmed device: it is revoked, and signs in as a new one', async (t) => {
    const server = await newWorld(t)
    const key = await server.machine()
    const first = newLaptop(t, server, 'first')
    await first.flow.machine({ key, reset: false })
    const second = newLaptop(t, server, 'second')
    const { device_id } = await second.flow.machine({ key, reset: false })
    await added(first, second.flow)
    await first.flow.end({ last_device: false, forget: false })
    const { state } = await second.flow.machine({ key, reset: true })
    assert.equal(state, 'signed_in')
    assert.deepEqual(
      server.logOf(second.identity().account).active.map(({ id }) => id),
      [second.identity().device],
    )
    assert.notEqual(second.identity().device, device_id)
  })

  it('a second device of one account: the log warns, and a reset from there signs it in', async (t) => {
    const server = await newWorld(t)
    const key = await server.machine()
    const lost = newLaptop(t, server, 'lost')
    await lost.flow.machine({ key, reset: false })
    assert(!lost.logged.some((line) => (line as string[])[0] === 'warn'))
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const [level, text, { machine }] = second.logged.at(-1) as [string, string, { machine: string }]
    assert.deepEqual([level, machine], ['warn', key.machine])
    assert.match(text, /already has another device.*each daemon.*countersignd reset --machine/)
    assert.equal((await second.flow.machine({ key, reset: true })).state, 'signed_in')
    assert.deepEqual(
      server.logOf(second.identity().account).active.map(({ id }) => id),
      [second.identity().device],
    )
    assert.equal(second.keychain.get('machine'), JSON.stringify(key))
  })

  it('a device that signs out during a renewal of its session stays signed out', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    await laptop.flow.machine({ key, reset: false })
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const door = insteadAtDoor('enrolment', 'create', (honest) => async (input) => {
      const made = await honest(input)
      ask()
      await answered
      return made
    })
    const next = laptop.restart({ door })
    const session = next.flow.again()
    await asked
    await next.flow.end({ last_device: true, forget: false })
    answer()
    await rejects('not_signed_in', session, { says: /signed out meanwhile/ })
    for (const name of ['session', 'machine', 'device'])
      assert.equal(laptop.keychain.get(name), null)
  })

  for (const row of ['read', 'create'] as const)
    it(`a lost answer (${row}): an assertion is valid once, so the retry uses another`, async (t) => {
      const server = await newWorld(t)
      const lossy = losing(2, 'backend_timeout')
      const door =
        row === 'read'
          ? insteadAtDoor('signIns', row, lossy)
          : insteadAtDoor('enrolment', row, lossy)
      const laptop = newLaptop(t, server, 'rack', { door })
      const { state } = await laptop.flow.machine({ key: await server.machine(), reset: false })
      const { account } = laptop.identity()
      assert.deepEqual([state, server.devices(account).length], ['signed_in', 1])
    })

  it('a person’s device has no key to sign in again by', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await rejects('not_signed_in', laptop.flow.again(), { says: /login/ })
  })

  it('a key for another server, or with different halves, is rejected before use', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    const cases = [
      [
        { ...key, token_endpoint: 'https://evil.example/oauth/token' },
        'invalid_state',
        /evil\.example.*countersign\.test/,
      ],
      [{ ...key, token_endpoint: 'nowhere' }, 'invalid_state', /none named/],
      [{ ...key, x: (await server.machine()).x }, 'validation_failed', /public and private parts/],
      [{ ...key, d: 'AA' }, 'validation_failed', /public and private parts/],
    ] as const
    for (const [wrong, code, says] of cases) {
      const error = await rejects(code, laptop.flow.machine({ key: wrong, reset: false }), { says })
      assert(!`${error.message}${String(error.cause)}`.includes(key.d))
    }
    assert.equal(laptop.keychain.get('machine'), null)
  })

  it('a key that the server does not know', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await (await newWorld(t)).machine()
    await rejects('not_signed_in', laptop.flow.machine({ key, reset: false }), {
      says: /rejects this machine account/,
    })
  })

  it('and a person at once: one after the other, and the stored keys are those of the one that signed in', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    const key = await server.machine()
    await laptop.flow.begin(EMAIL)
    const both = [
      laptop.flow.machine({ key, reset: false }),
      laptop.flow.code({ code: await server.code(EMAIL), reset: false }),
    ]
    const [machine, person] = await Promise.allSettled(both)
    assert.deepEqual([machine?.status, person?.status], ['fulfilled', 'rejected'])
    const { account } = laptop.identity()
    const [, machineOnly, ...others] = server.accounts()
    assert.deepEqual([machineOnly, others], [account, []], 'beside the owner of the machine')
    const { sign } = await laptop.identity().keys()
    assert.equal(server.logOf(account).active[0]?.keys.sign.x, sign.jwk.x)
  })
})
