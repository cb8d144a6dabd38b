/** The commands of devices: errors name the remedy, and the help promises only what is true. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { run } from '../../src/cli/run.ts'
import { EXIT } from '../../src/errors.ts'
import { added, approved, shownBy } from '../world/approving.ts'
import { newWorld } from '../world/world.ts'
import { EMAIL, type Laptop, newLaptop } from '../device/session/signing-in.ts'
import { apiOf, call } from './calling.ts'
import { streams } from './terminal.ts'

const LOGIN = ['login', '--email', EMAIL] as const

/** Creates a signed-in device and others that await its approval. */
async function waiting(t: TestContext, ...names: string[]) {
  const server = await newWorld(t)
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const others = []
  for (const name of names) {
    const fresh = newLaptop(t, server, name)
    await fresh.signIn()
    others.push(fresh)
  }
  return { old, others: others as [Laptop, ...Laptop[]] }
}

describe('device approve', () => {
  it('on the waiting device: the error names the place to run it', async (t) => {
    const {
      others: [fresh],
    } = await waiting(t, 'laptop 2')
    const { code, out, err } = await call(apiOf(fresh), ['device approve'])
    assert.deepEqual([code, out], [EXIT.failed, ''])
    assert.match(err, /This device itself awaits approval.*on a device that is signed in/)
  })

  it('after another device changed the key log: both are approved', async (t) => {
    const { old, others } = await waiting(t, 'laptop 2', 'phone')
    const [fresh, phone] = others as [Laptop, Laptop]
    const early = await added(old, fresh.flow)
    await approved(old, phone.flow)
    assert.equal((await fresh.flow.approve(early)).state, 'signed_in')
    const listed = await call(apiOf(old), ['device list'])
    assert.equal(listed.out.match(/ active /g)?.length, 3)
  })

  it('the sixth attempt in a day: the error names the time to wait', async (t) => {
    const { old, others } = await waiting(t, 'laptop 2')
    for (let made = 0; made < 5; made++) await shownBy(old, others[0].flow)
    for (const [api, args] of [
      [apiOf(old), ['device approve']],
      [apiOf(others[0]), LOGIN],
    ] as const) {
      const { code, err } = await call(api, args, { person: () => assert.fail('asked') })
      assert.equal(code, EXIT.failed)
      assert.match(err, /tried 5 approvals in 24 hours.*Try again in 24 hours/)
    }
  })
})

describe('help', () => {
  const promises: [command: string, says: RegExp[]][] = [
    [
      'device revoke',
      [/thief may have the secrets/, /every connection immediately gets a new secret/],
    ],
    [
      'device approve',
      [
        /full access to your account/,
        /no secrets until the second four words have been typed on it/,
        /five attempts in 24 hours/,
      ],
    ],
    [
      'machine token',
      [/\(default: read\)/, /for one hour/, /Only the token goes to standard output/],
    ],
    ['machine create', [/run the same command again/]],
  ]
  for (const [command, says] of promises)
    it(command, async () => {
      const { result, io } = streams()
      assert.equal(await run([...command.split(' '), '--help'], { ...io, env: {} }), EXIT.ok)
      for (const one of says) assert.match(result.out.replaceAll('\n', ' '), one)
    })
})
