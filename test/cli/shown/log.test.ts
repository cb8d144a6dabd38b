/** `countersignd log`: what happened, in sentences. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it, test } from 'node:test'
import { sentenceOf } from '../../../src/cli/commands/log-sentences.ts'
import type { LoggedEvent } from '../../../src/cli/event-pages.ts'
import { EXIT } from '../../../src/errors.ts'
import { startDaemon } from '../../daemon.ts'
import type { Json } from '../../e2e/caller.ts'
import { PROGRAM, environment } from '../../e2e/program.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { joinMembers, newCliFixture } from '../cli-fixture.ts'
import { WHEN, terminal } from '../terminal.ts'

/** Returns the sentences of the log, each behind a time in a column of its own. */
function sentencesIn(out: string): string[] {
  const line = new RegExp(`^${WHEN} *(?<=^.{29})  (.*)$`)
  return out
    .trimEnd()
    .split('\n')
    .map((text) => line.exec(text)?.[1] ?? `no entry: ${text}`)
}

test('the log of an account of one device: newest last, limited, as JSON', async (t) => {
  const dir = freshFolder(t)
  const on = terminal(freshFolder(t))
  const file = join(dir, 'letter.txt')
  writeFileSync(file, 'Dear Ann')
  for (const words of [
    'guest create --label Mum',
    'connection create --name Bank',
    'connection rename Bank bank',
    'token create --name ci --scope read',
    'guest revoke Mum',
    'token revoke ci',
    `stamp ${file}`,
  ])
    assert.equal((await on(words.split(' '))).code, EXIT.ok, words)
  assert.equal((await on(['verify', 'acorn acorn acorn'])).code, EXIT.notVerified)
  const { out } = await on(['log'])
  assert.deepEqual(sentencesIn(out).slice(1), [
    'Guest "Mum": code created',
    'Connection "Bank" was added',
    'Words of "Bank" can be used',
    'Connection "Bank" is now called "bank"',
    'API token "ci" was created',
    'Guest "Mum": code revoked',
    'API token "ci" was revoked',
    sentencesIn(out)[8],
    'Not verified',
  ])
  assert.match(sentencesIn(out)[8]!, /^Signed a stamp \(stm_\w{26}\)$/)
  assert.deepEqual(sentencesIn((await on(['log', '--limit', '2'])).out), sentencesIn(out).slice(-2))
  assert.equal((await on(['log', '--limit', '0'])).code, EXIT.usage)
  const { items } = JSON.parse((await on(['log', '--limit', '1', '--json'])).out)
  assert.deepEqual(
    items.map(({ type, text, data }: Json) => [type, text, data.outcome]),
    [['verification.made', 'Not verified', 'not_verified']],
  )
  const alone = await on(['log', '--follow'])
  assert.equal(alone.code, EXIT.daemonSilent)
})

test('names people of invitations and connections, and says whose words verified', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  const { words } = await bob.json('code', id)
  await ada.good(['verify', words])
  const said = sentencesIn((await ada.good(['log'])).out)
  const expected = [
    'You invited bob@example.org',
    'bob@example.org approved your invitation',
    '"bob@example.org" joined "Bank"',
    'Verified: "Bank" ("bob@example.org")',
  ]
  for (const sentence of expected)
    assert(said.includes(sentence), `${sentence}: ${said.join('; ')}`)
  const atBob = sentencesIn((await bob.good(['log'])).out)
  assert(
    atBob.some((text) => /^Invited by .*<ada@example\.org>$/.test(text)),
    atBob.join('\n'),
  )
})

test('--follow shows the last entries, and then each new one', async (t) => {
  const daemon = await startDaemon({ SVC_STATE_DIR: freshFolder(t) })
  t.after(() => daemon.close())
  const on = terminal(daemon.stateDir)
  await on(['guest', 'create', '--label', 'Mum'])
  const child = spawn(process.execPath, [PROGRAM, 'log', '--follow', '--limit', '1'], {
    env: environment(daemon.stateDir),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async () => sentencesIn((await lines.next()).value as string)
  assert.deepEqual(await next(), ['Guest "Mum": code created'])
  await on(['guest', 'revoke', 'Mum'])
  assert.deepEqual(await next(), ['Guest "Mum": code revoked'])
})

describe('a sentence', () => {
  const names = new Map([
    ['dev_1', '"laptop"'],
    ['inv_1', 'bob@example.org'],
  ])
  const cases: [type: string, data: Json, sentence: string | null][] = [
    ['device.added', { device_id: 'dev_1' }, 'Device "laptop" was added'],
    ['device.revoked', { device_id: 'dev_2' }, 'Device dev_2 was revoked'],
    ['device.waiting', { device_id: 'dev_2', name: 'phone' }, 'Device "phone" waits for approval'],
    ['webhook.given_up', { webhook_id: 'whk_1', name: null }, 'Webhook whk_1 was given up'],
    ['webhook.given_up', { webhook_id: 'whk_1', name: 'CI' }, 'Webhook "CI" was given up'],
    [
      'invitation.declined',
      { invitation_id: 'inv_1', direction: 'received' },
      'You declined bob@example.org',
    ],
    [
      'trust.keys_changed',
      { display_name: 'Bob', key_status: 'changed_unverified' },
      'New keys of "Bob": compare the safety number',
    ],
    [
      'verification.made',
      { outcome: 'verified', matches: [{ kind: 'guest', display_name: 'Mum' }] },
      'Verified: guest "Mum"',
    ],
    [
      'verification.made',
      {
        method: 'public',
        outcome: 'verified',
        matches: [{ kind: 'account', display_name: 'Bob' }],
      },
      'Look-up, no proof: account "Bob"',
    ],
    ['verification.made', { outcome: 'echo', matches: [] }, 'Not verified: your own words'],
    [
      'member.joined',
      { display_name: 'x" joined "y', connection_name: 'Bank' },
      '"x\' joined \'y" joined "Bank"',
    ],
    ['sync.done', {}, null],
    ['notification.read', {}, null],
  ]
  for (const [type, data, sentence] of cases)
    it(`about ${type}: ${sentence ?? 'none'}`, () => {
      assert.equal(sentenceOf({ type, data } as unknown as LoggedEvent, names), sentence)
    })
})
