/** login, reset, logout, whoami and device: at a terminal and in a script, over real sign-in flows and a server of the test. */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import type { Json } from '../e2e/caller.ts'
import { testServer } from '../device/sign-in-server.ts'
import { EMAIL, newLaptop } from '../device/signing-in.ts'
import { apiOf, call } from './calling.ts'
import type { Person } from './terminal.ts'

const LOGIN = ['login', '--email', EMAIL] as const
const SIX = /^ {7}((?:[a-z]+ ){5}[a-z]+)$/m

/** Types these lines in turn, then ends the input; a line may depend on what was seen. */
const types = (...lines: (string | ((seen: string) => string | Promise<string>))[]): Person => {
  const left = [...lines]
  return async (seen) => {
    const line = left.shift()
    return line === undefined ? null : typeof line === 'string' ? line : line(seen)
  }
}

function desk(t: TestContext, server = testServer()) {
  const laptop = newLaptop(t, server, 'desk')
  return { server, laptop, api: apiOf(laptop, server) }
}

async function signedIn(t: TestContext) {
  const all = desk(t)
  await all.laptop.signIn()
  return all
}

describe('login of a first device', () => {
  it('at a terminal: a wrong code is asked for again, Enter has a new one sent', async (t) => {
    const { server, laptop, api } = desk(t)
    const person = types('WRONG', '', () => server.code())
    const { code, out, err } = await call(api, LOGIN, { person })
    assert.equal(code, EXIT.ok, err)
    assert.equal(out, `Signed in to ${laptop.identity().account} as ${EMAIL}.\n`)
    assert.equal(err.split('Code from the mail').length - 1, 3)
    assert.match(err, /wrong, used or expired[^]*A new code is on its way/)
    assert.equal(server.code(), 'CODE-1')
  })

  it('in a script: the code from standard input, nothing asked', async (t) => {
    const { server, api } = desk(t)
    const unfinished = await call(api, LOGIN)
    assert.deepEqual([unfinished.code, unfinished.out], [EXIT.failed, ''])
    assert.match(unfinished.err, /Run "countersignd login --email ada@example.org" again/)
    const { code, out, err } = await call(api, [...LOGIN, '--json'], { input: server.code() })
    assert.deepEqual([code, err], [EXIT.ok, ''])
    assert.equal((JSON.parse(out) as { state: string }).state, 'signed_in')
    assert.equal(server.code(), 'CODE-0', 'one mail')
  })

  it('in a script: a wrong code fails at once', async (t) => {
    const { api } = desk(t)
    const { code, out, err } = await call(api, LOGIN, { input: 'WRONG\nCODE-0\n' })
    assert.deepEqual([code, out], [EXIT.failed, ''])
    assert.match(err, /wrong, used or expired/)
    assert(!err.includes('WRONG'))
  })

  it('again, once signed in: nothing to do; for somebody else: refused', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    const again = await call(api, ['login', '--email', EMAIL.toUpperCase()])
    assert.deepEqual([again.code, again.err], [EXIT.ok, ''])
    assert.match(again.out, new RegExp(`^Signed in to ${laptop.identity().account}`))
    const other = await call(api, ['login', '--email', 'bob@example.org'])
    assert.equal(other.code, EXIT.failed)
    assert.match(other.err, /countersignd logout/)
    assert.equal(server.accounts().length, 1)
  })

  for (const [args, says] of [
    [['login'], /--email says whose account it is/],
    [['login', '--email', EMAIL, '--machine'], /leave --email out/],
    [['login', '--email', EMAIL, '--key-file', 'x'], /--key-file goes with --machine/],
    [['login', '--machine'], /--key-file names the machine account's key/],
    [['reset'], /--email says whose account it is/],
  ] as const)
    it(`${args.join(' ')}: a mistake, and nobody is asked`, async (t) => {
      const { api } = desk(t)
      const { err } = await call(api, args, { person: () => assert.fail('asked') })
      assert.match(err, says)
    })
})

