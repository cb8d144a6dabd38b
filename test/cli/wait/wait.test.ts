/** `--wait`: with real daemons, without them, and with APIs that answer as the test determines. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, it, type TestContext } from 'node:test'
import type { Api } from '../../../src/cli/command.ts'
import { AppError, EXIT, type ErrorCode } from '../../../src/errors.ts'
import type { Json } from '../../e2e/caller.ts'
import { PROGRAM, environment } from '../../e2e/program.ts'
import { login } from '../../e2e/servers.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../../service/letters.ts'
import { until } from '../../until.ts'
import { call } from '../calling.ts'
import { type CliFixture, newCliFixture } from '../cli-fixture.ts'
import { type Started, started } from './started.ts'
import { type Typed, daemonHere, terminal } from '../terminal.ts'

/** Signs a person in, and starts their daemon if there is one. */
async function person(
  t: TestContext,
  { server, mailDir }: CliFixture,
  name: string,
  daemon = true,
) {
  const stateDir = freshFolder(t)
  const email = `${name}@example.org`
  await login(stateDir, { server, mailDir, email })
  const env = { SVC_BACKEND_URL: server }
  const running = daemon ? await daemonHere(stateDir, 'error', env) : null
  let isClosed = false
  const close = async () => {
    if (!isClosed) await running?.close()
    isClosed = true
  }
  t.after(close)
  const on = (args: readonly string[], more: Typed = {}) =>
    terminal(stateDir)(args, { ...more, env })
  const begin = (args: readonly string[], more: Typed = {}): Started =>
    started(stateDir, args, { ...more, env })
  const json = async (...args: string[]): Promise<Json> =>
    JSON.parse((await on([...args, '--json'])).out)
  return { stateDir, email, env, on, begin, json, close }
}

const create = (email: string, ...more: string[]) => [
  'connection',
  'create',
  '--name',
  'Bank',
  '--invite',
  email,
  '--wait',
  ...more,
]

const WITH_DAEMON = /^Waiting until the words can be used\. .*: the daemon continues\.$/m
const WITHOUT = /^No daemon is running, so nothing goes on by itself: this command syncs while/m

for (const daemon of [true, false])
  describe(`an invitation, ${daemon ? 'with daemons' : 'without a daemon'}`, () => {
    const [begins, other] = daemon ? [WITH_DAEMON, WITHOUT] : [WITHOUT, WITH_DAEMON]

    it('both sides see each step, and can use words when their commands end', async (t) => {
      const fixture = await newCliFixture(t)
      const ada = await person(t, fixture, 'ada', daemon)
      const bob = await person(t, fixture, 'bob', daemon)
      const inviting = ada.begin(create(bob.email))
      const [, id = ''] = await inviting.seen(/^(con_\w+) {2}Bank$/m)
      await inviting.seen(/^The invitation for bob@example\.org was sent\.$/m)
      const { received } = await bob.json('invite', 'list')
      const approving = await bob.on(['invite', 'approve', received[0].id, '--wait'])
      const invited = await inviting.ended
      assert.deepEqual([approving.code, approving.out], [EXIT.ok, ''], approving.err)
      assert.deepEqual([invited.code, invited.out], [EXIT.ok, `${id}  Bank\n`], invited.err)
      for (const { err } of [approving, invited]) {
        assert.match(err, begins)
        assert.doesNotMatch(err, other)
      }
      const steps = (err: string) => err.split('\n').filter((line) => !/daemon|^$/.test(line))
      const usable = `The words can be used: "countersignd code ${id}".`
      assert.deepEqual(steps(approving.err), [
        'You approved the invitation to "Bank". A device of ada@example.org has to add you.',
        'You are a member of "Bank".',
        'This device has the secret.',
        usable,
      ])
      assert.deepEqual(steps(invited.err), [
        'The invitation for bob@example.org was sent.',
        'bob@example.org approved the invitation.',
        'bob@example.org is a member.',
        'The secret is sealed to the devices of bob@example.org.',
        usable,
      ])
      const { words } = await bob.json('code', id)
      const checked = await ada.on(['verify', '--json'], { input: words })
      assert.equal(JSON.parse(checked.out).verified, true, checked.out)
    })
  })

