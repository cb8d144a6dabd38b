/**
 * `login`, `reset`, `logout`, `whoami` and `device`: at a terminal and in a script, over real
 * sign-in flows and a server of the test.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { APPROVAL_WARNING } from '../../src/api/rest/approvals.ts'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import type { Json } from '../e2e/caller.ts'
import { shownBy } from '../world/approving.ts'
import { newWorld } from '../world/world.ts'
import { EMAIL, newLaptop } from '../device/session/signing-in.ts'
import { across, fourWordsIn } from './across.ts'
import { apiOf, call } from './calling.ts'
import type { Person } from './terminal.ts'
import { instead } from '../world/interceptor.ts'

const LOGIN = ['login', '--email', EMAIL] as const

/** Types these lines in turn, then ends the input; a line may depend on the output so far. */
const types = (...lines: (string | ((seen: string) => string | Promise<string>))[]): Person => {
  const left = [...lines]
  return async (seen) => {
    const line = left.shift()
    return line === undefined ? null : typeof line === 'string' ? line : line(seen)
  }
}

async function setUp(t: TestContext) {
  const server = await newWorld(t)
  const laptop = newLaptop(t, server, 'desk')
  return { server, laptop, api: apiOf(laptop) }
}

async function signedIn(t: TestContext) {
  const all = await setUp(t)
  await all.laptop.signIn()
  return all
}

describe('login of a first device', () => {
  it('at a terminal: asks again after a wrong code, and Enter requests a new one', async (t) => {
    const { server, laptop, api } = await setUp(t)
    const person = types('WRONG', '', () => server.code(EMAIL))
    const { code, out, err } = await call(api, LOGIN, { person })
    assert.equal(code, EXIT.ok, err)
    assert.equal(out, `Signed in to ${laptop.identity().account} as ${EMAIL}.\n`)
    assert.equal(err.split('Code from the mail').length - 1, 3)
    assert.match(err, /wrong, used or expired[^]*A new code was sent/)
    assert.equal((await server.codes(EMAIL)).length, 2)
  })

  it('in a script: reads the code from standard input, and asks nothing', async (t) => {
    const { server, api } = await setUp(t)
    const unfinished = await call(api, LOGIN)
    assert.deepEqual([unfinished.code, unfinished.out], [EXIT.failed, ''])
    assert.match(unfinished.err, /Run "countersignd login --email ada@example.org" again/)
    const { code, out, err } = await call(api, [...LOGIN, '--json'], {
      input: await server.code(EMAIL),
    })
    assert.deepEqual([code, err], [EXIT.ok, ''])
    assert.equal((JSON.parse(out) as { state: string }).state, 'signed_in')
    assert.equal((await server.codes(EMAIL)).length, 1)
  })

  it('in a script: a wrong code fails at once', async (t) => {
    const { api } = await setUp(t)
    const { code, out, err } = await call(api, LOGIN, { input: 'WRONG\nCODE-0\n' })
    assert.deepEqual([code, out], [EXIT.failed, ''])
    assert.match(err, /wrong, used or expired/)
    assert(!err.includes('WRONG'))
  })

  it('repeated: does nothing for the same address, and rejects another', async (t) => {
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
    [['login'], /Missing: --email or --machine/],
    [['login', '--email', EMAIL, '--machine'], /Omit --email/],
    [['login', '--email', EMAIL, '--key-file', 'x'], /--key-file can only be used with --machine/],
    [['login', '--machine'], /Give --key-file with the key file of the machine account/],
    [['reset'], /Missing: --email or --machine/],
  ] as const)
    it(`${args.join(' ')}: wrong usage, without a question`, async (t) => {
      const { api } = await setUp(t)
      const { err } = await call(api, args, { person: () => assert.fail('asked') })
      assert.match(err, says)
    })
})