describe('a further device', () => {
  it('at two terminals: each types what the other shows', async (t) => {
    const { server, laptop: old, api: oldApi } = await signedIn(t)
    const fresh = newLaptop(t, server, 'laptop 2')
    const api = apiOf(fresh, server)
    let approving = ''
    const person = types(
      () => server.code(),
      'matador carload recede matador carload recede',
      async (seen) => {
        const [, words = ''] = SIX.exec(seen) ?? []
        const approved = await call(oldApi, ['device approve'], {
          person: types(`${words}x`, words),
        })
        assert.equal(approved.code, EXIT.ok, approved.err)
        assert.match(approved.err, /is not on the word list[^]*Added "laptop 2"/)
        approving = approved.out
        return `x${approved.out}`
      },
      () => approving,
    )
    const { code, out, err } = await call(api, LOGIN, { person })
    assert.equal(code, EXIT.ok, err)
    assert.match(approving, /^([a-z]+ ){5}[a-z]+\n$/)
    assert.match(err, /countersignd device approve[^]*Not approved yet[^]*not on the word list/)
    assert.equal(out, `Signed in to ${old.identity().account} as ${EMAIL}.\n`)
  })

  it('in a script: interrupted after the code, it goes on where it was', async (t) => {
    const { server, api: oldApi } = await signedIn(t)
    const fresh = newLaptop(t, server, 'laptop 2')
    await fresh.flow.begin(EMAIL)
    const first = await call(apiOf(fresh, server), LOGIN, { input: `${server.code()}\n` })
    assert.equal(first.code, EXIT.failed, 'not signed in yet')
    const shown = await call(oldApi, ['device approve'], { input: first.out })
    assert.equal(shown.code, EXIT.ok, shown.err)
    const next = await call(apiOf(fresh.restart(), server), [...LOGIN, '--json'], {
      input: shown.out,
    })
    assert.deepEqual([next.code, next.err], [EXIT.ok, ''])
    assert.equal((JSON.parse(next.out) as { state: string }).state, 'signed_in')
  })

  it('words of another device: refused on both sides, and not asked again', async (t) => {
    const { server, laptop, api: oldApi } = await signedIn(t)
    const fresh = newLaptop(t, server, 'laptop 2')
    const { device_words } = await fresh.signIn()
    const others = 'matador carload recede matador carload recede'
    const old = await call(oldApi, ['device approve'], { person: types(others, 'again') })
    assert.deepEqual([old.code, old.out], [EXIT.failed, ''])
    assert.match(old.err, /nothing was signed[^]*may be dishonest/)
    assert.equal(server.logOf(laptop.identity().account).seq, 0)
    await laptop.approve(fresh.identity().device, device_words as string)
    const next = await call(apiOf(fresh, server), LOGIN, { person: types(others, 'again') })
    assert.deepEqual([next.code, next.out], [EXIT.failed, ''])
    assert.match(next.err, /nothing was changed[^]*may be dishonest/)
    assert.equal(fresh.identity().approved, false)
  })

  it('device approve: none waits, several wait, no words, an id that is none', async (t) => {
    const { server, api } = await signedIn(t)
    const none = await call(api, ['device approve'])
    assert.match(none.err, /No device awaits approval/)
    const ids = []
    for (const name of ['phone', 'laptop 2']) {
      const fresh = newLaptop(t, server, name)
      await fresh.signIn()
      ids.push(fresh.identity().device)
    }
    const several = await call(api, ['device approve'])
    for (const id of ids) assert(several.err.includes(id), several.err)
    const silent = await call(api, ['device approve', ids[0] as string])
    assert.match(silent.err, /Nothing was approved/)
    const wrong = await call(api, ['device approve', 'phone'], { input: 'x' })
    assert.match(wrong.err, /There is no device with this id/)
    for (const { code, out } of [none, several, silent, wrong])
      assert.deepEqual([code, out], [EXIT.failed, ''])
  })

  it('device list marks this device and the waiting one', async (t) => {
    const { server, api } = await signedIn(t)
    await newLaptop(t, server, '\u001b[2Jlaptop').signIn()
    const { out } = await call(api, ['device list'])
    assert.match(out, /^dev_\w{26} +desk \(this one\) +linux +active +never$/m)
    assert.match(out, /^dev_\w{26} +�\[2Jlaptop +linux +awaits approval +never$/m)
  })
})

describe('reset', () => {
  it('says what it does, and goes on only for the word reset', async (t) => {
    const { server, laptop: lost } = await signedIn(t)
    const { account } = lost.identity()
    const fresh = newLaptop(t, server, 'new')
    const args = ['reset', '--email', EMAIL] as const
    const refused = await call(apiOf(fresh, server), args, { person: types('yes') })
    assert.deepEqual([refused.code, refused.out], [EXIT.failed, ''])
    assert.match(refused.err, /Every earlier device is revoked[^]*Nothing was reset/)
    assert.equal(server.code(), 'CODE-0', 'not even a mail')
    const unattended = await call(apiOf(fresh, server), args, { input: 'reset\nCODE-1\n' })
    assert.match(unattended.err, /confirm it with --yes/)
    const person = types('reset', () => server.code())
    const { code, out, err } = await call(apiOf(fresh, server), args, { person })
    assert.equal(code, EXIT.ok, err)
    assert.equal(out, `Signed in to ${account} as ${EMAIL}.\n`)
    assert.deepEqual(
      server.logOf(account).active.map(({ id }) => id),
      [fresh.identity().device],
    )
  })

  it('after login said that all devices are lost: the same code serves, with --yes in a script', async (t) => {
    const { server, laptop: lost } = await signedIn(t)
    await lost.flow.end({ last_device: true, forget: false })
    const api = apiOf(newLaptop(t, server, 'new'), server)
    await call(api, LOGIN)
    const refused = await call(api, LOGIN, { input: server.code() })
    assert.deepEqual([refused.code, refused.out], [EXIT.failed, ''])
    assert.match(refused.err, /"countersignd reset"/)
    const done = await call(api, ['reset', '--email', EMAIL, '--yes'], { input: server.code() })
    assert.equal(done.code, EXIT.ok, done.err)
    assert.equal(server.code(), 'CODE-1')
  })

  it('on a device that is signed in: refused', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    const { code, err } = await call(api, ['reset', '--email', EMAIL, '--yes'], { input: 'x' })
    assert.deepEqual([code, server.logOf(laptop.identity().account).seq], [EXIT.failed, 0])
    assert.match(err, /signed in to acc_\w+\. Run "countersignd logout" first/)
  })
})

