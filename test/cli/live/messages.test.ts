/** Messages to people: the option or argument with its value, no route, no number of an error. */
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it, test } from 'node:test'
import { shownError } from '../../../src/cli/errors/api-errors.ts'
import { withOptions } from '../../../src/cli/errors/option-errors.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { AppError, EXIT, type Issue } from '../../../src/errors.ts'
import { folder } from '../../e2e/program.ts'
import { daemonHere, terminal, type Terminal } from '../terminal.ts'
import { newCliFixture } from '../cli-fixture.ts'

const dir = folder()
const path = (name: string) => join(dir.path, name)

/** What is typed, and the whole message. */
const MESSAGES: readonly (readonly [line: readonly string[], says: string | RegExp])[] = [
  [['code', 'Mum'], 'No one here is called "Mum". Guests: none. Connections: none.'],
  [['trust', 'confirm', 'x'], 'No one here is called "x". People you follow: none.'],
  [['trust', 'confirm', `acc_${'0'.repeat(26)}`], /^You follow no one with this id\./],
  [
    ['org', 'members'],
    /^No organisation is active\. Choose one first: countersignd org use NAME\./,
  ],
  [['external', 'create', '--name', 'x', '--email', 'x'], '--email: "x" is not an e-mail address.'],
  [['email', 'add', 'x'], 'ADDRESS: "x" is not an e-mail address.'],
  [['trust', 'follow', 'x@'], 'ADDRESS: "x@" is not an e-mail address.'],
  [
    ['connection', 'create', '--name', 'B', '--invite', 'bob@example.org', '--invite', 'x@'],
    '--invite: "x@" is not an e-mail address.',
  ],
  [
    ['tag', 'create', '--name', 'x', '--color', 'red'],
    '--color: "red" is not a colour: # and six lower-case hexadecimal digits.',
  ],
  [['guest', 'create', '--label', ''], '--label: Give at least one character.'],
  [['guest', 'list', '--state', 'x'], '--state: "x" is not active, revoked or expired.'],
  [['org', 'create', ''], 'NAME: Give at least one character.'],
  [['org', 'activity', '--from', 'x'], '--from: "x" is not a day in the form 2026-01-31.'],
  [
    ['preset', 'create', '--name', 'x', '--expires-in', '5s'],
    '--expires-in: "5s" is not valid. Expected at least 1h.',
  ],
  [
    ['webhook', 'create', '--url', 'canary', '--type', 'foo'],
    '--url: Expected a URL such as https://example.org/hook. --type: There are no events of the type "foo". "countersignd events --help" lists all types.',
  ],
  [['stamp', path('none')], `There is no file "${path('none')}".`],
  [['stamp', path('a-folder')], `"${path('a-folder')}" is a folder. Name one file.`],
  [['stamp', 'verify', import.meta.filename, import.meta.filename], /is not a stamp\. Usage: /],
  [
    ['webhook', 'create', '--url-file', path('none'), '--type', 'x.*'],
    `--url-file: There is no file "${path('none')}".`,
  ],
  [['org', 'invite', '--file', path('a-folder')], /^--file: ".*" is a folder\. Name one file\.$/],
  [
    ['token', 'create'],
    'Missing: --name and --scope. Example: countersignd token create --name ci --scope read',
  ],
  [
    ['export'],
    'An export needs the daemon. Start it ("countersignd serve"), then run "countersignd export".',
  ],
]

describe('the message about', () => {
  let cli: Terminal
  before(() => {
    cli = terminal(path('state'))
    mkdirSync(path('a-folder'))
  })
  after(() => dir.remove())

  for (const [line, says] of MESSAGES)
    it(line.map((word) => word.replace(dir.path, '…')).join(' '), async () => {
      const { code, out, err } = await cli(line)
      assert(code !== EXIT.ok && out === '', out)
      const message = err.replace(/^countersignd: /, '').replace(/\n$/, '')
      if (typeof says === 'string') assert.equal(message, says)
      else assert.match(message, says)
      assert.doesNotMatch(message, /\/api\/|ENOENT|EISDIR|\(body|\(query/)
    })

  it('a token with a small scope names the variable, and no route', async () => {
    const made = await cli(['token', 'create', '--name', 'r', '--scope', 'read'])
    const env = { SVC_TOKEN: made.out.trim() }
    const { code, err } = await cli(['guest', 'create', '--label', 'x'], { env })
    assert.equal(code, EXIT.failed)
    assert.match(err, /The token in SVC_TOKEN .* this command needs the scope write or full\./)
    assert.doesNotMatch(err, /\/api\//)
  })
})

test('a route with a command in a message becomes the command', () => {
  const about = (message: string) =>
    shownError(new AppError('not_found', message), '/api/v1/x', null, true).message
  assert.equal(
    about('No one. GET /api/v1/org/members ("countersignd org members") lists them.'),
    'No one. "countersignd org members" lists them.',
  )
  assert.equal(about('Nothing is here.'), 'Nothing is here.')
})

test('limits of times are shown in units, and the field of an argument is not needed', async () => {
  const command = await COMMANDS['org alert create']!.load()
  const given = { args: [], options: { window: '100d', threshold: '0' } }
  const shown = (issues: readonly Issue[]) =>
    (
      withOptions(
        new AppError('validation_failed', 'x', { details: { issues } }),
        command,
        given,
      ) as AppError
    ).message
  assert.equal(
    shown([{ path: 'window_minutes', message: 'Expected at most 43200.' }]),
    '--window: "100d" is not valid. Expected at most 30d.',
  )
  assert.equal(shown([{ path: 'member_ids.0', message: 'No one has it.' }]), 'No one has it.')
})

test('sync names what changed, and says if nothing did', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  assert.equal((await ada.good(['sync'])).out, 'Nothing new.\n')
  await ada.good(['connection', 'create', '--name', 'Lunch', '--invite', bob.email])
  assert.match((await bob.good(['sync'])).out, /^Invited by .*ada@example\.org/m)
  await bob.good(['invite', 'approve', ada.email])
  assert.match((await ada.good(['sync'])).out, /^"bob@example\.org" joined "Lunch"\.$/m)
  assert.match((await bob.good(['sync'])).out, /^Words of "ada@example\.org" can be used\.$/m)
})

test('with a daemon, the messages are the same', async (t) => {
  const own = folder()
  const daemon = await daemonHere(own.path)
  t.after(async () => {
    await daemon.close()
    own.remove()
  })
  const { err } = await terminal(own.path)(['tag', 'create', '--name', 'x', '--color', 'red'])
  assert.match(err, /^countersignd: --color: "red" is not a colour/)
})
