/** The commands of devices: what goes other than planned is said so that one knows what to do, and help promises no more than is so. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { run } from '../../src/cli/run.ts'
import { EXIT } from '../../src/errors.ts'
import { testServer } from '../device/sign-in-server.ts'
import { EMAIL, type Laptop, newLaptop } from '../device/signing-in.ts'
import { apiOf, call } from './calling.ts'
import { streams } from './terminal.ts'

const LOGIN = ['login', '--email', EMAIL] as const

/** A device that is signed in, and others that wait for it. */
async function waiting(t: TestContext, ...names: string[]) {
  const server = testServer()
  const old = newLaptop(t, server, 'desk')
  await old.signIn()
  const others = []
  for (const name of names) {
    const fresh = newLaptop(t, server, name)
    await fresh.signIn()
    others.push(fresh)
  }
  const approve = async (one: Laptop) => {
    const { device_words } = await one.flow.read()
    return (await old.approve(one.identity().device, device_words ?? '')).words
  }
  return { server, old, others: others as [Laptop, ...Laptop[]], approve }
}

describe('device approve', () => {
  it('on the waiting device itself: said where to run it', async (t) => {
    const {
      server,
      others: [fresh],
    } = await waiting(t, 'laptop 2')
    const { code, out, err } = await call(apiOf(fresh, server), ['device approve'])
    assert.deepEqual([code, out], [EXIT.failed, ''])
    assert.match(err, /This device awaits approval itself.*on one that is signed in/)
  })

  it('the log changed since its words were shown: shown anew, they are taken', async (t) => {
    const { server, others, approve } = await waiting(t, 'laptop 2', 'phone')
    const [fresh, phone] = others as [Laptop, Laptop]
    const early = await approve(fresh)
    await approve(phone)
    const refused = await call(apiOf(fresh, server), LOGIN, { input: early })
    assert.equal(refused.code, EXIT.failed)
    assert.match(refused.err, /changed the log since.*"countersignd device approve".*again/)
    const done = await call(apiOf(fresh, server), LOGIN, { input: await approve(fresh) })
    assert.equal(done.code, EXIT.ok, done.err)
  })
})

describe('somebody else changed the key log meanwhile', () => {
  it('device approve works on top of it, and shows the words of the log as it is', async (t) => {
    const { server, old, others, approve } = await waiting(t, 'laptop 2', 'phone', 'tablet')
    const [fresh, phone, tablet] = others as [Laptop, Laptop, Laptop]
    const confirmed = (one: Laptop, input: string) => call(apiOf(one, server), LOGIN, { input })
    assert.equal((await confirmed(fresh, await approve(fresh))).code, EXIT.ok)
    const { device_words: words } = await phone.flow.read()
    const shown = await fresh.approve(phone.identity().device, words ?? '')
    assert.equal((await confirmed(phone, shown.words)).code, EXIT.ok)

    const { device_words: input } = await tablet.flow.read()
    const made = await call(apiOf(old, server), ['device approve'], { input: input ?? '' })
    assert.equal(made.code, EXIT.ok, made.err)
    assert.equal((await confirmed(tablet, made.out)).code, EXIT.ok)
    const listed = await call(apiOf(old, server), ['device list'])
    assert.equal(listed.out.match(/ active /g)?.length, 4)
  })
})

describe('help', () => {
  const promises: [command: string, says: RegExp[]][] = [
    ['device revoke', [/keeps what it knew/, /every connection gets a new secret/]],
    ['device approve', [/nothing is sealed to it before connections are synced/]],
    [
      'machine token',
      [/read \(the default\)/, /for an hour/, /token alone goes to standard output/],
    ],
    ['machine create', [/the same command again finishes/, /where several have one name, its id/]],
  ]
  for (const [command, says] of promises)
    it(command, async () => {
      const { said, io } = streams()
      assert.equal(await run([...command.split(' '), '--help'], { ...io, env: {} }), EXIT.ok)
      for (const one of says) assert.match(said.out.replaceAll('\n', ' '), one)
    })
})
