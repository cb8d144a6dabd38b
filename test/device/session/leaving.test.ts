/**
 * Tests signing out: a failure half way, and one between the two comparisons of words.
 * The cases also cover what the device sends before it leaves.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { changeFacts } from '../../../src/device/identity/identity.ts'
import type { SignInFlow } from '../../../src/device/session/sign-in-flow.ts'
import { newSignIn } from '../../../src/device/session/sign-in.ts'
import { AppError, type ErrorCode } from '../../../src/errors.ts'
import { stamp } from '../../../src/handlers/stamp.ts'
import { contextOf } from '../../world/requests.ts'
import { added } from '../../world/approving.ts'
import { BACKEND, NAMES, type Enrolled, enrolled, gate } from '../enrolled.ts'
import { newWorld } from '../../world/world.ts'
import { type Laptop, newLaptop } from './signing-in.ts'
import { type Call, rejects } from '../../rejects.ts'
import { away, instead } from '../../world/interceptor.ts'

const leave = ({ flow }: { flow: SignInFlow }, how = {}) =>
  flow.end({ last_device: false, forget: false, ...how })

describe('a keychain that fails half way through a sign-out', () => {
  for (const entry of ['vault', 'session', 'device'])
    it(`at "${entry}": no sign-in is possible before it is finished, and the next user keeps everything`, async (t) => {
      const server = await newWorld(t)
      const laptop = newLaptop(t, server)
      await laptop.signIn()
      let isLocked = true
      const keychain = {
        ...laptop.keychain,
        delete(name: string) {
          if (isLocked && name === entry) throw new AppError('keychain_locked', 'It is locked.')
          laptop.keychain.delete(name)
        },
      }
      const running = laptop.restart({ keychain })
      const locked = (call: Call) => rejects('keychain_locked', call)
      await locked(leave(running, { last_device: true }))
      for (const step of [
        () => running.flow.read(),
        () => running.flow.begin('bob@example.org'),
        () => running.flow.code({ code: 'x', reset: false }),
        () => leave(running),
      ])
        await locked(step)
      assert.equal(running.deviceSession.identity(), null)

      isLocked = false
      const bob = await running.signIn({ email: 'bob@example.org' })
      assert.equal(bob.state, 'signed_in')
      const keys = laptop.keychain.get('device')
      const next = laptop.restart()
      assert.deepEqual(await next.flow.read(), bob)
      assert.equal(laptop.keychain.get('device'), keys)
      const { account } = next.identity()
      assert.equal((await next.deviceSession.account().keyLogs.read({ account })).entries.length, 1)
    })

  it('a new identity stored during that is not used', async (t) => {
    const laptop = newLaptop(t, await newWorld(t))
    await laptop.signIn()
    const identity = laptop.identity()
    laptop.state.meta.set('leaving', true)
    assert.throws(() => laptop.deviceSession.take(identity), /sign-out is not finished/)
  })
})

describe('a device that gives up while it awaits approval', () => {
  /** Returns a signed-in device, and one that waits for it, approved or not. */
  async function waiting(t: TestContext, isApproved: boolean) {
    const server = await newWorld(t)
    const approver = newLaptop(t, server, 'desk')
    await approver.signIn()
    const fresh = newLaptop(t, server, 'laptop 2')
    await fresh.signIn()
    if (isApproved) await added(approver, fresh.flow)
    const { account } = approver.identity()
    const active = () => server.logOf(account).active.map(({ id }) => id)
    return { server, approver, fresh, active }
  }
  const isGone = async ({ flow, keychain }: Laptop) => {
    assert.equal((await flow.read()).state, 'signed_out')
    assert.equal(keychain.get('device'), null)
  }

  for (const isApproved of [false, true])
    it(`${isApproved ? 'between the two comparisons of words' : 'before the first comparison'}: leaves no device behind, and the other is the last one`, async (t) => {
      const { approver, fresh, active } = await waiting(t, isApproved)
      await leave(fresh)
      await isGone(fresh)
      assert.deepEqual(active(), [approver.identity().device])
      await rejects('invalid_state', leave(approver), { state: 'last_device', says: /last device/ })
    })

  it('and is the last in the log: needs a confirmation for that', async (t) => {
    const { approver, fresh, active } = await waiting(t, true)
    await leave(approver)
    assert.deepEqual(active(), [fresh.identity().device])
    await rejects('invalid_state', leave(fresh), { state: 'last_device', says: /last device/ })
    await leave(fresh, { last_device: true })
    assert.deepEqual(active(), [])
  })

  it('while the server is unreachable: stays, with its keys, unless it is signed out with forget', async (t) => {
    const { fresh } = await waiting(t, true)
    const offline = fresh.restart({ account: instead('keyLogs', 'read', () => away) })
    await rejects('backend_unavailable', leave(offline), { says: /Not signed out/ })
    assert.equal((await offline.flow.read()).state, 'awaiting_approval')
    assert.notEqual(fresh.keychain.get('device'), null)
    await leave(offline, { forget: true })
    await isGone(offline)
  })
})