describe('an invitation that is not approved', () => {
  it('declined: the command of the inviter ends, and the JSON is its only output', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await person(t, fixture, 'ada')
    const bob = await person(t, fixture, 'bob', false)
    const inviting = ada.begin(create(bob.email, '--json'))
    const invited = async () => (await bob.json('invite', 'list')).received[0]
    const { id } = await until('the invitation', invited)
    await bob.on(['invite', 'decline', id])
    const { code, out, err } = await inviting.ended
    assert.equal(code, EXIT.failed)
    assert.equal(err, 'countersignd: bob@example.org declined the invitation.\n')
    const { usable, state, name } = JSON.parse(out)
    assert.deepEqual([usable, state, name], [false, 'pending', 'Bank'])
  })

  it('after the time of --timeout, the message names what goes on, and the JSON the connection', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await person(t, fixture, 'ada')
    const { code, out, err } = await ada.on(create('bob@example.org', '--timeout', '0s', '--json'))
    const { id, usable } = JSON.parse(out)
    assert.deepEqual([code, usable], [EXIT.failed, false])
    assert.match(
      err,
      /^countersignd: Not usable yet, and the time of --timeout is over\. Everything/,
    )
    assert(err.endsWith(` To look: "countersignd connection show ${id}".\n`), err)
  })

  it('if the daemon ends, the command ends with 9 and names how to look', async (t) => {
    const fixture = await newCliFixture(t)
    const ada = await person(t, fixture, 'ada')
    const inviting = ada.begin(create('bob@example.org'))
    await inviting.seen(/was sent/)
    await ada.close()
    const { code, err } = await inviting.ended
    assert.equal(code, EXIT.daemonSilent, err)
    assert.match(err, /The daemon ended, so .* To look: "countersignd connection show con_\w+"\./)
  })

  for (const daemon of [true, false])
    it(`Ctrl-C ${daemon ? 'with' : 'without'} a daemon: the message states what goes on`, async (t) => {
      const fixture = await newCliFixture(t)
      const ada = await person(t, fixture, 'ada', daemon)
      const args = [PROGRAM, ...create('bob@example.org')]
      const env = environment(ada.stateDir, ada.env)
      const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
      t.after(() => child.kill('SIGKILL'))
      let err = ''
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        err += text
        if (text.endsWith('was sent.\n')) child.kill('SIGINT')
      })
      const [code] = await once(child, 'close')
      assert.equal(code, EXIT.interrupted, err)
      assert.match(err, /^Stopped waiting\. .* To look: "countersignd connection show con_\w+"\.$/m)
      assert.match(err, daemon ? /Everything goes on by itself/ : /"countersignd serve", or run/)
      assert.equal((await ada.json('connection', 'list')).items.length, 1)
    })
})

const FOUR_WORDS = /^ {0,7}((?:[a-z]+ ){3}[a-z]+)$/m

it('a device: the command that approved it ends when the secrets are sealed to it', async (t) => {
  const fixture = await newCliFixture(t)
  const { mailDir } = fixture
  const ada = await person(t, fixture, 'ada')
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  const stateDir = freshFolder(t)
  const daemon = await daemonHere(stateDir, 'error', ada.env)
  t.after(() => daemon.close())
  const typed: (() => Promise<string>)[] = [
    async () => codeIn((await lettersIn(mailDir, ada.email)).filter(hasCode).at(-1)!),
    async () => (await approving.seen(FOUR_WORDS))[1]!,
  ]
  const login = started(stateDir, ['login', '--email', ada.email], {
    env: ada.env,
    person: () => typed.shift()!(),
  })
  await login.seen(/This device awaits approval/)
  const approving = ada.begin(['device', 'approve', '--wait'], {
    person: async () => (await login.seen(FOUR_WORDS))[1]!,
  })
  const approved = await approving.ended
  assert.equal(approved.code, EXIT.ok, approved.err)
  const steps = ['You approved "', 'is signed in.', 'are sealed to "']
  const places = steps.map((step) => approved.err.indexOf(step))
  assert(!places.includes(-1), approved.err)
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
  assert.equal((await login.ended).code, EXIT.ok)
  const code = () => terminal(stateDir)(['code', id], { env: ada.env })
  await until('words on the new device', async () => (await code()).code === EXIT.ok)
})

const ID = {
  inv: `inv_${'0'.repeat(26)}`,
  con: `con_${'0'.repeat(26)}`,
  acc: `acc_${'0'.repeat(26)}`,
}
const CONNECTION = { id: ID.con, name: 'Bank', state: 'pending', members: [], secret_here: true }
const INVITATION = {
  id: ID.inv,
  connection_id: ID.con,
  connection_name: 'Bank',
  from: { user_id: ID.acc, email: 'ada@example.org' },
  to: { user_id: null, email: 'bob@example.org' },
}
const fails = (code: ErrorCode, state?: string) => async () => {
  throw new AppError(code, `the answer ${code}`, state === undefined ? {} : { details: { state } })
}

/** A daemon that answers as the test determines. Each list of answers ends with its last one. */
function daemonWith(of: {
  states?: readonly string[]
  connections?: readonly (object | null)[]
  code?: () => Promise<unknown>
  stream?: { state: string; reason: string | null } | null
  sync?: () => Promise<unknown>
}) {
  const { states = ['pending'], connections = [CONNECTION], code = async () => ({}) } = of
  const { stream = { state: 'open', reason: null }, sync = async () => ({}) } = of
  const count = { looks: 0, syncs: 0, reads: 0 }
  const at = <T>(answers: readonly T[], n: number) => answers[Math.min(n, answers.length - 1)]!
  const listed = () => [{ ...INVITATION, state: at(states, count.looks - 1) }]
  const api = {
    invitations: {
      approve: async () => INVITATION,
      list: async () => ({ received: listed(), sent: listed() }),
    },
    connections: {
      create: async () => CONNECTION,
      read: async () => at(connections, count.looks++) ?? fails('not_found')(),
      code,
    },
    status: { read: async () => ({ stream }) },
    sync: {
      read: async () => ({ last_sync: { finished_at: String(count.reads++) } }),
      run: async () => {
        count.syncs++
        return sync()
      },
    },
  } as unknown as Api
  return { api, count }
}

