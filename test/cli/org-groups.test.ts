/** The commands of groups and alerts of an organisation. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'
import { WHEN } from './terminal.ts'

const GROUP = `grp_${'0'.repeat(26)}`
const ALERT = `alr_${'0'.repeat(26)}`
const ACCOUNT = `acc_${'0'.repeat(26)}`

test('groups are made, changed, filled and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  assert.match(await ada.refused('org', 'group', 'list'), /No organisation is active/)
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  const made = await ada.good([
    'org',
    'group',
    'create',
    '--name',
    'Sales',
    '--description',
    'A\nB',
  ])
  assert.match(made.out, /^grp_\w{26} {2}Sales\n$/)
  const [id = ''] = made.out.split(' ')
  const list = async () => (await ada.good(['org', 'group', 'list'])).out
  assert.match(await list(), /^ID +NAME +MEMBERS +DESCRIPTION\ngrp_\w+ +Sales +0 +A B\n$/)
  assert.match(
    await ada.refused('org', 'group', 'create', '--name', 'sales'),
    /a group with this name already/,
  )
  for (const _ of [1, 2]) {
    const { err } = await ada.good(['org', 'group', 'add', id, ada.id])
    assert.equal(err, '"Sales" has 1 member.\n')
  }
  assert.match(await list(), / Sales +1 /)
  assert.match(
    await ada.refused('org', 'group', 'add', id, ada.id, ACCOUNT),
    /"acc_\w+": No member of the organisation has this id/,
  )
  const changed = await ada.json(
    'org',
    'group',
    'update',
    id,
    '--name',
    'Trade',
    '--no-description',
  )
  assert.deepEqual([changed.name, changed.description, changed.member_count], ['Trade', null, 1])
  const left = await ada.json('org', 'group', 'remove', id, ada.id)
  assert.equal(left.member_count, 0)
  assert.deepEqual(await ada.json('org', 'group', 'delete', id), { id, state: 'deleted' })
  assert.match(
    await ada.refused('org', 'group', 'delete', id),
    /There is no group with this id\. .*org group list/,
  )
  assert.deepEqual(await ada.json('org', 'group', 'list'), { items: [] })
})

test('alerts are made, fired, changed and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  const rule = ['--name', 'Groups', '--event', 'group_created', '--threshold', '2']
  const made = await ada.good([
    'org',
    'alert',
    'create',
    ...rule,
    '--window',
    '2h',
    '--notify',
    ada.id,
  ])
  assert.match(made.out, /^alr_\w{26} {2}Groups\n$/)
  const [id = ''] = made.out.split(' ')
  const list = async () => (await ada.good(['org', 'alert', 'list'])).out
  assert.match(await list(), /^alr_\w+ +Groups +group_created +2 +2h +on +1 +never$/m)
  for (const name of ['One', 'Two']) await ada.good(['org', 'group', 'create', '--name', name])
  assert.match(await list(), new RegExp(` on +1 +${WHEN}$`, 'm'))
  const { out } = await ada.good(['notification', 'list'])
  assert.match(
    out,
    /The alert "Groups" of "Acme" fired\n.*a group was created 2 times or more within 120 min/,
  )

  const alert = (...args: string[]) => ada.json('org', 'alert', ...args)
  const changed = await alert(
    'update',
    id,
    '--off',
    '--no-notify',
    '--window',
    '5m',
    '--threshold',
    '7',
  )
  assert.deepEqual(
    [changed.enabled, changed.notify, changed.window_minutes, changed.threshold, changed.name],
    [false, [], 5, 7, 'Groups'],
  )
  assert.match(await list(), new RegExp(` 7 +5m +off +0 +${WHEN}`))
  assert.equal((await ada.json('org', 'alert', 'update', id, '--on')).enabled, true)
  assert.deepEqual(await ada.json('org', 'alert', 'delete', id), { id, state: 'deleted' })
  assert.match(
    await ada.refused('org', 'alert', 'delete', id),
    /There is no alert with this id\. .*org alert list/,
  )
})

describe('wrong usage sends no request', () => {
  const whole = ['--name', 'x', '--event', 'stamp', '--threshold', '1', '--window', '10m']
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['org group create'], /Missing: --name\. /],
    [['org group update', GROUP], /Nothing to change was given/],
    [
      ['org group update', GROUP, '--description', 'x', '--no-description'],
      /either --description or --no-description/,
    ],
    [['org group delete', ALERT], /There is no group with this id/],
    [['org alert create', ...whole.slice(2)], /Missing: --name\. /],
    [['org alert create', ...whole.slice(0, 6)], /Missing: --window\. /],
    [
      ['org alert create', ...whole, '--event', 'alert_fired'],
      /--event must be one of: member_inv/,
    ],
    [['org alert create', ...whole, '--event', 'rain'], /--event must be one of: member_invited/],
    [['org alert create', ...whole, '--threshold', 'many'], /--threshold must be a whole number/],
    [['org alert create', ...whole, '--threshold', '1.5'], /--threshold must be a whole number/],
    [['org alert create', ...whole, '--window', '90s'], /--window must be whole minutes/],
    [['org alert create', ...whole, '--window', 'soon'], /--window must be a duration/],
    [['org alert update', ALERT], /Nothing to change was given/],
    [['org alert update', ALERT, '--on', '--off'], /either --on or --off/],
    [['org alert update', ALERT, '--notify', ACCOUNT, '--no-notify'], /either --notify or --no-n/],
    [['org alert update', GROUP, '--on'], /There is no alert with this id/],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})

it('names are printed without terminal controls', async () => {
  const name = 'Bob\u001b[2J\u202e'
  const group = { id: GROUP, name, description: name, member_count: 1, created_at: '' }
  const rule = { event: 'stamp', threshold: 1, window_minutes: 1, enabled: true, notify: [] }
  const alert = { ...rule, id: ALERT, name, last_fired_at: null, created_at: '' }
  const of = (one: object) => ({
    list: async () => ({ items: [one], next_cursor: null }),
    create: async () => one,
    update: async () => one,
    addMembers: async () => one,
    removeMembers: async () => one,
  })
  const api = { orgGroups: of(group), orgAlerts: of(alert) } as unknown as Api
  const whole = ['--name', 'x', '--event', 'stamp', '--threshold', '1', '--window', '1m']
  for (const words of [
    ['org group list'],
    ['org group create', '--name', 'x'],
    ['org group update', GROUP, '--name', 'x'],
    ['org group add', GROUP, ACCOUNT],
    ['org group remove', GROUP, ACCOUNT],
    ['org alert list'],
    ['org alert create', ...whole],
    ['org alert update', ALERT, '--on'],
  ] as [name: string, ...args: string[]][]) {
    const { code, out, err } = await call(api, words)
    assert.equal(code, EXIT.ok, err)
    assert.match(out + err, /Bob�\[2J�/)
    for (const sign of ['\u001b', '\u202e']) assert(!(out + err).includes(sign))
  }
})