describe('logout', () => {
  it('the last device: asked at a terminal, said in a script', async (t) => {
    const { laptop, api } = await signedIn(t)
    for (const [args, more] of [
      [['logout'], { input: 'yes\n' }],
      [['logout'], { person: types('no') }],
      [['logout'], { person: types() }],
    ] as const) {
      const kept = await call(api, args, more)
      assert.deepEqual([kept.code, kept.out], [EXIT.failed, ''])
      assert.match(kept.err, /keys changed/)
      assert.equal((await laptop.flow.read()).state, 'signed_in')
    }
    const left = await call(api, ['logout'], { person: types('yes') })
    assert.deepEqual([left.code, left.out], [EXIT.ok, ''], left.err)
    assert.match(left.err, /Signed out\.\n$/)
    assert.equal((await laptop.flow.read()).state, 'signed_out')
  })

  it('--last-device, and --json', async (t) => {
    const { api } = await signedIn(t)
    const { code, out, err } = await call(api, ['logout', '--last-device', '--json'])
    assert.deepEqual([code, out, err], [EXIT.ok, '{"state":"signed_out"}', ''])
    const again = await call(api, ['logout'])
    assert.deepEqual([again.code, again.out], [EXIT.failed, ''])
    assert.match(again.err, /Nobody is signed in/)
  })
})

describe('whoami', () => {
  it('signed out, waiting, signed in', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    const { account, device } = laptop.identity()
    const seen = await call(api, ['whoami'])
    assert.equal(seen.code, EXIT.ok)
    assert.equal(
      seen.out,
      `state     signed in\nserver    https://countersign.test\naccount   ${account}\nname      Ada\nemail     ${EMAIL}\ndevice    desk  ${device}\n`,
    )
    const fresh = newLaptop(t, server, 'laptop 2')
    const out = await call(apiOf(fresh, server), ['whoami'])
    assert.deepEqual([out.code, out.out.split('\n')[0]], [EXIT.failed, 'state     signed out'])
    const { device_words } = await fresh.signIn()
    const waiting = await call(apiOf(fresh, server), ['whoami'])
    assert.equal(waiting.code, EXIT.ok)
    assert.match(waiting.out, /^state +awaits approval/)
    assert.match(waiting.out, new RegExp(`^words     ${device_words}$`, 'm'))
    const json = await call(apiOf(fresh, server), ['whoami', '--json'])
    const { sign_in, server: url, user, device: own } = JSON.parse(json.out) as Json
    assert.deepEqual(
      [sign_in.state, url, user.id, own.current],
      ['awaiting_approval', 'https://countersign.test', account, true],
    )
  })

  it('by an API token: the account, without what the command line alone may ask', async (t) => {
    const { api, laptop } = await signedIn(t)
    const read: NonNullable<Api['signIn']>['read'] = async () => {
      throw new AppError('forbidden', 'no')
    }
    const byToken = { ...api, signIn: { ...(api.signIn as Api['signIn']), read } }
    const { code, out } = await call(byToken, ['whoami', '--json'])
    const { sign_in, user } = JSON.parse(out) as { sign_in: unknown; user: { id: string } }
    assert.deepEqual([code, sign_in, user.id], [EXIT.ok, null, laptop.identity().account])
  })
})
