/** Machine accounts: a key in the place of a person. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { newDeviceKeys } from '../../src/crypto/device-keys.ts'
import { revokeDevice } from '../../src/crypto/key-log.ts'
import { ORIGIN, testServer } from './sign-in-server.ts'
import { EMAIL, newLaptop, refusedWith, written } from './signing-in.ts'

describe('a machine account', () => {
  function machineOf(server: ReturnType<typeof testServer>, endpoint = `${ORIGIN}/oauth/token`) {
    const { sign } = newDeviceKeys()
    const account = server.machine(sign.jwk)
    const d = Buffer.from(sign.secret).toString('base64url')
    return {
      kty: 'OKP',
      crv: 'Ed25519',
      x: sign.jwk.x,
      d,
      account,
      token_endpoint: endpoint,
    } as const
  }

  it('signs in by its key, which stays in the keychain alone', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    const { state, account_id, email } = await laptop.flow.machine({ key, reset: false })
    assert.deepEqual([state, account_id, email], ['signed_in', key.account, null])
    assert.deepEqual([laptop.identity().machine, server.logOf(key.account).seq], [true, 0])
    assert(!written(laptop).includes(key.d), 'the key is kept')
    await laptop.flow.end({ last_device: true })
    assert.equal(laptop.keychain.get('machine'), null)
  })

  it('a lost session is made anew without anybody: the same device, another session', async (t) => {
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
    assert.deepEqual([server.devices.size, server.logOf(key.account).seq], [1, 0])
    // As a restarted service does that is told to sign in at every start.
    assert.equal((await next.flow.machine({ key, reset: false })).state, 'signed_in')
    assert.deepEqual([server.devices.size, server.logOf(key.account).seq], [1, 0])
  })

  it('revoked, it stays out', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    const key = machineOf(server)
    await laptop.flow.machine({ key, reset: false })
    const { device, kid, keys, keyLog } = laptop.identity()
    const { secret: seed } = (await keys()).sign
    const entry = revokeDevice({ log: await keyLog(), device, by: device, kid, seed, at: 1 })
    await laptop.seat.account().keyLogs.append({ body: { entry } })
    await assert.rejects(laptop.flow.again(), refusedWith('not_signed_in', /does not take/))
  })

  it('a person’s device has no key to sign in again by', async (t) => {
    const server = testServer()
    const laptop = newLaptop(t, server)
    await laptop.signIn()
    await assert.rejects(laptop.flow.again(), refusedWith('not_signed_in', /login/))
  })

  it('a key for another server, or whose halves differ, is not even tried', async (t) => {
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
      [{ ...key, x: machineOf(server).x }, 'validation_failed', /two halves/],
      [{ ...key, d: 'AA' }, 'validation_failed', /two halves/],
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
      refusedWith('not_signed_in', /does not take this machine account/),
    )
  })

  it('and a person at once: one after the other, and the keys are those of the one that came in', async (t) => {
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
    assert.deepEqual(server.accounts(), [key.account])
    const { sign } = await laptop.identity().keys()
    assert.equal(server.logOf(key.account).active[0]?.keys.sign.x, sign.jwk.x)
  })
})