/** A server that lists a device under a name that an honest one rejects. */
const named = (honest: string, name: string) =>
  instead('devices', 'list', (list) => async (page) => {
    const { items, next_cursor } = await list(page)
    const shown = items.map((one) => (one.name === honest ? { ...one, name } : one))
    return { items: shown, next_cursor }
  })

describe('a further device', () => {
  /** Creates a signed-in device, and a second one that awaits approval. */
  async function waiting(t: TestContext) {
    const all = await signedIn(t)
    const fresh = newLaptop(t, all.server, 'laptop 2')
    await fresh.signIn()
    return { ...all, fresh, freshApi: apiOf(fresh) }
  }

  it('at two terminals: each types the other’s words, and may mistype', async (t) => {
    const { laptop: old, api: oldApi, freshApi } = await waiting(t)
    const words = Promise.withResolvers<string>()
    const others = Promise.withResolvers<string>()
    const login = call(freshApi, LOGIN, {
      person: types(
        (seen) => {
          words.resolve(fourWordsIn(seen))
          return 'matador carload recede'
        },
        'matador carload recede matador',
        () => others.promise,
      ),
    })
    const approve = await call(oldApi, ['device approve'], {
      person: types(
        async () => `${await words.promise}x`,
        'matador carload recede matador',
        () => words.promise,
      ),
    })
    others.resolve(approve.out)
    assert.equal(approve.code, EXIT.ok, approve.err)
    assert.match(approve.out, /^([a-z]+ ){3}[a-z]+\n$/)
    assert(approve.err.includes(`${APPROVAL_WARNING}\nFour words that "laptop 2" shows: `))
    assert.match(approve.err, /is not on the word list[^]*Nothing was signed/)
    assert.match(approve.err, /Almost done\. Now type these four words on "laptop 2":\n$/)
    const { code, out, err } = await login
    assert.equal(code, EXIT.ok, err)
    assert.match(err, /countersignd device approve[^]*Four words are needed[^]*Nothing was changed/)
    assert.equal(out, `Signed in to ${old.identity().account} as ${EMAIL}.\n`)
  })

  it('a login that was aborted begins again, with other words', async (t) => {
    const { api, fresh, freshApi } = await waiting(t)
    let early = ''
    const login = call(freshApi, LOGIN, {
      person: (seen) => {
        early = fourWordsIn(seen)
        return null
      },
    })
    const { device: id } = fresh.identity()
    const approve = { ...api.approvals!, create: async () => Promise.reject(new Error('left')) }
    const left = await call({ ...api, approvals: approve }, ['device approve', id], {
      person: () => 'x',
    })
    assert.equal(left.code, EXIT.failed)
    const broken = await login
    assert.deepEqual([broken.code, broken.out], [EXIT.failed, ''])
    assert.match(broken.err, /Run the same command again/)
    const again = await across(
      (person) => call(freshApi, [...LOGIN, '--json'], { person }),
      (person) => call(api, ['device approve'], { person }),
    )
    assert.deepEqual([again.approve.code, again.login.code], [EXIT.ok, EXIT.ok])
    assert.equal((JSON.parse(again.login.out) as { state: string }).state, 'signed_in')
    assert.notEqual(fourWordsIn(again.login.err), early)
  })

  it('Enter alone on the new device begins again, after an attempt that was answered before', async (t) => {
    const { laptop, api, freshApi, server } = await waiting(t)
    const first = Promise.withResolvers<string>()
    const stuck = Promise.withResolvers<void>()
    const shown = Promise.withResolvers<string>()
    const others = Promise.withResolvers<string>()
    const login = call(freshApi, LOGIN, {
      person: types(
        async (seen) => {
          first.resolve(fourWordsIn(seen))
          await stuck.promise
          return ''
        },
        (seen) => {
          shown.resolve(fourWordsIn(seen))
          return others.promise
        },
      ),
    })
    const { id } = server.devices().find(({ approved_at }) => approved_at === null)!
    await laptop.approver.begin(laptop.account, id).then(async (begun) => {
      let { state } = begun
      while (state === 'waiting') ({ state } = await laptop.approver.advance(laptop.account, id))
    })
    await first.promise
    // The approving device was restarted in between.
    const restarted = apiOf(laptop.restart())
    const advance: Api['approvals']['advance'] = async (input) => {
      const seen = await restarted.approvals!.advance(input)
      if (seen.state === 'answered') stuck.resolve()
      return seen
    }
    const approve = await call(
      { ...api, approvals: { ...restarted.approvals!, advance } },
      ['device approve'],
      { person: () => shown.promise },
    )
    assert.equal(approve.code, EXIT.ok, approve.err)
    assert.match(approve.err, /the words of an earlier attempt\. Press Enter there/)
    others.resolve(approve.out)
    assert.equal((await login).code, EXIT.ok)
  })

  it('in a script: words of another device are rejected on both sides, without asking again', async (t) => {
    const { server, laptop, api, fresh, freshApi } = await waiting(t)
    const others = 'matador carload recede matador'
    const input = `${others}\nagain`
    const [login, approve] = await Promise.all([
      call(freshApi, LOGIN, { input }),
      call(api, ['device approve'], { input }),
    ])
    assert.deepEqual([approve.code, approve.out], [EXIT.failed, ''])
    assert.match(approve.err, /Nothing was signed[^]*may be dishonest/)
    assert.deepEqual([login.code, login.out], [EXIT.failed, ''])
    assert.match(login.err, /Nothing was changed[^]*may be dishonest/)
    assert.equal(server.logOf(laptop.identity().account).seq, 0)
    assert.equal(fresh.identity().approved, false)
  })

  it('at a terminal, one of several waiting devices is chosen from a list', async (t) => {
    const { server, laptop, fresh, freshApi } = await waiting(t)
    server.later()
    await newLaptop(t, server, 'phone').signIn()
    const api = apiOf(laptop.restart({ account: named('phone', '\u001b[2Jphone') }))
    const odd = await call(api, ['device approve'], { person: types('3') })
    assert.deepEqual([odd.code, odd.out], [EXIT.failed, ''])
    assert.match(odd.err, /^1 +�\[2Jphone +linux[^]*^2 +laptop 2[^]*Several devices await/m)
    const shown = await across(
      (person) => call(freshApi, LOGIN, { person }),
      (words) =>
        call(api, ['device approve'], {
          person: types('2', async (seen) => (await words(seen)) ?? ''),
        }),
    )
    assert.deepEqual([shown.approve.code, shown.login.code], [EXIT.ok, EXIT.ok])
    const { active } = server.logOf(laptop.identity().account)
    assert.deepEqual(active.map(({ id }) => id).at(-1), fresh.identity().device)
  })

  it('device approve: with no, several and an unknown waiting device', async (t) => {
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
    const wrong = await call(api, ['device approve', 'tablet'], { input: 'x' })
    assert.match(wrong.err, /Nothing here is called "tablet"\. Devices: .*"phone"/)
    for (const { code, out } of [none, several, wrong])
      assert.deepEqual([code, out], [EXIT.failed, ''])
  })

  it('device list marks this device and the waiting one', async (t) => {
    const { server, laptop } = await signedIn(t)
    await newLaptop(t, server, 'laptop').signIn()
    const api = apiOf(laptop.restart({ account: named('laptop', '\u001b[2Jlaptop') }))
    const { out } = await call(api, ['device list'])
    assert.match(out, /^dev_\w{26} +desk \(this one\) +linux +active +\d+ \w+.* ago\)$/m)
    assert.match(out, /^dev_\w{26} +�\[2Jlaptop +linux +awaits approval +\d+ \w+.* ago\)$/m)
  })
})