describe('local changes', () => {
  /** Returns a device over the account server of this process, with a flow and unsent data. */
  async function working(t: TestContext, parts: (account: Account) => Partial<Account>) {
    const device = await enrolled(t)
    changeFacts(device.state, { server: BACKEND })
    const offline = device.reopen({
      stamps: { create: () => Promise.reject(new AppError('backend_unavailable', 'Away.')) },
    })
    const made = await stamp.create({ body: { content: 'x' } }, contextOf(offline))
    await offline.verifier.verify('matador carload recede', null)
    assert.deepEqual([made.receipt, device.state.verifications.unpushed(9).length], [null, 1])
    const here = device.reopen(parts(device.account))
    const logged: unknown[] = []
    const flow = newSignIn({
      state: here.state,
      keychain: here.store,
      deviceSession: here.deviceSession,
      door: here.server.door({ key: null }),
      server: BACKEND,
      now: () => here.clock.ms,
      log: (...line) => logged.push(line),
      names: NAMES,
    })
    return { device, here, flow, made, logged }
  }
  const arrived = async ({ account }: Enrolled) =>
    (await account.verificationLog.list({})).items.length

  const pulls: [what: string, parts: (account: Account) => Partial<Account>][] = [
    ['and nothing else fails', () => ({})],
    [
      'and a fetch fails',
      ({ guestCodes }) => ({
        guestCodes: {
          ...guestCodes,
          list: () => Promise.reject(new AppError('backend_error', 'Nonsense.')),
        },
      }),
    ],
  ]
  for (const [what, parts] of pulls)
    it(`reach the account before the device signs out: ${what}`, async (t) => {
      const receipts: string[] = []
      const at = await working(t, (account) => ({
        ...parts(account),
        stamps: {
          create: async (input) => {
            const answer = await account.stamps.create(input)
            receipts.push(input.body.stamp)
            return answer
          },
        },
      }))
      await leave(at, { last_device: true })
      assert.equal(await arrived(at.device), 1)
      assert.deepEqual(receipts, [at.made.stamp])
      assert.equal(at.here.deviceSession.identity(), null)
    })

  it('made after the last push of the running sync reach it too', async (t) => {
    const asked = gate()
    const answer = gate()
    let pushed = 0
    const at = await working(t, ({ verifications }) => ({
      verifications: {
        push: async (input) => {
          const accepted = await verifications.push(input)
          pushed += input.body.items.length
          return accepted
        },
      },
      stamps: {
        create: async () => {
          asked.resolve()
          await answer.promise
          throw new AppError('conflict', 'Taken.')
        },
      },
    }))
    const syncing = at.here.sync.run('timer')
    await asked.promise
    await at.here.verifier.verify('matador carload recede', null)
    const leaving = leave(at, { last_device: true })
    answer.resolve()
    await Promise.all([syncing, leaving])
    assert.equal(pushed, 2)
  })

  it('that are rejected: the device signs out, and the log names the number of lost ones', async (t) => {
    const refuse = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'No.'))
    const at = await working(t, () => ({
      verifications: { push: refuse('validation_failed') },
      stamps: { create: refuse('conflict') },
    }))
    await leave(at, { last_device: true })
    const logged = JSON.stringify(at.logged)
    assert.match(logged, /"warn",[^[]*did not accept[^[]*"verifications":1,"stamps":1/)
    assert.equal(at.here.deviceSession.identity(), null)
  })
})
