/** The commands of tags. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'

const TAG = `tag_${'0'.repeat(26)}`
const CONNECTION = `con_${'0'.repeat(26)}`

test('tags are made, listed, changed, assigned, unassigned and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id: bank } = await ada.json('connection', 'create', '--name', 'Bank')
  const made = await ada.good(['tag', 'create', '--name', 'Work', '--color', '#00FF7F'])
  assert.match(made.out, /^tag_\w{26} {2}Work\n$/)
  const [id = ''] = made.out.split(' ')
  assert.match(await ada.refused('tag', 'create', '--name', 'work'), /a tag with this name already/)
  assert.match((await ada.good(['tag', 'list'])).out, /^tag_\w+ +Work +#00ff7f +0$/m)

  assert.equal((await ada.good(['tag', 'assign', id, bank])).err, `"Bank" has the tag ${id}.\n`)
  assert.deepEqual((await ada.json('tag', 'assign', id, bank)).tag_ids, [id])
  assert.deepEqual((await ada.json('connection', 'show', bank)).tag_ids, [id])
  assert.equal((await ada.good(['connection', 'favorite', bank])).out, `${bank}  Bank\n`)
  const { out } = await ada.good(['connection', 'show', bank])
  assert.match(out, /^Favorite  yes\nTags      Work$/m)
  assert.match(
    (await ada.good(['connection', 'list'])).out,
    /^con_\w+ +Bank +pending +yes +never$/m,
  )
  await ada.good(['connection', 'favorite', bank, '--off'])
  assert.equal((await ada.json('connection', 'show', bank)).favorite, false)
  assert.match((await ada.good(['tag', 'list'])).out, /Work +#00ff7f +1$/m)

  const changed = await ada.good(['tag', 'update', id, '--name', 'Office', '--no-color'])
  assert.equal(changed.out, `${id}  Office\n`)
  const [tag] = (await ada.json('tag', 'list')).items
  assert.deepEqual([tag.name, tag.color, tag.connection_count], ['Office', null, 1])

  for (const args of [
    ['update', id, '--name', 'Mine'],
    ['delete', id],
  ])
    assert.match(await bob.refused('tag', ...args), /There is no tag with this id\. .*tag list/)
  assert.match(await bob.refused('tag', 'assign', id, bank), /There is no such tag/)

  assert.equal(
    (await ada.good(['tag', 'unassign', id, bank])).err,
    `${bank} no longer has the tag ${id}.\n`,
  )
  assert.match(await ada.refused('tag', 'unassign', id, bank), /no such tag on this connection/)
  assert.deepEqual(await ada.json('tag', 'delete', id), { id, state: 'deleted' })
  assert.match(await ada.refused('tag', 'delete', id), /There is no tag with this id/)
  assert.deepEqual(await ada.json('tag', 'list'), { items: [] })
})

describe('wrong usage sends no request', () => {
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['tag create'], /Missing: --name\. /],
    [['tag create', '--color', '#000000'], /Missing: --name\. /],
    [['tag update', TAG], /Nothing to change was given/],
    [['tag update', TAG, '--color', '#000000', '--no-color'], /either --color or --no-color/],
    [['tag delete', CONNECTION], /There is no tag with this id/],
    [['tag assign', CONNECTION, TAG], /There is no tag with this id/],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})

it('names are printed without terminal controls', async () => {
  const tag = { id: TAG, name: 'Bob\u001b[2J\u202e', color: null, connection_count: 0 }
  const answer = async () => tag
  const api = {
    tags: {
      list: async () => ({ items: [tag], next_cursor: null }),
      create: answer,
      update: answer,
      assign: answer,
    },
  } as unknown as Api
  for (const words of [
    ['tag list'],
    ['tag create', '--name', 'x'],
    ['tag update', TAG, '--name', 'x'],
    ['tag assign', TAG, CONNECTION],
  ] as [name: string, ...args: string[]][]) {
    const { code, out, err } = await call(api, words)
    assert.equal(code, EXIT.ok, err)
    assert.match(out + err, /Bob�\[2J�/)
    for (const sign of ['\u001b', '\u202e']) assert(!(out + err).includes(sign))
  }
})