describe('reset', () => {
  it('explains its effect, and continues only with the word reset', async (t) => {
    const { server, laptop: lost } = await signedIn(t)
    const { account } = lost.identity()
    const fresh = newLaptop(t, server, 'new')
    const args = ['reset', '--email', EMAIL] as const
    const refused = await call(apiOf(fresh), args, { person: types('yes') })
    assert.deepEqual([refused.code, refused.out], [EXIT.failed, ''])
    assert.match(refused.err, /Every earlier device is revoked[^]*Nothing was reset/)
    assert.equal((await server.codes(EMAIL)).length, 1, 'not even a mail')
    const unattended = await call(apiOf(fresh), args, { input: 'reset\nCODE-1\n' })
    assert.match(unattended.err, /add --yes/)
    const person = types('reset', () => server.code(EMAIL))
    const { code, out, err } = await call(apiOf(fresh), args, { person })
    assert.equal(code, EXIT.ok, err)
    assert.equal(out, `Signed in to ${account} as ${EMAIL}.\n`)
    assert.deepEqual(
      server.logOf(account).active.map(({ id }) => id),
      [fresh.identity().device],
    )
  })

  it('after login reported that all devices are lost: the same code works, with --yes in a script', async (t) => {
    const { server, laptop: lost } = await signedIn(t)
    await lost.flow.end({ last_device: true, forget: false })
    const api = apiOf(newLaptop(t, server, 'new'))
    await call(api, LOGIN)
    const refused = await call(api, LOGIN, { input: await server.code(EMAIL) })
    assert.deepEqual([refused.code, refused.out], [EXIT.failed, ''])
    assert.match(refused.err, /"countersignd reset"/)
    const done = await call(api, ['reset', '--email', EMAIL, '--yes'], {
      input: await server.code(EMAIL),
    })
    assert.equal(done.code, EXIT.ok, done.err)
    assert.equal((await server.codes(EMAIL)).length, 2)
  })

  it('on a signed-in device: rejected', async (t) => {
    const { server, laptop, api } = await signedIn(t)
    const { code, err } = await call(api, ['reset', '--email', EMAIL, '--yes'], { input: 'x' })
    assert.deepEqual([code, server.logOf(laptop.identity().account).seq], [EXIT.failed, 0])
    assert.match(err, /signed in to acc_\w+\. Run "countersignd logout" first/)
  })
})

