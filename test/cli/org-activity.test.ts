/** The commands for the activity and the figures of an organisation. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'

test('activity, summary, dashboard and trends show a person’s actions', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  assert.match(await ada.refused('org', 'activity'), /No organisation is active/)
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  for (const name of ['Bank', 'School', 'Club'])
    await ada.json('connection', 'create', '--name', name)

  const { out } = await ada.good(['org', 'activity'])
  assert.match(out, /^AT +EVENT +BY +ABOUT( +MORE)?\n/)
  assert.equal(out.match(/\) +connection_created +.+ \(acc_\w{26}\) +con_\w{26}$/gm)?.length, 3)
  assert.doesNotMatch(out, /Bank|School|Club/)
  const two = (await ada.json('org', 'activity', '--limit', '2')).items
  assert.equal(two.length, 2)
  assert.deepEqual(two, (await ada.json('org', 'activity')).items.slice(0, 2))

  const summary = (await ada.good(['org', 'summary'])).out
  assert.match(summary, /^EVENT +COUNT\n(.+\n)*connection_created +3\n/)
  assert.match(summary, /\nBY +COUNT\n.+ \(acc_\w{26}\) +\d\n$/)
  const dashboard = (await ada.good(['org', 'dashboard'])).out
  assert.match(dashboard, /^ +1 {2}members, active$/m)
  assert.match(
    dashboard,
    /^ +0 {2}members, suspended\n +0 {2}of these members are machine accounts$/m,
  )
  assert.match(dashboard, /^ +3 {2}connections created$/m)

  const today = new Date().toISOString().slice(0, 10)
  const trend = ['org', 'trends', '--metric', 'connection_created'] as const
  assert.match((await ada.good([...trend])).out, /^DAY +COUNT\n(.+\n){29}[\d-]+ +3\n$/)
  const [point] = (await ada.json(...trend, '--from', today, '--bucket', 'week')).points
  assert.equal(point.value, 3)
  assert.equal(new Date(point.at).getUTCDay(), 1)
  for (const [args, says] of [
    [['trends', '--metric', 'happiness'], /--metric: "happiness" is not activity, .* or stamp\.$/m],
    [['trends', '--metric', 'stamp', '--bucket', 'hour'], /bucket/],
    [['trends', '--metric', 'stamp', '--from', '2010-01-01'], /bucket=week/],
    [['summary', '--from', '2010-01-01'], /366 days/],
    [['summary', '--to', '2026-02-30'], /an existing day/],
  ] as const)
    assert.match(await ada.refused('org', ...args), says)
})

describe('wrong usage sends no request', () => {
  for (const [words, says] of [
    [['org activity', '--limit', '0'], /--limit must be/],
    [['org activity', '--limit', '-1'], /--limit (must be|needs a value)/],
    [['org activity', '--limit', 'many\u001b[2J'], /--limit must be\P{Cc}*\n?$/u],
  ] as [words: [name: string, ...args: string[]], says: RegExp][])
    it(words.join(' ').replace(/[^ -~]/g, '?'), async () => {
      const { code, err } = await call({}, words).catch((error: unknown) => ({
        code: EXIT.failed,
        err: String(error),
      }))
      assert.equal(code, EXIT.failed)
      assert.match(err, says)
    })
})

test('reads all pages, and prints texts of others without terminal controls', async () => {
  const asked: unknown[] = []
  const item = (i: number) => ({
    id: `act_${i}`,
    at: '2026-01-01T00:00:00.000Z',
    actor: { user_id: 'acc_x', display_name: 'Eve\u001b[2J\u202e' },
    event: 'group_created',
    target: null,
    data: { name: `A\u0007${i}` },
  })
  const list = async (query: { limit: number; cursor?: string }) => {
    asked.push(query)
    return { items: Array.from({ length: query.limit }, (_, i) => item(i)), next_cursor: 'more' }
  }
  const api = { orgActivity: { list } } as unknown as Partial<Api>
  const { code, out } = await call(api, ['org activity', '--limit', '450'])
  assert.equal(code, EXIT.ok)
  assert.equal(out.trimEnd().split('\n').length, 451)
  assert.doesNotMatch(out, /(?!\n)[\p{Cc}\u202e]/u)
  assert.deepEqual(asked, [
    { limit: 200 },
    { limit: 200, cursor: 'more' },
    { limit: 50, cursor: 'more' },
  ])
})
