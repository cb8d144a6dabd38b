/**
 * The commands of notifications, external members and the guest codes that are mailed to them.
 */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { linkOf, wordsFrom } from '../e2e/peer.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'
import { WHEN } from './terminal.ts'

const minuteNow = () => Math.floor(Date.now() / 60_000)

test('notifications are listed, marked as read and deleted', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  assert.equal((await bob.good(['notification', 'list'])).out, 'ID  TIME    WHAT\n')
  for (const name of ['Bank', 'Club']) {
    const { id } = await ada.json('connection', 'create', '--name', name)
    await ada.good(['invite', id, bob.id])
  }
  const { items } = await bob.json('notification', 'list')
  const [second, first] = items as { id: string; body: string }[]
  assert.match(second!.body, /to the connection "Club"/)
  assert.match(
    (await bob.good(['notification', 'list'])).out,
    new RegExp(
      `^${second!.id}  ${WHEN} +new  ".*" invites you .*\\n {2}A person .*\\n${first!.id}`,
      'm',
    ),
  )
  const read = await bob.good(['notification', 'read', first!.id])
  assert.deepEqual([read.out, read.err], ['', 'Marked 1 notification as read.\n'])
  assert.match(
    (await bob.good(['notification', 'list'])).out,
    new RegExp(`^${first!.id}  ${WHEN} +"`, 'm'),
  )
  const unread = (await bob.json('notification', 'list', '--unread')).items as { id: string }[]
  assert.deepEqual(
    unread.map(({ id }) => id),
    [second!.id],
  )
  assert.deepEqual(await bob.json('notification', 'read'), { read: 1 })
  assert.equal((await bob.good(['notification', 'read'])).err, 'Marked 0 notifications as read.\n')

  assert.deepEqual(await ada.json('notification', 'delete', first!.id), { deleted: 0 })
  assert.match(
    await bob.refused('notification', 'delete', 'inv_1'),
    /Nothing here is called "inv_1"\. Notifications: ntf_/,
  )
  for (const args of [[], [first!.id, '--all']])
    assert.equal((await bob.on(['notification', 'delete', ...args])).code, EXIT.usage)
  assert.equal(
    (await bob.good(['notification', 'delete', first!.id])).err,
    'Deleted 1 notification.\n',
  )
  assert.deepEqual(await bob.json('notification', 'delete', '--all'), { deleted: 1 })
  assert.deepEqual(await bob.json('notification', 'list'), { items: [] })
})

test('an external member: created, sent a guest code by mail, deleted with the code', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  const given = [
    '--email',
    'Plumber@example.org',
    '--phone',
    '044 668 18 00',
    '--note',
    'Ring\ntwice',
  ]
  const made = await ada.good(['external', 'create', '--name', 'The plumber', ...given])
  const [id = ''] = made.out.split(' ')
  assert.equal(made.out, `${id}  The plumber\n`)
  assert.match(
    made.err,
    new RegExp(
      `^To create a guest code for them: countersignd guest create --for "The plumber" --label`,
    ),
  )
  const list = new RegExp(
    `^${id}  The plumber  plumber@example.org  044 668 18 00  Ring twice$`,
    'm',
  )
  assert.match((await ada.good(['external', 'list'])).out, list)
  assert.equal((await ada.on(['external', 'create'])).code, EXIT.usage)

  const guest = await ada.json('guest', 'create', '--label', 'Kitchen', '--for', id)
  assert.equal(guest.external_member_id, id)
  assert.match(
    (await ada.good(['guest', 'list'])).out,
    /^gst_\w+  Kitchen  The plumber  .*\(in 7 days\)  never$/m,
  )
  const { id: subject, k } = linkOf(guest.url)
  const words = wordsFrom({ label: 'guest', k, subject, speaker: subject, window: minuteNow() })
  assert.equal(
    (await ada.good(['verify', '--public', words])).out,
    'Verified: the words of guest "Kitchen" (The plumber).\n',
  )
  const sent = await ada.good(['guest', 'send', guest.id])
  assert.equal(sent.out, '')
  assert.match(
    sent.err,
    /^The mail with the link of "Kitchen" was only stored\. The account server has no mail relay/,
  )
  assert.equal(
    (await ada.json('guest', 'send', guest.id, '--to', 'other@example.org')).id,
    guest.id,
  )
  const forNobody = await ada.json('guest', 'create', '--label', 'Garden')
  assert.match(
    await ada.refused('guest', 'send', forNobody.id),
    /This guest code has no external member with an e-mail address\. Give the address with --to/,
  )
  assert.match(
    await ada.refused('guest', 'send', 'gst_1'),
    /No one here is called "gst_1"\. Guests: /,
  )
  for (const [wrong, says] of [
    ['ext_1', /No one here is called "ext_1"\. External members: "The plumber" \(ext_/],
    [`ext_${'0'.repeat(26)}`, /There is no external member with this id\. "countersignd external/],
  ] as const)
    assert.match(await ada.refused('guest', 'create', '--label', 'x', '--for', wrong), says)

  assert.match((await ada.good(['external', 'delete', id])).err, /^Deleted ext_.* and revoked/)
  assert.match(await ada.refused('external', 'delete', id), /There is no external member/)
  assert.match(await ada.refused('guest', 'send', guest.id, '--to', 'a@example.org'), /revoked/)
  const listed = async (...args: string[]) =>
    (await ada.json('guest', 'list', ...args)).items.map(
      ({ label, state }: { label: string; state: string }) => [label, state],
    )
  assert.deepEqual(await listed(), [['Garden', 'active']])
  assert.deepEqual(await listed('--state', 'revoked'), [['Kitchen', 'revoked']])
  assert.deepEqual(await listed('--all'), [
    ['Garden', 'active'],
    ['Kitchen', 'revoked'],
  ])
})

describe('text with terminal controls', () => {
  it('is printed without them', async () => {
    const item = {
      id: 'ntf_1',
      kind: 'x',
      title: 'a\u001b[31mb',
      body: 'c\u001b[2Jd',
      data: {},
      read: false,
      created_at: '',
    }
    const api = {
      notifications: { list: async () => ({ items: [item], next_cursor: null }) },
    } as unknown as Partial<Api>
    const { out } = await call(api, ['notification list'])
    assert.match(out, /a�\[31mb\n {2}c�\[2Jd\n$/)
  })

  it('other errors of sending are printed unchanged', async () => {
    const error = new AppError('rate_limited', 'Too many.')
    const api = { guestCodes: { send: () => Promise.reject(error) } } as unknown as Partial<Api>
    const { code, err } = await call(api, ['guest send', `gst_${'0'.repeat(26)}`])
    assert.deepEqual([code, err], [EXIT.failed, 'Too many.\n'])
  })
})
