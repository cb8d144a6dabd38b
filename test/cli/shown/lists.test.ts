/** What the lists of connections and organisations show, and what they leave out. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../e2e/caller.ts'
import { joinMembers, newCliFixture } from '../cli-fixture.ts'
import { WHEN } from '../terminal.ts'

test('connection list: who is in it, when words last verified, and no ended connection', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  await ada.good(['invite', id, 'carl@example.org'])
  const line = async (last: string) => {
    const { out, err } = await ada.good(['connection', 'list'])
    assert.equal(err, '')
    assert.match(out, /^ID +NAME +WITH +STATE +LAST VERIFIED\n/)
    const others = '.*"bob@example.org", carl@example.org \\(invited\\)'
    assert.match(out, new RegExp(`^${id}  Bank  ${others}  active  ${last}$`, 'm'))
  }
  await line('never')
  // Wrong words, and the own words of this account, count for nothing.
  await ada.on(['verify', (await ada.json('code', id)).words])
  await line('never')
  await ada.good(['verify', (await bob.json('code', id)).words])
  await line(WHEN)

  await ada.good(['connection', 'delete', id, '--yes'])
  await bob.good(['sync'])
  const shown = await bob.good(['connection', 'list'])
  assert.doesNotMatch(shown.out, /con_/)
  assert.equal(shown.err, '1 more has ended. To list all: --all\n')
  assert.deepEqual((await bob.json('connection', 'list')).items, [])
  assert.equal((await bob.json('connection', 'list', '--all')).items[0].id, id)
  assert.equal((await bob.json('connection', 'list', '--state', 'ended')).items[0].id, id)
})

test('connection show and members: the name that the user gave, then the own name and address', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  await bob.good(['profile', 'set', '--name', 'Bob Builder'])
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, [bob])
  await ada.good(['trust', 'follow', bob.email])
  await ada.good(['trust', 'rename', bob.id, 'My builder'])
  const { out: shown } = await ada.good(['connection', 'show', id])
  const name = 'My builder \\(calls itself "Bob Builder"\\)'
  assert.match(shown, new RegExp(`^Members  .*${name} <bob@example.org>`, 'm'))
  const { out } = await ada.good(['connection', 'members', id])
  assert.match(out, /^ID +NAME +ADDRESS +ROLE +STATE\n/)
  assert.match(out, new RegExp(`^${bob.id}  ${name}  bob@example.org  member  active$`, 'm'))
})

test('org list: the roles, the current one with its members', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  assert.deepEqual((await ada.json('org', 'list')).items, [])
  for (const name of ['Acme', 'Club']) await ada.good(['org', 'create', name])
  const before = (await ada.good(['org', 'list'])).out
  assert.match(before, /^ID +NAME +ROLE\n/)
  assert.match(before, /^org_\w{26}  Acme  owner$/m)
  await ada.good(['org', 'use', 'Acme'])
  await ada.good(['org', 'invite', 'bob@example.org'])
  const { out } = await ada.good(['org', 'list'])
  assert.match(out, /^org_\w{26} {2}Acme {2}owner {2}1 {8}current$/m)
  assert.match(out, /^org_\w{26} {2}Club {2}owner$/m)
  const { items } = await ada.json('org', 'list')
  const rows = items.map(({ name, current, members }: Json) => [name, current, members])
  assert.deepEqual(rows.toSorted(), [
    ['Acme', true, 1],
    ['Club', false, null],
  ])
})
