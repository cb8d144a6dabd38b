/**
 * `login`, `reset` and `whoami` after a failure: an ended session, no codes left, an unreachable
 * server, a wrong clock.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { newWorld } from '../world/world.ts'
import { EMAIL, type Laptop, newLaptop } from '../device/session/signing-in.ts'
import type { Json } from '../e2e/caller.ts'
import { apiOf, call } from './calling.ts'
import type { Person } from './terminal.ts'
import { insteadAtDoor, refusing } from '../world/interceptor.ts'
import { PUBLIC_URL } from '../service/subject.ts'

/** No device approves this one while it waits. */
const timeIsOver = async () => {
  throw new AppError('conflict', 'The time is over.')
}

const LOGIN = ['login', '--email', EMAIL] as const

/** Types these lines in turn, then ends the input. */
const types = (...lines: (string | (() => Promise<string>))[]): Person => {
  const left = [...lines]
  return () => {
    const line = left.shift()
    return line === undefined ? null : typeof line === 'string' ? line : line()
  }
}

async function signedIn(t: TestContext) {
  const server = await newWorld(t)
  const laptop = newLaptop(t, server, 'desk')
  await laptop.signIn()
  return { server, laptop, api: apiOf(laptop) }
}

const endSession = ({ account }: Laptop) => account.currentSession.delete({})

describe('login of a device with an ended session', () => {
  it('at a terminal: reports it, and the code signs the same device in', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    const { device } = laptop.identity()
    await endSession(laptop)
    const { code, out, err } = await call(api, LOGIN, { person: types(() => server.code(EMAIL)) })
    assert.equal(code, EXIT.ok, err)
    assert.match(err, /no longer accepts the session of this device[^]*A code was sent/)
    assert.match(out, /^Signed in to acc_\w+ as ada@example\.org\.\n$/)
    assert.equal(laptop.identity().device, device)
    const again = await call(api, LOGIN)
    assert.deepEqual([again.code, again.err], [EXIT.ok, ''])
  })

  it('in a script: one mail, and the code in the next call', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    await endSession(laptop)
    const first = await call(api, LOGIN)
    assert.deepEqual([first.code, first.out], [EXIT.failed, ''])
    const sent = await server.code(EMAIL)
    const { code, err } = await call(api, LOGIN, { input: sent })
    assert.equal(code, EXIT.ok, err)
    assert.equal(await server.code(EMAIL), sent)
  })

  it('after a revocation: asks for logout --forget', async (t) => {
    const { server, api } = await signedIn(t)
    await newLaptop(t, server, 'other').signIn({ reset: true })
    await call(api, LOGIN)
    const { code, err } = await call(api, LOGIN, { input: await server.code(EMAIL) })
    assert.equal(code, EXIT.failed)
    assert.match(err, /was revoked.*countersignd logout --forget/)
  })

  it('after a rejection: reports it, and the code lets the device ask again', async (t) => {
    const { server, laptop } = await signedIn(t)
    const fresh = newLaptop(t, server, 'laptop 2')
    await fresh.signIn()
    const { device } = fresh.identity()
    await laptop.account.devices.delete({ id: device })
    const api = apiOf(fresh)
    const waits = { ...api, signIn: { ...api.signIn!, advanceApproval: timeIsOver } }
    const { code, err } = await call(waits, LOGIN, { person: types(() => server.code(EMAIL)) })
    assert.equal(code, EXIT.failed, 'it waits')
    assert.match(err, /approval was declined[^]*countersignd logout --forget[^]*awaits approval/)
    assert(server.devices().some(({ id }) => id === device))
  })

  it('with reset: rejected before a mail is sent', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    await endSession(laptop)
    const sent = await server.code(EMAIL)
    const { code, err } = await call(api, ['reset', '--email', EMAIL, '--yes'], { input: sent })
    assert.equal(code, EXIT.failed)
    assert.match(err, /"countersignd logout" first\. .* add --forget/)
    assert.equal(await server.code(EMAIL), sent)
  })
})

