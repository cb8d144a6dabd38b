/**
 * The name that other people see: it is asked for at a terminal, never taken from the operating
 * system, and without it other people see the address.
 */
import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, it, test } from 'node:test'
import { chooseName } from '../../../src/cli/commands/session/own-name.ts'
import type { Api } from '../../../src/cli/command.ts'
import { openPrompt } from '../../../src/cli/prompt.ts'
import { AppError, EXIT } from '../../../src/errors.ts'
import { environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { joinMembers, newCliFixture } from '../cli-fixture.ts'
import { atRealTerminal, noRealTerminal } from '../real-terminal.ts'
import { streams, terminal } from '../terminal.ts'

const EMAIL = 'ada@example.org'

describe('the name of an account', () => {
  interface Case {
    readonly name?: string
    readonly email?: string | null
    readonly devices?: number
    readonly given?: string
    /** What the user types at a terminal; absent for a script. */
    readonly typed?: readonly string[]
  }
  const cases: [what: string, of: Case, set: readonly string[], says: RegExp][] = [
    ['is asked for', { typed: ['Ada'] }, ['Ada'], /Other people now see you as Ada\./],
    [
      'is asked for without an address',
      { name: 'Someone', email: null, typed: ['Ada'] },
      ['Ada'],
      /see you as Ada/,
    ],
    [
      'is asked for again after a wrong one',
      { typed: ['\u0007', 'Ada'] },
      ['Ada'],
      /no name[^]*see you as Ada/,
    ],
    [
      'may be left out',
      { typed: [''] },
      [],
      /Other people see ada@example\.org as your name\. To choose/,
    ],
    ['may be left out by Ctrl-D', { typed: [] }, [], /Other people see ada@example\.org/],
    [
      'may be left out without an address',
      { name: 'Someone', email: null, typed: [''] },
      [],
      /see no name of you/,
    ],
    ['is not asked for in a script', {}, [], /^$/],
    ['is not asked for on a second device', { devices: 2, typed: ['x'] }, [], /^$/],
    ['is not asked for if there is one', { name: 'Ada', typed: ['x'] }, [], /^$/],
    ['is taken from --name', { given: 'Ada' }, ['Ada'], /^$/],
    ['is taken from --name without a question', { given: 'Ada', typed: ['x'] }, ['Ada'], /^$/],
    [
      'is not replaced by --name',
      { name: 'Ada', given: 'Eve' },
      [],
      /already Ada\. To change it: .*profile set/,
    ],
  ]
  for (const [what, of, expected, says] of cases)
    it(what, async () => {
      const { name = EMAIL, email = EMAIL, devices = 1, given, typed } = of
      const set: string[] = []
      const api = {
        context: { read: async () => ({ user: { display_name: name, email } }) },
        devices: { list: async () => ({ items: Array(devices).fill({}), next_cursor: null }) },
        profile: {
          update: async ({ body }: { body: { display_name: string } }) => {
            const { display_name } = body
            if (display_name === '\u0007') throw new AppError('validation_failed', 'no name')
            set.push(display_name)
            return { display_name }
          },
        },
      } as unknown as Api
      const left = [...(typed ?? [])]
      const person = () => left.shift() ?? null
      const { io, result } = streams(typed === undefined ? {} : { person })
      const say = (text: string) => void io.stderr.write(`${text}\n`)
      const asking = {
        io: { ...io, env: {} },
        say,
        withApi: (work: (of: Api, is: boolean) => unknown) => work(api, true),
      }
      await chooseName(asking as never, openPrompt({ ...io, env: {} }), given)
      assert.deepEqual(set, expected)
      assert.match(
        result.err.replace(/Your name, as other people see it[^:]*: /g, '').trimStart(),
        says,
      )
    })
})

test('without a name, the other side sees the address, and with one that name', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Lunch')
  await joinMembers(ada, id, [bob])
  const seen = async () => (await bob.good(['connection', 'members', id])).out
  assert.match(await seen(), /the server says "ada@example\.org"/)
  assert(!(await seen()).includes(`"${userInfo().username}"`))
  await ada.good(['profile', 'set', '--name', 'Ada Lovelace'])
  await bob.good(['sync'])
  assert.match(await seen(), /calls itself "Ada Lovelace"/)
})

describe('the first start of the daemon', { skip: noRealTerminal }, () => {
  const question = 'press Enter for none): '
  it('asks at a terminal while the daemon serves', async (t) => {
    const dir = freshFolder(t)
    const { code, screen } = await atRealTerminal(['serve'], environment(dir), [
      [question, 'Ada\n'],
      ['now see you as Ada', '\u0003'],
    ])
    assert.equal(code, EXIT.ok, screen)
    assert(screen.indexOf('listens on') < screen.indexOf(question))
    assert.match((await terminal(dir)(['profile'])).out, /^Name +Ada$/m)
    const again = await atRealTerminal(['serve'], environment(dir), [['listening', '\u0003']])
    assert(!again.screen.includes(question))
  })

  it('ends on Ctrl-C during the question, and leaves the name out', async (t) => {
    const dir = freshFolder(t)
    const typings = [[question, '\u0003']] as const
    const { code, screen } = await atRealTerminal(['serve'], environment(dir), typings)
    assert.equal(code, EXIT.ok, screen)
    assert.match((await terminal(dir)(['profile'])).out, /^Name +Someone$/m)
  })
})