const joined = { ...CONNECTION, members: [{ user_id: ID.acc, state: 'active' }] }
const INVITER = [
  'connection create',
  '--name',
  'Bank',
  '--invite',
  'bob@example.org',
  '--wait',
] as const
const INVITED = ['invite approve', ID.inv, '--wait'] as const

describe('a wait ends with 1 as soon as the words can never be used', () => {
  const cases: [
    what: string,
    command: readonly [string, ...string[]],
    daemon: Parameters<typeof daemonWith>[0],
    says: RegExp,
  ][] = [
    ['declined', INVITER, { states: ['pending', 'declined'] }, /bob\S+ declined the invitation\.$/],
    [
      'expired',
      INVITER,
      { states: ['expired'] },
      /bob\S+ cannot join, .*expired\. Invite them again/,
    ],
    [
      'withdrawn',
      INVITER,
      { states: ['approved', 'withdrawn'] },
      /because the invitation was withdrawn/,
    ],
    ['deleted', INVITER, { connections: [CONNECTION, null] }, /not a member of "Bank" any more/],
    ['ended', INVITER, { connections: [{ ...CONNECTION, state: 'ended' }] }, /was ended for all/],
    [
      'withdrawn',
      INVITED,
      { connections: [null], states: ['approved', 'withdrawn'] },
      /was withdrawn\. Ask/,
    ],
    [
      'expired',
      INVITED,
      { connections: [null], states: ['expired'] },
      /expired before you were added/,
    ],
    [
      'declined elsewhere',
      INVITED,
      { connections: [null], states: ['declined'] },
      /on another device/,
    ],
    [
      'removed',
      INVITED,
      { connections: [{ ...joined, secret_here: false }, null] },
      /not a member of/,
    ],
    [
      'ended',
      INVITED,
      { connections: [{ ...joined, state: 'ended' }] },
      /An owner ended "Bank" for/,
    ],
    [
      'forked',
      INVITED,
      { code: fails('invalid_state', 'roster_forked') },
      /the answer invalid_state/,
    ],
    [
      'signed out',
      INVITED,
      { connections: [null], states: ['approved'], sync: fails('not_signed_in'), stream: null },
      /the answer not_signed_in/,
    ],
  ]
  for (const [what, command, daemon, says] of cases)
    it(`${command[0]}: ${what}`, async () => {
      const { code, err } = await call(daemonWith(daemon).api, command)
      assert.equal(code, EXIT.failed)
      assert.match(err.trim(), says)
      assert.doesNotMatch(err, /can be used:/)
    })
})

describe('a wait goes on', () => {
  it('while the account server does not answer, and shows that once', async () => {
    let asked = 0
    const code = async () => (asked++ < 5 ? fails('backend_unavailable')() : {})
    const { err, code: exit } = await call(daemonWith({ code }).api, INVITED)
    assert.equal(exit, EXIT.ok, err)
    assert.equal(err.match(/the answer backend_unavailable Still waiting\./g)?.length, 1)
  })

  it('while a person has to act, and shows what to do', async () => {
    let asked = 0
    const code = async () => (asked++ < 5 ? fails('invalid_state', 'changed_unverified')() : {})
    const { err, code: exit } = await call(daemonWith({ code }).api, INVITED)
    assert.equal(exit, EXIT.ok, err)
    assert.equal(err.match(/the answer invalid_state/g)?.length, 1)
  })

  it('without a sync while changes arrive by a stream', async () => {
    const { api, count } = daemonWith({ connections: [...Array(1000).fill(null), joined] })
    assert.equal((await call(api, INVITED)).code, EXIT.ok)
    assert.equal(count.syncs, 0)
  })

  it('with few syncs while no stream is open, and names the reason', async () => {
    const { api, count } = daemonWith({
      connections: [...Array(1000).fill(null), joined],
      stream: { state: 'closed', reason: 'The stream broke off.' },
    })
    const { code, err } = await call(api, INVITED)
    assert.equal(code, EXIT.ok)
    assert.match(err, /requests syncs while it waits\. The stream broke off\.$/m)
    assert(count.syncs > 3 && count.syncs < 20, `${count.syncs} syncs in 1,000 polls`)
  })
})

describe('wrong usage', () => {
  const cases: [args: string[], says: RegExp][] = [
    [['connection', 'create', '--name', 'A', '--wait'], /--wait can only be used with --invite/],
    [['invite', 'approve', ID.inv, '--timeout', '1m'], /--timeout can only be used with --wait/],
    [['invite', ID.con, 'bob@example.org', '--timeout', '1m'], /--timeout can only be used with/],
    [['device', 'approve', '--wait', '--timeout', 'soon'], /--timeout must be a duration such as/],
  ]
  for (const [args, says] of cases)
    it(args.join(' '), async (t) => {
      const { code, err } = await terminal(freshFolder(t))(args)
      assert.equal(code, EXIT.usage)
      assert.match(err, says)
    })
})
