/**
 * The commands of connections, over an account server: their effects, their messages, and the
 * output for scripts.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext, test } from 'node:test'
import { AppError, EXIT } from '../../src/errors.ts'
import type { Api } from '../../src/cli/command.ts'
import { call } from './calling.ts'
import { type Person, newCliFixture, joinMembers } from './cli-fixture.ts'

/** Creates a connection of Ada with further members. */
async function connected(t: TestContext, ...names: string[]) {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  const others: Person[] = []
  for (const name of names) others.push(await fixture.person(name))
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')
  await joinMembers(ada, id, others)
  return { ada, id: id as string, others: others as [Person, Person] }
}

const says = async (one: Person, id: string): Promise<string> => (await one.json('code', id)).words

/** Returns the exit code of `verify` for these words. */
const hears = async (one: Person, input: string): Promise<number> =>
  (await one.on(['verify'], { input })).code

test('two people: shown, renamed, verified in both directions; a removed member no longer verifies', async (t) => {
  const {
    ada,
    id,
    others: [bob],
  } = await connected(t, 'bob')
  const shown = await ada.good(['connection', 'show', id])
  assert.match(
    shown.out,
    new RegExp(`^Name +Bank\nState +active \\(direct\\)\n(.*\n)*Id +${id}\n$`),
  )
  assert.match(shown.out, /^Secret +on this device; epoch 1$/m)
  const { out: members } = await ada.good(['connection', 'members', id])
  assert.match(members, new RegExp(`^${ada.id}  .* \\(you\\) +owner +active$`, 'm'))
  assert.match(members, new RegExp(`^${bob.id}  .*  member +active$`, 'm'))
  assert.equal((await ada.json('connection', 'rename', id, 'My bank')).name, 'My bank')
  assert.equal((await ada.json('connection', 'show', id)).name, 'My bank')
  assert.notEqual((await bob.json('connection', 'show', id)).name, 'My bank')

  const own = await bob.good(['code', id])
  assert.match(own.err, /only after "countersignd verify" has answered "Verified"/)
  assert.equal(await hears(ada, own.out), EXIT.ok)
  assert.equal(await hears(bob, await says(ada, id)), EXIT.ok)
  assert.equal(await hears(ada, await says(ada, id)), EXIT.notVerified)
  assert.equal(await hears(ada, own.out), EXIT.notVerified)

  const removed = await ada.good(['connection', 'remove-member', id, bob.id])
  assert.match(removed.err, /^Removed .*\. The other members get the new secret/)
  assert.equal(await hears(ada, await says(bob, id)), EXIT.notVerified)
  assert.equal((await ada.json('connection', 'show', id)).epoch, 2)
  await bob.good(['sync'])
  assert.match(await bob.refused('code', id), /There is no connection with this id/)
})

test('permissions of owners and members, and of the last owner', async (t) => {
  const {
    ada,
    id,
    others: [bob, carol],
  } = await connected(t, 'bob', 'carol')
  for (const args of [
    ['invite', id, 'dan@example.org'],
    ['connection', 'remove-member', id, carol.id],
    ['connection', 'role', id, bob.id, 'owner'],
  ])
    assert.match(await bob.refused(...args), /owner/i, args.join(' '))
  assert.match(
    await ada.refused('connection', 'leave', id, '--yes'),
    /only owner. Make another member an owner \("countersignd connection role"\)/,
  )
  assert.match(await ada.refused('connection', 'role', id, ada.id, 'member'), /only owner/)
  assert.match(
    await bob.refused('connection', 'delete', id, '--yes'),
    /it has other members and you are not its only owner\. To leave it, run "countersignd connection leave/,
  )
  assert.match(
    await ada.refused('connection', 'remove-member', id, ada.id),
    /This is your own id\. To leave the connection, run "countersignd connection leave con_/,
  )

  const mailbox = await ada.json('invite', id, 'dan@example.org')
  assert.match((await ada.good(['connection', 'members', id])).out, RegExp(`^${mailbox.id} `, 'm'))
  const withdrawn = await ada.good(['connection', 'remove-member', id, mailbox.id])
  assert.match(withdrawn.err, /^Withdrew the invitation of dan@example\.org/)

  const { err } = await ada.good(['connection', 'role', id, bob.id, 'owner'])
  assert.match(err, / is an owner\.\n$/)
  await ada.good(['connection', 'leave', id, '--yes'])
  assert.deepEqual((await ada.json('connection', 'list')).items, [])
  // Nothing verifies until a remaining member has rotated the secret.
  const { epoch } = await bob.json('rotate', id)
  assert.equal(epoch, 2)
  await carol.good(['sync'])
  assert.equal(await hears(carol, await says(bob, id)), EXIT.ok)
  assert.equal(await hears(bob, await says(carol, id)), EXIT.ok)
})

