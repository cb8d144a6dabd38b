/**
 * The commands for the user’s own data: addresses, sessions, the active organisation, profile and
 * preferences.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { UsageError } from '../../src/cli/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { ask } from '../daemon.ts'
import type { Json } from '../e2e/caller.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { codeIn, hasCode, lettersIn } from '../service/letters.ts'
import { across } from './across.ts'
import { call } from './calling.ts'
import { daemonHere, type Terminal, terminal, WHEN } from './terminal.ts'
import { until } from '../until.ts'

/** Wraps a terminal so that each command must succeed. */
const wellDone = (run: Terminal) => {
  const good: Terminal = async (args, more) => {
    const result = await run(args, more)
    assert.equal(result.code, EXIT.ok, result.err)
    return result
  }
  const json = async (...args: string[]) =>
    JSON.parse((await good([...args, '--json'])).out) as Json
  return { good, json }
}

test('an embedded account gets an address, and by it a second device with its own session', async (t) => {
  const stateDir = freshFolder(t)
  const mailDir = join(stateDir, 'mail')
  const daemon = await daemonHere(stateDir)
  t.after(() => daemon.close())
  const { good, json } = wellDone(terminal(stateDir))
  const email = 'ada@example.org'

  assert.equal((await json('whoami')).user.email, null)
  assert.deepEqual((await json('email', 'list')).items, [])
  const added = await good(['email', 'add', 'Ada@Example.org'])
  assert.deepEqual(
    [added.out, added.err.startsWith('The mail with a link for ada@example.org was only stored. ')],
    ['', true],
  )
  const { out } = await good(['email', 'list'])
  assert.match(out, new RegExp(`^ada@example\\.org +not confirmed yet +${WHEN}$`, 'm'))
  assert.equal((await json('whoami')).user.email, null)

  const letters = async () => lettersIn(mailDir, email)
  await until('a letter', async () => (await letters()).length > 0)
  const [link = ''] = /http:\S+\/confirm\/\S+/.exec((await letters())[0]!.text) ?? []
  const { origin, pathname } = new URL(link)
  assert.equal(origin, daemon.accountAddress)
  const shown = await ask(origin, 'GET', pathname)
  assert.deepEqual([shown.status, /ada@example\.org/.test(shown.text)], [200, true])
  assert.equal((await json('whoami')).user.email, null, 'whoever only looks confirms nothing')
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const confirmed = await ask(origin, 'POST', pathname, { headers, body: '' })
  assert.equal(confirmed.status, 200, confirmed.text)
  assert.equal((await ask(origin, 'POST', pathname, { headers, body: '' })).status, 404)
  assert.equal((await json('whoami')).user.email, email)
  assert.match(
    (await good(['email', 'list'])).out,
    /^ada@example\.org +confirmed; receives the mail/m,
  )
  const twice = await terminal(stateDir)(['email', 'add', email])
  assert.deepEqual([twice.code, twice.out], [EXIT.failed, ''])
  assert.match(twice.err, /already has this address/)

  const laptop = terminal(freshFolder(t))
  const far = { env: { SVC_BACKEND_URL: origin } }
  const person = async () => codeIn((await letters()).filter(hasCode).at(-1)!)
  const { login } = await across(
    (typing) => laptop(['login', '--email', email], { ...far, person: typing }),
    (typing) => terminal(stateDir)(['device', 'approve'], { person: typing }),
    person,
  )
  assert.equal(login.code, EXIT.ok, login.err)
  const acme = await json('org', 'create', 'Acme')
  assert.equal(
    (await good(['org', 'use', 'Acme'])).err,
    'The current organisation of this device is now "Acme". Your role: owner.\n',
  )
  assert.match((await good(['whoami'])).out, /^In +Acme \(owner, current\)$/m)
  const { items } = await json('session', 'list')
  assert.deepEqual(
    items.map((one: Json) => [one.current, one.active_organisation_id]),
    [
      [false, null],
      [true, acme.id],
    ],
  )
  assert.match((await good(['session', 'list'])).out, /^ses_\w+ +\S.* \(this one\) .*Acme$/m)

  const [other, own] = items as [Json, Json]
  const current = await terminal(stateDir)(['session', 'end', own.id])
  assert.deepEqual([current.code, current.out], [EXIT.failed, ''])
  assert.match(current.err, /The embedded account needs no sign-in/)
  assert.match((await laptop(['whoami'], far)).out, /^In +Acme \(owner\)$/m)
  assert.match(
    (await good(['session', 'end', other.id])).err,
    /^Ended ses_\w+\. The device can sign in/,
  )
  const over = await laptop(['profile'], far)
  assert.deepEqual([over.code, over.out], [EXIT.failed, ''])
  assert.match(over.err, /Run "countersignd login"/)
  const again = await terminal(stateDir)(['session', 'end', other.id])
  assert.match(again.err, /There is no session with this id\. "countersignd session list"/)
  await laptop(['login', '--email', email], { ...far, person })
  assert.equal((await laptop(['profile'], far)).code, EXIT.ok)
  assert.equal((await json('session', 'list')).items.length, 2)
  const none = await good(['org', 'use', '--none'])
  assert.equal(none.err, 'This device has no current organisation now.\n')
  assert.equal((await json('whoami')).active_organisation, undefined)
})

