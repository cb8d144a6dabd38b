/**
 * Tests a device that dies while signing in or out, at each step in turn.
 * It continues at its next start.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { newWorld, type World } from '../../world/world.ts'
import { EMAIL, crashAt, crashing, newLaptop, type Laptop } from './signing-in.ts'
import { insteadAtDoor } from '../../world/interceptor.ts'

describe('a crash at any step', () => {
  /**
   * Signs in with a device that dies at call `at`, until it survives. Each time it restarts and
   * continues.
   */
  async function everyCrash(
    prepare: (laptop: Laptop) => Promise<void>,
    attempt: (laptop: Laptop, server: World) => Promise<unknown>,
    check: (laptop: Laptop, server: World, at: number) => Promise<void>,
    t: TestContext,
  ): Promise<number> {
    for (let at = 1; ; at++) {
      const server = await newWorld(t)
      const laptop = newLaptop(t, server)
      await prepare(laptop)
      const { arm, step, crashed } = crashAt(at)
      const { state, keychain } = laptop
      const dying = laptop.restart({
        door: (door) => crashing(door, step),
        keychain: crashing(keychain, step),
        state: {
          ...state,
          meta: crashing(state.meta, step),
          logs: crashing(state.logs, step),
          transaction: (action) => {
            const result = state.transaction(action)
            step()
            return result
          },
        },
        account: (account) => crashing(account, step),
      })
      arm()
      await attempt(dying, server).catch(() => undefined)
      if (!crashed()) return at - 1
      const next = laptop.restart()
      await check(next, server, at)
    }
  }

  it('of a first sign-in: the same account and device', async (t) => {
    let code = ''
    const steps = await everyCrash(
      async ({ flow }) => void (await flow.begin(EMAIL)),
      async ({ flow }, server) => flow.code({ code: await server.code(EMAIL), reset: false }),
      async ({ flow, identity }, server, at) => {
        code = await server.code(EMAIL)
        if ((await flow.read()).state !== 'signed_in') await flow.code({ code, reset: false })
        assert.equal(server.accounts().length, 1, `crash ${at}`)
        assert.equal(server.devices().length, 1, `crash ${at}`)
        const { account, device, keys, keyLog } = identity()
        const own = (await keyLog()).devices.get(device)
        assert.equal(own?.keys.sign.x, (await keys()).sign.jwk.x, `crash ${at}`)
        assert.deepEqual(server.accounts(), [account])
      },
      t,
    )
    assert(steps > 8, `${steps} steps`)
  })

  it('of a first sign-in, with a new code afterwards: the same account and device', async (t) => {
    await everyCrash(
      async ({ flow }) => void (await flow.begin(EMAIL)),
      async ({ flow }, server) => flow.code({ code: await server.code(EMAIL), reset: false }),
      async (laptop, server, at) => {
        if ((await laptop.flow.read()).state !== 'signed_in') await laptop.signIn()
        assert.deepEqual([server.accounts().length, server.devices().length], [1, 1], `crash ${at}`)
      },
      t,
    )
  })

  it('of a reset: one new generation', async (t) => {
    await everyCrash(
      async (laptop) => {
        await laptop.signIn()
        await laptop.deviceSession.leave()
        await laptop.flow.begin(EMAIL)
      },
      async ({ flow }, server) => flow.code({ code: await server.code(EMAIL), reset: true }),
      async ({ flow, identity }, server, at) => {
        if ((await flow.read()).state !== 'signed_in')
          await flow.code({ code: await server.code(EMAIL), reset: true })
        const log = server.logOf(identity().account)
        assert.deepEqual([log.seq, log.generation, log.active.length], [1, 2, 1], `crash ${at}`)
        assert.equal(log.active[0]?.id, identity().device)
      },
      t,
    )
  })

  it('of signing out: signed out in the end, revoked once', async (t) => {
    await everyCrash(
      async (laptop) => void (await laptop.signIn()),
      async ({ flow }) => flow.end({ last_device: true, forget: false }),
      async ({ flow, keychain }, server, at) => {
        if ((await flow.read()).state === 'signed_in')
          await flow.end({ last_device: true, forget: false })
        const [account = ''] = server.accounts()
        assert.deepEqual([server.logOf(account).seq, server.logOf(account).active], [1, []])
        for (const name of ['device', 'session', 'vault'])
          assert.equal(keychain.get(name), null, `crash ${at}: ${name}`)
      },
      t,
    )
  })

  it('and its device at the server was revoked meanwhile: signs in as a new one', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const full = {
      ...laptop.keychain,
      set: (name: string, secret: string) => {
        if (name === 'session') throw new Error('crash')
        laptop.keychain.set(name, secret)
      },
    }
    const dying = laptop.restart({ keychain: full })
    await assert.rejects(dying.flow.code({ code: await server.code(EMAIL), reset: false }), /crash/)
    const [spent] = server.devices()
    await newLaptop(t, server, 'other').signIn({ reset: true })
    const next = laptop.restart()
    assert.equal((await next.signIn()).state, 'awaiting_approval')
    assert.notEqual(next.identity().device, spent?.id)
  })

  it('and the server does not report its account yet: presents the same entry again', async (t) => {
    const server = await newWorld(t)
    const laptop = newLaptop(t, server)
    await laptop.flow.begin(EMAIL)
    const { step, arm } = crashAt(1)
    arm()
    const dying = laptop.restart({
      door: (door) => ({ ...door, enrolment: crashing(door.enrolment, step) }),
    })
    await assert.rejects(dying.flow.code({ code: await server.code(EMAIL), reset: false }), /crash/)
    const [account] = server.accounts()
    const behind = insteadAtDoor('signIns', 'read', (honest) => async (input) => {
      await honest(input)
      return { account_id: null, email: EMAIL, key_log: [], key_log_seq: null }
    })
    const next = laptop.restart({ door: behind })
    const { account_id } = await next.flow.code({ code: await server.code(EMAIL), reset: false })
    assert.equal(account_id, account)
    assert.deepEqual(server.accounts(), [account])
  })
})
