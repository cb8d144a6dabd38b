/**
 * Tests a dishonest account server that names another account after the device showed its keys.
 * Keys are for one account, so the device makes new ones.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { LoggedKeys } from '../../../src/crypto/device-public-keys.ts'
import { publicKeys } from '../../../src/crypto/device-keys.ts'
import { ID_PREFIX, newId } from '../../../src/crypto/encoding/id.ts'
import { firstOf, newDeviceKeys } from '../../crypto/keys.ts'
import { T0 } from '../bench.ts'
import { newWorld } from '../../world/world.ts'
import { type Laptop, EMAIL, newLaptop } from '../session/signing-in.ts'
import { rejects } from '../../rejects.ts'
import { away, both, insteadAtDoor } from '../../world/interceptor.ts'

interface Shown {
  readonly account: string
  readonly device: string
  readonly keys: LoggedKeys
}

/** Returns an account with one device, as a sign-in code opens it. */
function anAccount() {
  const { account, entry } = firstOf(newId(ID_PREFIX.device, T0), newDeviceKeys())
  return { account_id: account, email: EMAIL, key_log: [entry] }
}

const noAccount = { account_id: null, email: EMAIL, key_log: [] }

/**
 * Returns a server that names the accounts of a script, and answers or fails as the script
 * requires.
 */
async function scripted(t: TestContext) {
  const server = await newWorld(t)
  const script = { names: anAccount() as typeof noAccount | ReturnType<typeof anAccount> }
  const shown: Shown[] = []
  let isAway = false

  function enrol({ account, device, keys }: Shown, approved: boolean) {
    shown.push({ account, device, keys })
    if (isAway) return away()
    const session = newId('ses_', T0)
    return {
      account_id: account,
      device_id: device,
      approved,
      receipt_key: publicKeys(newDeviceKeys()).sign,
      session: {
        session_id: session,
        refresh_token: `refresh ${session}`,
        access_token: 'access',
        access_expires_at: new Date(T0).toISOString(),
      },
    }
  }
  const door = both(
    insteadAtDoor('signIns', 'read', () => async () => ({ ...script.names, key_log_seq: null })),
    insteadAtDoor(
      'enrolment',
      'further',
      () =>
        async ({ body }) =>
          enrol({ ...body, account: script.names.account_id ?? '' }, false),
    ),
    insteadAtDoor('enrolment', 'create', () => async ({ body: { entry } }) => {
      const payload = JSON.parse(Buffer.from(entry.split('.')[1] ?? '', 'base64url').toString())
      return enrol(payload as Shown, true)
    }),
  )
  return {
    server,
    script,
    door,
    /** Returns the keys that the server was shown last. */
    last: () => shown.at(-1) ?? assert.fail('nothing was shown'),
    /** The server accepts the sign-in and does not answer. */
    outage: async (laptop: Laptop, reset = false) => {
      isAway = true
      await rejects('backend_unavailable', laptop.signIn({ reset }))
      isAway = false
    },
  }
}

const secretsOf = ({ device, keys }: Shown) => [device, keys.sign.x, keys.seal, keys.auth.x]

/** Checks that the second keys are of another device: no id and no key of the first. */
function sharesNothing(first: Shown, second: Shown) {
  assert.notEqual(second.account, first.account)
  const known = new Set(secretsOf(first))
  assert.deepEqual(
    secretsOf(second).filter((one) => known.has(one)),
    [],
  )
}

describe('an account server that names another account after it received the keys', () => {
  const another: [what: string, before: () => typeof noAccount | null, reset: boolean][] = [
    ['first as a further device of an account', () => null, false],
    ['first as the first device of an account of its own', () => noAccount, false],
    ['first by a reset', () => null, true],
  ]
  const between: [what: string, then: (laptop: Laptop) => Promise<Laptop> | Laptop][] = [
    ['on the next attempt', (laptop) => laptop],
    ['after a restart', (laptop) => laptop.restart()],
    [
      'after the sign-in was given up',
      async (laptop) => {
        await laptop.flow.begin(EMAIL)
        await laptop.flow.end({ last_device: false, forget: false })
        return laptop
      },
    ],
    [
      'after the draft was signed out',
      async (laptop) => {
        await laptop.flow.end({ last_device: false, forget: true })
        return laptop
      },
    ],
  ]
  for (const [how, names, reset] of another)
    for (const [when, then] of between)
      it(`${how}, then another account ${when}: the device presents other keys and another id`, async (t: TestContext) => {
        const { server, script, door, last, outage } = await scripted(t)
        script.names = names() ?? script.names
        const laptop = newLaptop(t, server, 'laptop', { door })
        await outage(laptop, reset)
        const first = last()
        script.names = anAccount()
        await (await then(laptop)).signIn()
        sharesNothing(first, last())
      })

  it('first as a further device, then without an account: the device presents other keys', async (t) => {
    const { server, script, door, last, outage } = await scripted(t)
    const laptop = newLaptop(t, server, 'laptop', { door })
    await outage(laptop)
    const first = last()
    script.names = noAccount
    assert.equal((await laptop.signIn()).state, 'signed_in')
    sharesNothing(first, last())
  })

  it('a return to the first account: the device presents other keys again', async (t) => {
    const { server, script, door, last, outage } = await scripted(t)
    const { names } = script
    const laptop = newLaptop(t, server, 'laptop', { door })
    await outage(laptop)
    const first = last()
    script.names = anAccount()
    await outage(laptop)
    script.names = names
    await laptop.signIn()
    assert.equal(last().account, first.account)
    assert.deepEqual(
      secretsOf(last()).filter((one) => secretsOf(first).includes(one)),
      [],
    )
  })

  it('the same account again: the device presents the same keys, as the server may have enrolled it', async (t) => {
    const { server, door, last, outage } = await scripted(t)
    const laptop = newLaptop(t, server, 'laptop', { door })
    await outage(laptop)
    const first = last()
    await laptop.restart().signIn()
    assert.deepEqual(last(), first)
  })

  it('another account when a waiting device renews its session: rejected; a new sign-in presents other keys', async (t) => {
    const { server, script, door, last } = await scripted(t)
    const laptop = newLaptop(t, server, 'laptop', { door })
    await laptop.signIn()
    const first = last()
    script.names = anAccount()
    const lying = both(
      door,
      insteadAtDoor('enrolment', 'further', (scripted) => async (input) => ({
        ...(await scripted(input)),
        account_id: script.names.account_id ?? '',
      })),
    )
    const deceived = laptop.restart({ door: lying })
    await rejects('backend_error', deceived.signIn(), { says: /may be dishonest/ })
    await laptop.flow.end({ last_device: false, forget: true })
    await laptop.signIn()
    sharesNothing(first, last())
  })
})
