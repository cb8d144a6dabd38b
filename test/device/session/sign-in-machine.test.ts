/** Tests machine accounts, which sign in with a key in place of a person. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { UnauthenticatedClient } from '../../../src/api/port.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { revokeDevice } from '../../../src/crypto/logs/key-log-entries.ts'
import { nameToSign } from '../../../src/device/identity/signed-name.ts'
import { added } from '../approving.ts'
import { ORIGIN, testServer } from './sign-in-server.ts'
import { EMAIL, away, losing, newLaptop, refusedWith, written } from './signing-in.ts'

describe('a machine account', () => {
  function machineOf(server: ReturnType<typeof testServer>, endpoint = `${ORIGIN}/oauth/token`) {
    const { sign } = newDeviceKeys()
    const machine = server.machine(sign.jwk)
    const d = Buffer.from(sign.secret).toString('base64url')
    return {
      kty: 'OKP',
      crv: 'Ed25519',
      x: sign.jwk.x,
      d,
      machine,
      token_endpoint: endpoint,
    } as const
  }

  it('signs in by its key, which is stored in the keychain alone', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
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
      const server = testServer()
      const laptop = newLaptop(t, server)
      const key = { ...machineOf(server), ...(name === undefined ? {} : { name }) }
      await laptop.flow.machine({ key, reset: false })
      assert.equal(nameToSign(laptop.state), name ?? null)
    }
  })

  it('signs the name in its key file after a reset, too', async (t) => {
    const server = testServer()
    const key = { ...machineOf(server), name: 'billing' }
    await newLaptop(t, server, 'first').flow.machine({ key, reset: false })
    const anew = newLaptop(t, server, 'new')
    await anew.flow.machine({ key, reset: true })
    assert.equal(nameToSign(anew.state), 'billing')
  })

  it('renews a lost session without a user: the same device, another session', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.machine({ key, reset: false })
    const { device, session } = laptop.identity()
    const next = laptop.restart()
    const made = await next.flow.again()
    assert.notEqual(made.session_id, session)
    assert.equal(laptop.keychain.get('session'), made.refresh_token)
    assert.deepEqual(
      [laptop.identity().device, laptop.identity().session],
      [device, made.session_id],
    )
    assert.deepEqual([server.devices.size, server.logOf(laptop.identity().account).seq], [1, 0])
    // As a restarted service does that is configured to sign in at every start.
    assert.equal((await next.flow.machine({ key, reset: false })).state, 'signed_in')
    assert.deepEqual([server.devices.size, server.logOf(laptop.identity().account).seq], [1, 0])
  })

  it('that was revoked cannot sign in again', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.machine({ key, reset: false })
    const { device, kid, keys, keyLog } = laptop.identity()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log: await keyLog(), device, by: device, kid, seed, at: 1 })
    await laptop.seat.account().keyLogs.append({ body: { entry } })
    await assert.rejects(laptop.flow.again(), refusedWith('not_signed_in', /was revoked/))
  })

  it('that was revoked leaves with logout --forget', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.machine({ key, reset: false })
    await newLaptop(t, server, 'new').flow.machine({ key, reset: true })
    const isRevoked = refusedWith('not_signed_in', /was revoked.*countersignd logout --forget/)
    await assert.rejects(laptop.flow.machine({ key, reset: false }), isRevoked)
    await assert.rejects(
      laptop.flow.end({ last_device: false, forget: false }),
      refusedWith('invalid_state', /--forget/, 'unknown_here'),
    )
    await laptop.flow.end({ last_device: false, forget: true })
    assert.deepEqual([laptop.seat.identity(), laptop.keychain.get('machine')], [null, null])
  })

  it('that was rejected before its approval does not return by itself', async (t) => {
    const server = testServer()
    const key = machineOf(server)
    await newLaptop(t, server, 'first').flow.machine({ key, reset: false })
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const { device } = second.identity()
    server.devices.delete(device)
    await assert.rejects(second.flow.again(), refusedWith('not_signed_in', /was rejected before/))
    assert(!server.devices.has(device))
    const asked = await second.flow.machine({ key, reset: false })
    assert.equal(asked.state, 'awaiting_approval', 'when somebody says so, it does')
    assert(server.devices.has(device))
  })

  it('a reset while the server is unreachable keeps a waiting device', async (t) => {
    const server = testServer()
    const key = machineOf(server)
    const first = newLaptop(t, server, 'first')
    await first.flow.machine({ key, reset: false })
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const keys = second.keychain.get('device')
    const { signIns } = server.door
    const door = {
      ...server.door,
      signIns: { ...signIns, read: away },
    } as unknown as UnauthenticatedClient
    await assert.rejects(
      second.restart({ door }).flow.machine({ key, reset: true }),
      refusedWith('backend_unavailable'),
    )
    assert.equal((await second.flow.read()).state, 'awaiting_approval')
    assert.equal(second.keychain.get('device'), keys)
    assert.equal(server.devices.size, 2)
  })

  it('a reset of an approved, unconfirmed device: it is revoked, and signs in as a new one', async (t) => {
    const server = testServer()
    const key = machineOf(server)
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
    const server = testServer()
    const key = machineOf(server)
    const lost = newLaptop(t, server, 'lost')
    await lost.flow.machine({ key, reset: false })
    assert(!lost.logged.some((line) => (line as string[])[0] === 'warn'))
    const second = newLaptop(t, server, 'second')
    await second.flow.machine({ key, reset: false })
    const [level, text, { machine }] = second.logged.at(-1) as [string, string, { machine: string }]
    assert.deepEqual([level, machine], ['warn', key.machine])
    assert.match(text, /already has a device.*each daemon.*countersignd reset --machine/)
    assert.equal((await second.flow.machine({ key, reset: true })).state, 'signed_in')
    assert.deepEqual(
      server.logOf(second.identity().account).active.map(({ id }) => id),
      [second.identity().device],
    )
    assert.equal(second.keychain.get('machine'), JSON.stringify(key))
  })

  it('a device that signs out during a renewal of its session stays signed out', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.machine({ key, reset: false })
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { enrolment } = server.door
    const create: typeof enrolment.create = async (input) => {
      const made = await enrolment.create(input)
      ask()
      await answered
      return made
    }
    const next = laptop.restart({ door: { ...server.door, enrolment: { ...enrolment, create } } })
    const session = next.flow.again()
    await asked
    await next.flow.end({ last_device: true, forget: false })
    answer()
    await assert.rejects(session, refusedWith('not_signed_in', /signed out meanwhile/))
    for (const name of ['session', 'machine', 'device'])
      assert.equal(laptop.keychain.get(name), null)
  })

  for (const row of ['read', 'create'] as const)
    it(`a lost answer (${row}): an assertion is valid once, so the retry uses another`, async (t) => {
      const server = testServer()
      const group = row === 'read' ? 'signIns' : 'enrolment'
      const door = losing(server.door, group, row, 2, 'backend_timeout')
      const laptop = newLaptop(t, server, 'rack', { door })
      const { state } = await laptop.flow.machine({ key: machineOf(server), reset: false })
      assert.deepEqual([state, server.devices.size], ['signed_in', 1])
    })

  it('a person’s device has no key to sign in again by', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await assert.rejects(laptop.flow.again(), refusedWith('not_signed_in', /login/))
  })

  it('a key for another server, or with different halves, is rejected before use', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    const cases = [
      [
        { ...key, token_endpoint: 'https://evil.example/oauth/token' },
        'invalid_state',
        /evil\.example.*countersign\.test/,
      ],
      [{ ...key, token_endpoint: 'nowhere' }, 'invalid_state', /none named/],
      [{ ...key, x: machineOf(server).x }, 'validation_failed', /public and private parts/],
      [{ ...key, d: 'AA' }, 'validation_failed', /public and private parts/],
    ] as const
    for (const [wrong, code, says] of cases)
      await assert.rejects(laptop.flow.machine({ key: wrong, reset: false }), (error: Error) => {
        assert(!`${error.message}${String(error.cause)}`.includes(key.d))
        return refusedWith(code, says)(error)
      })
    assert.equal(laptop.keychain.get('machine'), null)
  })

  it('a key that the server does not know', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = { ...machineOf(testServer()), token_endpoint: `${ORIGIN}/oauth/token` }
    await assert.rejects(
      laptop.flow.machine({ key, reset: false }),
      refusedWith('not_signed_in', /rejects this machine account/),
    )
  })

  it('and a person at once: one after the other, and the stored keys are those of the one that signed in', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.begin(EMAIL)
    const both = [
      laptop.flow.machine({ key, reset: false }),
      laptop.flow.code({ code: server.code(), reset: false }),
    ]
    const [machine, person] = await Promise.allSettled(both)
    assert.deepEqual([machine?.status, person?.status], ['fulfilled', 'rejected'])
    const { account } = laptop.identity()
    assert.deepEqual(server.accounts(), [account])
    const { sign } = await laptop.identity().keys()
    assert.equal(server.logOf(account).active[0]?.keys.sign.x, sign.jwk.x)
  })
})