describe('codes', () => {
  /** An address for which another client requested all codes; its owner reads the mail. */
  async function limited(t: TestContext) {
    const server = await newWorld(t)
    await server.door.signIns.create({ body: { email: EMAIL } })
    const details = { state: 'code_sent' }
    const limit = refusing('rate_limited', 'Too many codes.', { details })
    const door = insteadAtDoor('signIns', 'create', () => limit)
    return { server, api: apiOf(newLaptop(t, server, 'desk', { door })) }
  }

  for (const command of ['login', 'reset'] as const)
    it(`${command} in a script, over the mail limit: reports it, and an earlier code works`, async (t) => {
      const { server, api } = await limited(t)
      if (command === 'reset') {
        await newLaptop(t, server, 'lost').signIn()
        await server.door.signIns.create({ body: { email: EMAIL } })
      }
      const args = command === 'reset' ? (['--yes'] as const) : ([] as const)
      const { code, err } = await call(api, [command, '--email', EMAIL, ...args], {
        input: await server.code(EMAIL),
      })
      assert.deepEqual([code, err.split('\n')[0]], [EXIT.ok, 'Too many codes.'])
    })

  for (const earlier of [null, 'bob@example.org'])
    it(`no mail can be sent, ${earlier ?? 'no address'} waits for a code: reported, and no code is requested`, async (t) => {
      const server = await newWorld(t)
      const laptop = newLaptop(t, server, 'desk')
      if (earlier !== null) await laptop.flow.begin(earlier)
      const door = insteadAtDoor('signIns', 'create', () => refusing('rate_limited', 'Later.'))
      const braked = apiOf(laptop.restart({ door }))
      const { code, err } = await call(braked, LOGIN, { person: types('x') })
      assert.notEqual(code, EXIT.ok)
      assert.deepEqual([err.split('Later.').length - 1, err.includes('Code from')], [1, false])
    })

  it('at a terminal, over the mail limit: asks for the code all the same, also after Enter', async (t) => {
    const { server, api } = await limited(t)
    const { code, err } = await call(api, LOGIN, { person: types('', () => server.code(EMAIL)) })
    assert.equal(code, EXIT.ok, err)
    assert.equal(err.split('Too many codes.').length - 1, 2)
    assert.equal(err.split('Code from the mail').length - 1, 2)
    assert(!err.includes('on its way'))
  })

  for (const command of ['login', 'reset'] as const)
    it(`${command} --new-code: sends another one`, async (t) => {
      const server = await newWorld(t)
      if (command === 'reset') await newLaptop(t, server, 'lost').signIn()
      const api = apiOf(newLaptop(t, server))
      const yes = command === 'reset' ? ['--yes'] : []
      await call(api, [command, '--email', EMAIL, ...yes])
      const sent = await server.code(EMAIL)
      const next = await call(api, [command, '--email', EMAIL, '--new-code', ...yes])
      assert.notEqual(await server.code(EMAIL), sent)
      assert.match(next.err, /A code was sent/)
      const { code, err } = await call(api, [command, '--email', EMAIL, ...yes], {
        input: await server.code(EMAIL),
      })
      assert.equal(code, EXIT.ok, err)
    })

  it('--new-code needs --email', async () => {
    const { err } = await call({}, ['login', '--machine', '--new-code'])
    assert.match(err, /Omit --new-code/)
  })

  for (const minutes of [-20, 20])
    it(`with a clock that is ${minutes} minutes off: asks for the code, and signs in`, async (t) => {
      const server = await newWorld(t)
      const now = () => server.clock.ms + minutes * 60_000
      const api = apiOf(newLaptop(t, server, 'desk', { now }))
      const { code, out, err } = await call(api, LOGIN, { person: types(() => server.code(EMAIL)) })
      assert.equal(code, EXIT.ok, err)
      assert.match(out, /^Signed in to/)
    })

  it('without an account at the end: reports it, and asks for no words', async (t) => {
    const { api } = await signedIn(t)
    const { read } = api.signIn as Api['signIn']
    const code = async () => ({ ...(await read({})), state: 'signed_out' as const })
    const begin = async () => ({ ...(await read({})), state: 'code_sent' as const })
    const out = async () => ({ ...(await read({})), state: 'signed_out' as const, email: null })
    const odd = { ...api, signIn: { ...(api.signIn as Api['signIn']), read: out, begin, code } }
    const result = await call(odd, LOGIN, { input: 'CODE\nsix words' })
    assert.deepEqual([result.code, result.out], [EXIT.failed, ''])
    assert.match(result.err, /Not signed in[^]*Run the same command again/)
  })
})

it('login --machine of a second device explains the consequences', async (t) => {
  const server = await newWorld(t)
  const key = await server.machine()
  const dir = mkdtempSync(join(tmpdir(), 'countersign-key-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'key')
  writeFileSync(file, JSON.stringify(key), { mode: 0o600 })
  const login = (api: Partial<Api>) => call(api, ['login', '--machine', '--key-file', file])
  const first = await login(apiOf(newLaptop(t, server, 'first')))
  assert.deepEqual([first.code, first.err], [EXIT.ok, ''])
  const api = apiOf(newLaptop(t, server, 'second'))
  const waits = { ...api, signIn: { ...api.signIn!, advanceApproval: timeIsOver } }
  const { code, err, out } = await login(waits)
  assert.deepEqual([code, out], [EXIT.failed, ''])
  assert.match(err, /already has a device[^]*countersignd reset --machine --key-file FILE/)
  assert.match(err, /awaits approval[^]*The time is over/)
})

describe('whoami without the account server', () => {
  for (const [name, error] of [
    ['away', new AppError('backend_unavailable', 'The account server cannot be reached.')],
    ['silent', new AppError('backend_timeout', 'The account server did not answer in time.')],
    ['with a rejected session', new AppError('not_signed_in', 'Run "countersignd login".')],
  ] as const)
    it(`${name}: prints cached data, and the reason why the rest is missing`, async (t) => {
      const { laptop, api } = await signedIn(t)
      const { account, device } = laptop.identity()
      const context = { ...api.context!, read: async () => Promise.reject(error) }
      const seen = await call({ ...api, context }, ['whoami'])
      assert.equal(seen.code, EXIT.failed)
      assert.equal(
        seen.out,
        `State    signed in\nServer   ${PUBLIC_URL}\nAccount  ${account}\nEmail    ${EMAIL}\nDevice   ${device}\n`,
      )
      assert(seen.err.includes(error.message))
      const json = await call({ ...api, context }, ['whoami', '--json'])
      const { sign_in, device: own, user } = JSON.parse(json.out) as Json
      assert.deepEqual(
        [json.code, sign_in.account_id, sign_in.device_id, own, user],
        [EXIT.failed, account, device, null, undefined],
      )
      assert(json.err.includes(error.message))
    })

  it('other errors are printed unchanged', async (t) => {
    const { api } = await signedIn(t)
    const context = {
      ...api.context!,
      read: async () => Promise.reject(new AppError('internal', 'Broken.')),
    }
    const { code, out, err } = await call({ ...api, context }, ['whoami'])
    assert.deepEqual([code, out, err], [EXIT.failed, '', 'Broken.\n'])
  })
})