test('profile and preferences are shown and changed', async (t) => {
  const { good, json } = wellDone(terminal(freshFolder(t)))
  const { display_name: name } = await json('profile')
  const set = await good([
    'profile',
    'set',
    '--handle',
    'ada',
    '--headline',
    'Counts <b>things</b>',
  ])
  const lines = `Name      ${name}\nHandle    ada\nHeadline  Counts <b>things</b>\n`
  assert.deepEqual([set.out, (await good(['profile'])).out], [lines, lines])
  await good(['profile', 'set', '--name', 'Ada L.', '--no-handle', '--no-headline'])
  assert.deepEqual(await json('profile'), {
    display_name: 'Ada L.',
    handle: null,
    headline: null,
    public_code: null,
  })

  const shown = (...rows: string[]) => rows.map((row) => `${row}\n`).join('')
  const rows = [
    'Language     en',
    'Time zone    UTC',
    'Public code  off',
    'Mail         on',
    'Findable     on',
  ]
  assert.equal((await good(['preferences'])).out, shown(...rows))
  const args = ['preferences', 'set', '--locale', 'de-CH', '--time-zone', 'Europe/Zurich']
  const changed = await good([...args, '--public-code', 'on', '--email-notifications', 'off'])
  assert.equal(
    changed.out,
    shown(
      'Language     de-CH',
      'Time zone    Europe/Zurich',
      'Public code  on',
      'Mail         off',
      'Findable     on',
    ),
  )
  assert.match(
    (await good(['profile'])).out,
    /^Words +[a-z]+ [a-z]+ [a-z]+\nValid until  .*seconds?\)$/m,
  )
  const off = await json('preferences', 'set', '--public-code', 'off')
  assert.deepEqual([off.public_code, off.locale], [false, 'de-CH'])
})

describe('invalid commands', () => {
  const wrong: [name: string, ...args: string[]][] = [
    ['profile set'],
    ['profile set', '--handle', 'ada', '--no-handle'],
    ['profile set', '--headline', 'x', '--no-headline'],
    ['preferences set'],
    ['preferences set', '--public-code', 'yes'],
    ['preferences set', '--email-notifications', ''],
    ['org use'],
    ['org use', 'Acme', '--none'],
  ]
  for (const [name, ...args] of wrong)
    it(`${name} ${args.join(' ')}: sends no request`, async () => {
      const command = await COMMANDS[name]!.load()
      const options: Record<string, string | boolean> = {}
      const words: string[] = []
      for (let i = 0; i < args.length; i++) {
        const option = args[i]!.replace(/^--/, '')
        const type = command.options?.[option]?.type
        if (type === undefined) words.push(args[i]!)
        else options[option] = type === 'boolean' ? true : args[++i]!
      }
      const run = command.run({
        options,
        args: words,
        withApi: () => assert.fail('asked'),
      } as unknown as Parameters<typeof command.run>[0])
      await assert.rejects(run, UsageError)
    })

  for (const id of [`dev_${'0'.repeat(26)}`])
    it(`session end ${id}: reports that there is no such session`, async () => {
      const { code, err } = await call({} as Api, ['session end', id])
      assert.equal(code, EXIT.failed)
      assert.match(err, /There is no session with this id/)
    })

  const organisation = (name: string, n: number) =>
    ({ id: `org_${String(n).repeat(26)}`, name, role: 'member' }) as const
  const cases: [names: string[], says: RegExp][] = [
    [
      [],
      /Nothing here is called "Acme"\. Organisations: none\. To create one, use "countersignd org create"/,
    ],
    [['Club\u202e'], /Nothing here is called "Acme"\. Organisations: "Club�" \(org_0000\)/],
    [['Acme', 'Acme'], /"Acme" can mean several\. .*\n  org_0+  "Acme" \(organisation\)\n  org_1/],
  ]
  for (const [names, says] of cases)
    it(`org use Acme, with ${names.length} of that name`, async () => {
      const organisations = names.map(organisation)
      const context = {
        read: async () => ({ organisations }) as never,
        activeOrg: async () => assert.fail('chosen'),
      }
      const { code, out, err } = await call({ context }, ['org use', 'Acme'])
      const expected = names.length > 1 ? EXIT.ambiguous : EXIT.failed
      assert.deepEqual([code, out], [expected, ''])
      assert.match(err, says)
    })

  it('an error of the server is printed unchanged', async () => {
    const emails = {
      list: async () => assert.fail('listed'),
      create: async () => {
        throw new AppError('rate_limited', 'Too many addresses were added.')
      },
    }
    const { code, out, err } = await call({ emails }, ['email add', 'ada@example.org'])
    assert.deepEqual([code, out, err], [EXIT.failed, '', 'Too many addresses were added.\n'])
  })
})
