/** Desktop notifications over a real session bus, to a service written with another library. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import type { EventData, EventType } from '../../src/api/live/catalogue.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { followForDesktop } from '../../src/desktop/desktop.ts'
import { type Names, SUBJECTS } from '../../src/desktop/subjects.ts'
import { openState } from '../../src/state/state.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { until } from '../until.ts'
import { type Desktop, newDesktop, noDesktop } from './session.ts'

const [SECOND, MINUTE] = [1000, 60_000]
/** How long events are gathered, in milliseconds. */
const GATHER_MS = 500
const id = (prefix: string) => `${prefix}${'0'.repeat(26)}`

/** Timers that run when the test moves the time. */
function newTimers() {
  let now = 1_000_000
  const due: { at: number; action: () => void }[] = []
  return {
    timers: {
      now: () => now,
      random: () => 0,
      after(ms: number, action: () => void) {
        const one = { at: now + ms, action }
        due.push(one)
        return () => void due.splice(due.indexOf(one), 1)
      },
    },
    /** Returns in how many milliseconds the next timer is due; null if there is none. */
    next: () => (due.length === 0 ? null : Math.min(...due.map(({ at }) => at)) - now),
    advance(ms: number) {
      now += ms
      for (const one of due.filter(({ at }) => at <= now)) {
        due.splice(due.indexOf(one), 1)
        one.action()
      }
    },
  }
}

const NAMES: Names = {
  invitation: async () => 'The inviter is an account that calls itself "Ada".',
  request: async () => null,
  ownDevice: () => id('dev_'),
}

/** Follows the events of a state for a desktop. */
function following(t: TestContext, address: string | null, names: Partial<Names> = {}) {
  const state = openState(freshFolder(t))
  t.after(() => state.close())
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const time = newTimers()
  const log: [level: string, event: string, fields: object][] = []
  const end = followForDesktop({
    events: state.events,
    names: { ...NAMES, ...names },
    address: () => address,
    timers: time.timers,
    log: (level, event, fields = {}) =>
      log.push([level, event, typeof fields === 'function' ? fields() : fields]),
  })
  t.after(end)
  /** Appends events of one type in one transaction, and waits until they are read. */
  function append<T extends EventType>(type: T, data: EventData<T>, count = 1): void {
    state.transaction(() => {
      for (let at = 0; at < count; at++) state.events.append(type, data)
    })
    t.mock.timers.tick(GATHER_MS)
  }
  /** Returns the reason of the only warning. */
  function reason(): string {
    const [[, event, fields] = [], ...more] = log.filter(([level]) => level === 'warn')
    assert.equal(event, 'desktop notifications cannot be shown')
    assert.equal(more.length, 0)
    return (fields as { reason: string }).reason
  }
  /** Waits until a round has ended, and returns the time to the next one. */
  const wait = () => until('the end of a round', time.next)
  return { log, reason, append, wait, advance: (ms: number) => time.advance(ms) }
}

const invited = (many = 1, connection_id = id('con_')) =>
  [
    'invitation.received',
    { invitation_id: id('inv_'), connection_id, direction: 'received' },
    many,
  ] as const

const changed = (display_name: string) =>
  [
    'trust.keys_changed',
    { user_id: id('acc_'), display_name, key_status: 'changed_unverified' },
  ] as const

test('each notification names a command that exists', () => {
  for (const { one, advice } of SUBJECTS) {
    // "countersignd a b, then a c" names two.
    const [, first = '', second] = /countersignd ([a-z ]+)(?:, then ([a-z ]+))?$/.exec(advice) ?? []
    for (const command of [first, second ?? first]) assert(command in COMMANDS, one)
  }
})