test('leave and delete ask at a terminal, and need --yes without one', async (t) => {
  const {
    ada,
    id,
    others: [bob],
  } = await connected(t, 'bob')
  assert.match(await bob.refused('connection', 'leave', id), /without a terminal, add --yes/)
  const no = await bob.on(['connection', 'leave', id], { person: () => 'no' })
  assert.deepEqual([no.code, no.out], [EXIT.failed, ''])
  assert.match(no.err, /You are about to leave ".*Nothing was done\.\n$/s)
  assert.equal((await bob.json('connection', 'list')).items.length, 1)
  const left = await bob.good(['connection', 'leave', id], { person: () => 'leave' })
  assert.match(left.err, /Left "/)
  assert.deepEqual((await bob.json('connection', 'list')).items, [])

  await ada.good(['sync'])
  assert.match(await ada.refused('connection', 'leave', id, '--yes'), /connection delete con_/)
  assert.match(await ada.refused('connection', 'delete', id), /without a terminal, add --yes/)
  assert.deepEqual(await ada.json('connection', 'delete', id, '--yes'), { id, state: 'deleted' })
  assert.match(await ada.refused('connection', 'show', id), /There is no connection with this id/)
})

test('connection list filters by tag, favourite and state', async (t) => {
  const { ada, id } = await connected(t, 'bob')
  const { id: alone } = await ada.json('connection', 'create', '--name', 'Club')
  const { id: tag } = await ada.json('tag', 'create', '--name', 'Work')
  await ada.good(['tag', 'assign', tag, id])
  await ada.good(['connection', 'favorite', alone])
  const listed = async (...args: string[]) =>
    ((await ada.json('connection', 'list', ...args)).items as { id: string }[]).map((one) => one.id)
  assert.deepEqual(await listed('--tag', tag), [id])
  assert.deepEqual(await listed('--favorite'), [alone])
  assert.deepEqual(await listed('--state', 'pending'), [alone])
  assert.deepEqual(await listed('--state', 'active', '--tag', tag), [id])
  assert.deepEqual(await listed('--state', 'ended'), [])
  assert.match(
    await ada.refused('connection', 'list', '--state', 'gone'),
    /--state: "gone" is not pending, active or ended\./,
  )
  assert.deepEqual(await listed('--tag', 'work'), [id])
  assert.match(
    await ada.refused('connection', 'list', '--tag', 'Home'),
    /Nothing here is called "Home"\. Tags: "Work"/,
  )
})

test('the only owner deletes a connection for all members, who can then delete it too', async (t) => {
  const {
    ada,
    id,
    others: [bob],
  } = await connected(t, 'bob')
  const words = await says(bob, id)
  const asked = await ada.good(['connection', 'delete', id], { person: () => 'delete' })
  assert.match(
    asked.err,
    /only owner of the connection, so it ends permanently for you and for the other member/,
  )
  assert.deepEqual((await ada.json('connection', 'list')).items, [])
  await bob.good(['sync'])
  assert.equal((await bob.json('connection', 'show', id)).state, 'ended')
  assert.match(await bob.refused('code', id), /ended this connection for all members/)
  assert.match(await bob.refused('connection', 'leave', id, '--yes'), /connection delete con_/)
  assert.equal(await hears(bob, words), EXIT.notVerified)
  assert.deepEqual(await bob.json('connection', 'delete', id, '--yes'), { id, state: 'deleted' })
  assert.deepEqual((await bob.json('connection', 'list')).items, [])
})

describe('names of others in the output', () => {
  const EVIL = 'Bob\u001b[2J\u202e'
  const id = `con_${'0'.repeat(26)}`
  const members = [
    {
      id: `acc_${'1'.repeat(26)}`,
      user_id: `acc_${'1'.repeat(26)}`,
      display_name: EVIL,
      name_source: 'self',
      name_marks: [],
      role: 'owner',
      state: 'active',
    },
    {
      id: `inv_${'1'.repeat(26)}`,
      user_id: null,
      display_name: EVIL,
      name_source: 'server',
      name_marks: [],
      role: 'member',
      state: 'invited',
    },
  ]
  const connection = { id, name: EVIL, kind: 'direct', state: 'ended', members, epoch: 1 }
  const answer = {
    ...connection,
    tag_ids: [],
    replaces: null,
    replaced_by: null,
    suspended: null,
    secret_here: true,
    created_at: '',
    updated_at: '',
  }
  const party = {
    user_id: null,
    display_name: EVIL,
    name_source: 'server',
    name_marks: [],
    email: EVIL,
  }
  const invitation = {
    id: `inv_${'0'.repeat(26)}`,
    direction: 'received',
    connection_id: id,
    connection_name: EVIL,
    from: party,
    to: party,
    state: 'pending',
    expires_at: '',
    created_at: '',
  }
  const waits = new AppError('secret_unavailable', `Waiting for a device of "${EVIL}".`)
  const yes = async () => answer
  const approved = async () => invitation
  const api = {
    connections: {
      read: yes,
      code: () => Promise.reject(waits),
      update: yes,
      favorite: yes,
      create: yes,
      delete: async () => undefined,
      rotate: yes,
    },
    members: { add: approved, remove: async () => undefined, role: yes },
    context: { read: async () => ({ user: { id: '' } }) },
    trustCards: {
      list: async () => ({
        items: [{ user_id: members[0]?.user_id, own_name: EVIL }],
        next_cursor: null,
      }),
    },
    invitations: {
      list: async () => ({ received: [invitation], sent: [{ ...invitation, direction: 'sent' }] }),
      approve: approved,
      decline: approved,
      withdraw: approved,
    },
  } as unknown as Api
  const member = members[0]?.id as string
  const calls: [name: string, ...args: string[]][] = [
    ['connection create', '--name', 'x'],
    ['connection show', id],
    ['connection members', id],
    ['connection rename', id, 'x'],
    ['connection favorite', id],
    ['connection remove-member', id, member],
    ['connection role', id, member, 'owner'],
    ['connection delete', id, '--yes'],
    ['invite', id, 'bob@example.org'],
    ['invite list'],
    ['invite approve', invitation.id],
    ['invite decline', invitation.id],
    ['invite withdraw', invitation.id],
    ['rotate', id],
  ]
  it('connection show prints the state of the secret without terminal controls', async () => {
    const shown = await call(api, ['connection show', id])
    assert.match(shown.out, /^Words {4}Waiting for a device of "Bob\ufffd\[2J\ufffd"\.$/m)
  })

  for (const words of calls)
    it(`${words[0]} prints them without terminal controls`, async () => {
      const { code, out, err } = await call(api, words)
      assert.equal(code, EXIT.ok, err)
      assert.match(out + err, /Bob�\[2J�/)
      for (const sign of ['\u001b', '\u202e']) assert(!(out + err).includes(sign))
    })
})

describe('wrong usage', () => {
  const api = {} as Api
  const id = `con_${'0'.repeat(26)}`
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['connection create', '--invite', 'bob@example.org'], /Missing: --name\. /],
    [['connection role', id, 'acc_x', 'boss'], /The role must be owner or member/],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call(api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})
