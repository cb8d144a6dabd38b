/** The commands of presets, and connections that are created with one. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'

const PRESET = `pre_${'0'.repeat(26)}`

test('presets are made, set as default, used by new connections, changed and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id: tag } = await ada.json('tag', 'create', '--name', 'Work')
  const options = ['--tag', tag, '--favorite', '--message', 'Hello\nBob', '--expires-in', '1d']
  const made = await ada.good(['preset', 'create', '--name', 'Office', ...options])
  assert.match(made.out, /^pre_\w{26} {2}Office\n$/)
  const [id = ''] = made.out.split(' ')
  assert.match(made.err, /countersignd preset default Office$/m)
  const list = async () => (await ada.good(['preset', 'list'])).out
  assert.match(await list(), /^pre_\w+ +Office +yes +1 +1d +Hello Bob$/m)

  const create = (...args: string[]) =>
    ada.json('connection', 'create', '--name', 'Bank', '--invite', bob.email, ...args)
  const of = ({ preset_id, tag_ids, favorite }: Record<string, unknown>) => [
    preset_id,
    tag_ids,
    favorite,
  ]
  const [plain, full] = [
    [null, [], false],
    [id, [tag], true],
  ]
  assert.deepEqual(of(await create()), plain)
  assert.deepEqual(of(await create('--preset', id)), full)
  const result = await ada.good(['preset', 'default', id])
  assert.equal(result.err, '"Office" is the default preset now.\n')
  assert.match(await list(), /^pre_\w+ +Office +yes +yes +1 /m)
  assert.deepEqual(of(await create()), full)
  assert.deepEqual(of(await create('--no-preset')), plain)
  const { received } = await bob.json('invite', 'list')
  assert.deepEqual(
    received.map(({ message }: { message: string | null }) => message),
    [null, 'Hello\nBob', 'Hello\nBob', null],
  )

  for (const _ of [1, 2]) {
    const cleared = await ada.good(['preset', 'default', '--none'])
    assert.equal(cleared.err, 'There is no default preset now.\n')
  }
  assert.deepEqual(of(await create()), plain)

  const without = ['--no-tags', '--no-favorite', '--no-message', '--no-expires-in']
  const changed = await ada.json('preset', 'update', id, '--name', 'Home', ...without)
  assert.deepEqual(
    [changed.name, changed.tag_ids, changed.favorite, changed.invite_message],
    ['Home', [], false, null],
  )
  assert.equal(changed.invitation_expires_in, null)

  const none = /There is no preset with this id\. .*preset list/
  assert.match(await bob.refused('preset', 'update', id, '--name', 'Mine'), none)
  assert.match(await bob.refused('preset', 'delete', id), none)
  assert.match(await bob.refused('preset', 'default', id), none)
  assert.match(
    await bob.refused('connection', 'create', '--name', 'x', '--preset', id),
    /There is no such preset/,
  )
  assert.deepEqual((await bob.json('connection', 'list')).items, [])
  assert.match(
    await ada.refused('preset', 'update', id, '--tag', `tag_${'0'.repeat(26)}`),
    /no tag with this id/,
  )
  assert.deepEqual(await ada.json('preset', 'delete', id), { id, state: 'deleted' })
  assert.match(await ada.refused('preset', 'delete', id), none)
  assert.deepEqual(await ada.json('preset', 'list'), { items: [] })
})

describe('wrong usage sends no request', () => {
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['preset create', '--favorite'], /Missing: --name\. /],
    [['preset create', '--name', 'x', '--expires-in', 'soon'], /--expires-in must be a duration/],
    [['preset update', PRESET], /Nothing to change was given/],
    [['preset update', PRESET, '--favorite', '--no-favorite'], /--favorite or --no-favorite/],
    [['preset update', PRESET, '--tag', 'x', '--no-tags'], /--tag or --no-tags/],
    [['preset update', PRESET, '--message', 'x', '--no-message'], /--message or --no-message/],
    [['preset default'], /Give a preset, or --none/],
    [['preset default', PRESET, '--none'], /Give a preset, or --none/],
    [
      ['connection create', '--name', 'x', '--preset', PRESET, '--no-preset'],
      /either --preset or --no-preset/,
    ],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})

it('texts are printed in one line, without terminal controls', async () => {
  const preset = {
    id: PRESET,
    name: 'Bob\u001b[2J',
    tag_ids: [],
    favorite: false,
    invite_message: `a\u001b[2J\n${'long '.repeat(20)}`,
    invitation_expires_in: null,
    is_default: false,
  }
  const api = {
    presets: {
      list: async () => ({ items: [preset], next_cursor: null }),
      update: async () => preset,
      setDefault: async () => preset,
    },
  } as unknown as Api
  for (const [lines, ...words] of [
    [2, 'preset list'],
    [1, 'preset update', PRESET, '--name', 'x'],
    [1, 'preset default', PRESET],
  ] as [lines: number, name: string, ...args: string[]][]) {
    const { code, out, err } = await call(api, words)
    assert.equal(code, EXIT.ok, err)
    assert.match(out + err, /Bob�\[2J/)
    assert(!(out + err).includes('\u001b'))
    assert.equal((out + err).split('\n').length, lines + 1)
  }
})