describe('on a desktop', { skip: noDesktop }, () => {
  test('an event that needs a person is shown with its names and what to do', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const { append, log } = following(t, desktop.address)
    append(...invited())
    const { app, replaces, summary, body, rest } = await service.next()
    assert.deepEqual([app, replaces], ['Countersign', 0])
    assert.equal(summary, 'You are invited to a connection')
    assert.match(body, /^The inviter is an account that calls itself "Ada"\.\nAsk the inviter/)
    assert.match(body, /countersignd invite list$/)
    assert.deepEqual(rest, ['', [], {}, -1])
    assert.deepEqual(log, [])
  })

  test('a device that waits for approval is shown with its name and how to decline it', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const { append } = following(t, desktop.address)
    append('device.waiting', { device_id: id('dev_'), name: 'laptop' })
    const { summary, body } = await service.next()
    assert.equal(summary, 'A new device waits for your approval')
    assert.match(body, /^"laptop" asks to join your account\.\n.*device approve.*device revoke$/)
  })

  test('events that only inform are not shown', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const { append } = following(t, desktop.address)
    const connection = { connection_id: id('con_'), name: 'Bank' }
    append('connection.added', connection)
    append('connection.suspended', { ...connection, reason: 'rotation_pending' })
    append('device.added', { device_id: id('dev_') })
    append('session.ended', { reason: 'deleted' })
    append('notification.created', { notification_id: id('ntf_'), kind: 'member_joined' })
    append('trust.keys_changed', { ...changed('Ada')[1], key_status: 'confirmed' })
    append('webhook.given_up', { webhook_id: id('whk_'), name: 'Bank' })
    await service.next()
    assert.deepEqual(
      service.arrived.map(({ summary }) => summary),
      ['A webhook was given up'],
    )
  })

  const NASTY = '<b>Bank</b> & <a href="https://evil.example">\u202egnp.exe\n\u0007"\ud800'
  for (const [service, capabilities, expected] of [
    [
      'with markup',
      ['body', 'body-markup'],
      `The keys of "&lt;b&gt;Bank&lt;/b&gt; &amp; &lt;a href='https://evil.example'&gt;�gnp.exe��'�" changed.`,
    ],
    [
      'without markup',
      ['body'],
      `The keys of "<b>Bank</b> & <a href='https://evil.example'>�gnp.exe��'�" changed.`,
    ],
  ] as const)
    test(`a hostile name is one harmless line for a service ${service}`, async (t) => {
      const desktop = await newDesktop(t)
      const shown = await desktop.service('show', capabilities)
      const { append } = following(t, desktop.address)
      append(...changed(NASTY))
      const { summary, body } = await shown.next()
      assert.equal(summary, 'The keys of a person you follow changed')
      assert.equal(body.split('\n')[0], expected)
    })

  test('a name of 10,000 characters is cut', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const { append } = following(t, desktop.address)
    append(...changed('😀'.repeat(10_000)))
    const { body } = await service.next()
    assert.match(body, /^The keys of "(😀){79}…" changed\.\n/u)
  })

  test('a storm is one notification for each subject, which is replaced and counts', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const { append, advance, wait } = following(t, desktop.address)
    append(...invited(5000))
    const first = await service.next()
    assert.deepEqual([first.replaces, first.summary], [0, '5000 invitations to connections'])
    assert.equal(await wait(), 30 * SECOND)
    append(...invited(2000))
    append(...changed('Ada'))
    append(...invited(1))
    advance(30 * SECOND)
    const [second, third] = [await service.next(), await service.next()]
    const invitations = [second, third].find(({ replaces }) => replaces !== 0)
    assert.deepEqual(
      [invitations?.replaces, invitations?.summary],
      [first.id, '7001 invitations to connections'],
    )
    await wait()
    advance(11 * MINUTE)
    append(...invited())
    const later = await service.next()
    assert.deepEqual([later.replaces, later.summary], [0, 'You are invited to a connection'])
    assert.equal(service.arrived.length, 4)
  })

  test('a name that the account server does not give leaves the notification', async (t) => {
    const desktop = await newDesktop(t)
    const service = await desktop.service()
    const names = { invitation: () => Promise.reject(new Error('away')) }
    const { append, log } = following(t, desktop.address, names)
    append(...invited())
    assert.match((await service.next()).body, /^Ask the inviter/)
    assert.deepEqual(log, [])
  })

  test('after a sign-out, nothing of the account is shown', async (t) => {
    const desktop = await newDesktop(t)
    const { append, wait, advance } = following(t, desktop.address)
    append(...invited(3))
    await wait()
    append('session.ended', { reason: 'signed_out' })
    const service = await desktop.service()
    advance(60 * SECOND)
    assert.equal((await service.next()).summary, 'This device was signed out')
    await wait()
    assert.equal(service.arrived.length, 1)
  })
})

