/**
 * Tests a device that dies at any step of renewing its sealing key, and continues at its next
 * start.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { copyWarning } from '../../src/device/identity/own-keys.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import type { DeviceUser } from '../world/world.ts'
import { connected, verifies, worldOf } from '../world/world.ts'
import { halvesOf, loggedOf } from './sealing.ts'

const DAY = 24 * 60

/** Calls that change nothing, so that dying after one equals dying before the next call. */
const READS = ['get', 'read', 'head', 'list']

/**
 * Wraps objects that die after call number `at` (from 1).
 * That call takes effect, and no later one runs.
 */
function deathAfter(at: number) {
  let calls: number | null = null
  let isDead = false
  function after<T>(result: T): T {
    if (calls !== null && ++calls >= at) {
      isDead = true
      throw new Error('killed')
    }
    return result
  }
  const dying = <T extends object>(of: T): T =>
    Object.fromEntries(
      Object.entries(of).map(([name, value]: [string, unknown]) => {
        if (typeof value === 'object' && value !== null) return [name, dying(value)]
        if (typeof value !== 'function') return [name, value]
        const call = (...args: unknown[]) => {
          if (isDead) throw new Error('killed')
          const result = (value as (...args: unknown[]) => unknown)(...args)
          if (READS.includes(name)) return result
          return result instanceof Promise ? result.then(after) : after(result)
        }
        return [name, call]
      }),
    ) as T
  const arm = () => {
    calls = 0
  }
  return { dying, arm, isDead: () => isDead }
}

/**
 * Returns the same device, which dies after a number of calls that change local or server state.
 */
function mortal(user: DeviceUser, at: number) {
  const { state, keychain } = user
  const { dying, arm, isDead } = deathAfter(at)
  const { meta, logs, sealKeys } = state
  const transaction = <Result>(action: () => Result) => state.transaction(action)
  const parts = dying({ meta, logs, sealKeys, transaction })
  const other = user.restart((account) => dying(account), {
    keychain: dying(keychain),
    state: { ...state, ...parts },
  })
  arm()
  return { user: other, isDead }
}

describe('a process killed at any step', () => {
  /**
   * Renews and dies at call 1, then 2 and so on, until it survives.
   * Each time the log must name a key that the device has. After the next start and sync, the
   * envelopes sealed meanwhile must open.
   */
  async function everyDeath(
    t: TestContext,
    renew: (user: DeviceUser) => Promise<unknown>,
    renewed: (times: number, at: number) => void,
  ): Promise<number> {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await ada.sync()
    for (let at = 1; ; at++) {
      world.later(90 * DAY)
      const before = (await loggedOf(ada)).renewals.length
      const { user, isDead } = mortal(ada, at)
      await renew(user).catch(() => undefined)
      const logged = await loggedOf(ada)
      assert(halvesOf(ada).includes(logged.seal), `killed after call ${at}`)
      if (!isDead()) return at - 1
      await rotateNow(bob.device(), bob.account(), id)
      const next = ada.restart((account) => account)
      await next.sync()
      const { seal, renewals } = await loggedOf(ada)
      assert.equal(halvesOf(ada).at(-1), seal, `killed after call ${at}`)
      assert.equal(copyWarning(ada.state), null, `killed after call ${at}`)
      renewed(renewals.length - before, at)
      world.later()
      assert(await verifies(next, bob, id), `killed after call ${at}`)
      // By then only the newest key is left.
      world.later(7 * DAY)
      await next.sync()
      assert.deepEqual(halvesOf(ada), [seal], `killed after call ${at}`)
      await bob.sync()
    }
  }

  it('of a renewal by a sync: renews once', async (t) => {
    const steps = await everyDeath(
      t,
      (user) => user.device().sync.run('timer'),
      (times, at) => assert.equal(times, 1, `killed after call ${at}`),
    )
    assert(steps >= 15, `${steps} steps`)
  })

  it('of a renewal on demand: renews once, or twice if the 90 days are over too', async (t) => {
    const steps = await everyDeath(
      t,
      (user) => renewNow(user.device(), user.account()),
      (times, at) => assert(times === 1 || times === 2, `killed after call ${at}: ${times}`),
    )
    assert(steps >= 6, `${steps} steps`)
  })
})