describe('logout', () => {
  it('the last device: asked at a terminal, an error in a script', async (t) => {
    const { laptop, api } = await signedIn(t)
    for (const [args, more] of [
      [['logout'], { input: 'yes\n' }],
      [['logout'], { person: types('no') }],
      [['logout'], { person: types() }],
    ] as const) {
      const result = await call(api, args, more)
      assert.deepEqual([result.code, result.out], [EXIT.failed, ''])
      assert.match(result.err, /keys changed/)
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
    assert.match(again.err, /No account is signed in/)
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
      `State     signed in\nServer    https://countersign.test\nAccount   ${account}\nName      Ada\nEmail     ${EMAIL}\nDevice    desk  ${device}\nRecovery  no recovery key; to create one: countersignd recovery create\n`,
    )
    const fresh = newLaptop(t, server, 'laptop 2')
    const out = await call(apiOf(fresh), ['whoami'])
    assert.deepEqual([out.code, out.out.split('\n')[0]], [EXIT.failed, 'State   signed out'])
    await fresh.signIn()
    const early = await call(apiOf(fresh), ['whoami'])
    assert.equal(early.code, EXIT.ok)
    assert.match(early.out, /^State +awaits approval/)
    assert.doesNotMatch(early.out, /^words/m)
    const { words } = await shownBy(laptop, fresh.flow)
    const waiting = await call(apiOf(fresh), ['whoami'])
    assert.match(waiting.out, new RegExp(`^Words     ${words}$`, 'm'))
    const json = await call(apiOf(fresh), ['whoami', '--json'])
    const { sign_in, server: url, user, device: own } = JSON.parse(json.out) as Json
    assert.deepEqual(
      [sign_in.state, url, user.id, own.current],
      ['awaiting_approval', 'https://countersign.test', account, true],
    )
  })

  it('with an API token: prints the account, without data for the command line alone', async (t) => {
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