describe('without a service that shows notifications', { skip: noDesktop }, () => {
  /** Appends an event, and lets rounds fail. Returns the waits between them. */
  async function failing(of: ReturnType<typeof following>, rounds: number) {
    of.append(...invited())
    const waits: number[] = []
    for (let round = 0; round < rounds; round++) {
      waits.push(await of.wait())
      of.advance(waits.at(-1)!)
    }
    await of.wait()
    return waits
  }

  /** Starts a bus that answers what it receives with one text after the other; null ends it. */
  async function falseBus(t: TestContext, answers: readonly (string | null)[]): Promise<string> {
    const path = join(freshFolder(t), 'bus')
    const server = createServer((socket) => {
      const left = [...answers]
      socket.on('error', () => undefined)
      socket.on('data', () => {
        const next = left.shift()
        if (next === null) socket.destroy()
        else if (next !== undefined) socket.write(next, 'latin1')
      })
    })
    server.listen(path)
    await once(server, 'listening')
    t.after(() => server.close())
    return `unix:path=${path}`
  }
  const OK = 'OK 1234\r\n'
  /** A header with a text that is longer than the message. */
  const BROKEN = `l\u0002\0\u0001${'\0'.repeat(8)}\u0010\0\0\0\u0004\u0001s\0\u00ff${'\0'.repeat(15)}`

  const cases: [
    name: string,
    address: (t: TestContext, desktop: Desktop) => Promise<string>,
    reason: RegExp,
  ][] = [
    ['no service', async (_, { address }) => address, /ServiceUnknown/],
    [
      'the service refuses',
      async (_, desktop) => {
        await desktop.service('refuse')
        return desktop.address
      },
      /org\.example\.Full: no room/,
    ],
    [
      'the bus has ended',
      async (_, desktop) => {
        await desktop.end()
        return desktop.address
      },
      /ECONNREFUSED|ENOENT/,
    ],
    [
      'the address is of another machine',
      async () => 'tcp:host=192.0.2.1,port=1',
      /no socket of this/,
    ],
    ...(
      [
        ['does not accept this user', ['REJECTED EXTERNAL\r\n'], /does not accept this user/],
        ['sends a line without an end', ['OK'.repeat(10_000)], /does not accept this user/],
        ['sends messages too early', ['OK 1\r\nl'], /does not accept this user/],
        ['sends a long message', [OK, `l${'\u007f'.repeat(15)}`], /has \d+ bytes/],
        ['speaks another protocol', [OK, 'HTTP/1.1 200 OK\r\n'], /order of bytes/],
        ['sends a broken message', [OK, BROKEN], /out of range|too early/],
        ['closes the connection', [null], /closed the connection|ECONNRESET|EPIPE/],
        ['closes the connection later', [OK, null], /closed the connection|ECONNRESET|EPIPE/],
      ] as const
    ).map(([name, answers, reason]): (typeof cases)[number] => [
      `the bus ${name}`,
      (t) => falseBus(t, answers),
      reason,
    ]),
    ['the address is nonsense', async () => 'unix:path=%zz;;,', /malformed/],
  ]
  for (const [name, prepare, reason] of cases)
    test(`${name}: one warning, and the waits grow to ten minutes`, async (t) => {
      const address = await prepare(t, await newDesktop(t))
      const of = following(t, address)
      const waits = await failing(of, 6)
      assert.deepEqual(
        waits.map((ms) => ms / MINUTE),
        [1, 2, 4, 8, 10, 10],
      )
      assert.match(of.reason(), reason)
    })

  test('without a bus, the start warns', (t) => {
    const { reason } = following(t, null)
    assert.match(reason(), /DBUS_SESSION_BUS_ADDRESS is not set/)
  })

  test('a service that starts later shows what happened before', async (t) => {
    const desktop = await newDesktop(t)
    const of = following(t, desktop.address)
    of.append(...invited())
    assert.equal(await of.wait(), MINUTE)
    const service = await desktop.service()
    of.advance(MINUTE)
    assert.equal((await service.next()).summary, 'You are invited to a connection')
    await of.wait()
    assert.equal(of.log.at(-1)?.[1], 'desktop notifications are shown')
    await service.end()
    const other = await desktop.service()
    of.append(...changed('Ada'))
    of.advance(MINUTE)
    await other.next()
    assert.match(of.reason(), /ServiceUnknown/)
  })

  test('a bus that does not answer is given up', async (t) => {
    const of = following(t, await falseBus(t, []))
    of.append(...invited())
    await until('the connection', () => {
      t.mock.timers.tick(10 * SECOND)
      return of.log.length > 0
    })
    assert.match(of.reason(), /did not answer in time/)
  })

  test('a service that does not answer is given up, and the next round connects again', async (t) => {
    const desktop = await newDesktop(t)
    const silent = await desktop.service('silent')
    const of = following(t, desktop.address)
    of.append(...invited())
    await silent.next()
    t.mock.timers.tick(10 * SECOND)
    await of.wait()
    assert.match(of.reason(), /did not answer in time/)
    await silent.end()
    const service = await desktop.service()
    of.advance(MINUTE)
    await service.next()
  })
})
