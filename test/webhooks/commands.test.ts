/** The commands of webhooks, without a daemon. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { checkSignature, newReceiver, withStatus } from './bench.ts'
import { call } from '../cli/calling.ts'
import { newCliFixture } from '../cli/cli-fixture.ts'

const WEBHOOK = `whk_${'0'.repeat(26)}`

test('webhooks are created, listed, tested, changed and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  const receiver = await newReceiver(t)
  const file = join(freshFolder(t), 'url')
  writeFileSync(file, `${receiver.url}\n`)

  const made = await ada.good(['webhook', 'create', '--url-file', file, '--type', 'token.*'])
  assert.match(made.out, /^whsec_\S+\n$/)
  const secret = made.out.trim()
  const [id = ''] = /whk_\w{26}/.exec(made.err) ?? []
  assert.match(made.err, new RegExp(`webhook test ${id}\n$`))
  const listed = await ada.good(['webhook', 'list'])
  assert.match(listed.out, new RegExp(`^${id} +active +token\\.\\* +${receiver.url}$`, 'm'))
  assert(!listed.out.includes(secret))

  assert.equal((await ada.good(['webhook', 'test', id])).err, 'Delivered: 200.\n')
  checkSignature(receiver.got[0]!, secret)
  receiver.answer(withStatus(500))
  assert.match(await ada.refused('webhook', 'test', id), /^Not delivered: 500\.$/m)
  assert.deepEqual(await ada.json('webhook', 'deliveries', id), { items: [] })

  const paused = await ada.good(['webhook', 'update', id, '--name', 'Alarm', '--pause'])
  assert.equal(paused.out, `${id}  paused  Alarm\n`)
  const changed = ['--type', 'token.revoked', '--enable', '--no-name', '--private-network']
  const { types, state, name, private_network } = await ada.json(
    'webhook',
    'update',
    id,
    ...changed,
  )
  assert.deepEqual([types, state, name, private_network], [['token.revoked'], 'active', null, true])
  assert.deepEqual(await ada.json('webhook', 'delete', id), { id, state: 'deleted' })
  for (const words of [['delete'], ['test'], ['deliveries'], ['update', '--pause']])
    assert.match(
      await ada.refused('webhook', words[0]!, id, ...words.slice(1)),
      /There is no webhook with this id\. .*webhook list/,
    )
})

test('a sign-out deletes all webhooks', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  const url = 'https://example.org/'
  await ada.json('webhook', 'create', '--url', url, '--type', 'token.*')
  await ada.good(['logout', '--last-device'])
  assert.match(await ada.refused('webhook', 'list'), /countersignd login/)
})

describe('wrong usage sends no request', () => {
  const cases: [words: [name: string, ...args: string[]], message: RegExp][] = [
    [['webhook create', '--type', 'token.*'], /Missing: --url or --url-file\. /],
    [['webhook create', '--url', 'https://example.org/'], /Missing: --type\. /],
    [
      ['webhook create', '--url', 'a', '--url-file', 'b', '--type', 'x.*'],
      /either --url or --url-file/,
    ],
    [
      ['webhook create', '--url-file', '/nowhere', '--type', 'a'],
      /--url-file: There is no file "\/nowhere"/,
    ],
    [['webhook update', WEBHOOK], /Nothing to change was given/],
    [['webhook update', WEBHOOK, '--enable', '--pause'], /either --enable or --pause/],
  ]
  for (const [words, message] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, message)
    })
})
