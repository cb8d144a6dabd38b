/** The commands of invitations. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'
import { WHEN } from './terminal.ts'

test('an address, an account, and an address without an account: listed, approved, declined, withdrawn', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id } = await ada.json('connection', 'create', '--name', 'Bank')

  const first = await ada.good(['invite', id, bob.email])
  assert.match(first.out, /^inv_\w{26} {2}bob@example\.org\n$/)
  assert.match(
    first.err,
    /^Valid until .*\(in 14 days\)\. When the invitation is approved, this device adds the person/,
  )
  const repeated = await ada.good(['invite', id, bob.email.toUpperCase()])
  assert.equal(repeated.out, first.out)
  assert.match(
    repeated.err,
    /^Already invited, so no new mail is sent\. Valid until .*\(in 14 days\)\./,
  )
  const { received } = await bob.json('invite', 'list')
  const listed = await bob.good(['invite', 'list'])
  assert.match(
    listed.out,
    new RegExp(`^${received[0].id}  from  .*<ada@example.org>  Bank .*  pending  ${WHEN}$`, 'm'),
  )
  const declined = await bob.good(['invite', 'decline', received[0].id])
  assert.equal(declined.err, 'Declined "Bank".\n')
  assert.match(await bob.refused('invite', 'approve', received[0].id), /Ask an owner .* again/)
  assert.match(await ada.refused('invite', 'withdraw', received[0].id), /was declined/)

  const second = await ada.json('invite', id, bob.id)
  const approved = await bob.good(['invite', 'approve', second.id])
  assert.match(
    approved.err,
    /^Approved "Bank", to which .+ invited you\. The inviter’s device adds you within seconds if it is connected, or/,
  )
  await bob.good(['invite', 'approve', second.id])
  const again = await ada.good(['invite', id, bob.id])
  assert.match(again.err, /^This invitation is already approved\. .*"countersignd sync"/)
  for (const one of [ada, bob]) await one.good(['sync'])
  const member = await bob.good(['invite', 'approve', second.id])
  assert.equal(member.err, 'Approved "Bank". You are already a member.\n')
  assert.match(await bob.refused('invite', 'decline', second.id), /"countersignd connection leave"/)
  assert.match(await ada.refused('invite', id, bob.id), /member/)
  assert.match(await ada.refused('invite', id, ada.id), /you/i)
  const nobody = `acc_${'0'.repeat(26)}`
  assert.match(await ada.refused('invite', id, nobody), /There is no account with this id\. /)
  const nothing = `con_${'0'.repeat(26)}`
  assert.match(await ada.refused('invite', nothing, bob.id), /There is no connection with this id/)

  const third = await ada.json('invite', id, 'carol@example.org')
  assert.match((await ada.good(['connection', 'members', id])).out, /^inv_\w{26} +carol@/m)
  const withdrawn = await ada.good(['invite', 'withdraw', third.id])
  assert.equal(withdrawn.err, 'Withdrew the invitation for carol@example.org.\n')
  const carol = await fixture.person('carol')
  assert.match(await carol.refused('invite', 'approve', third.id), /no invitation|withdrawn/)

  await bob.good(['connection', 'leave', id, '--yes'])
  assert.match(
    await bob.refused('invite', 'approve', second.id),
    /was already used\. You joined the connection with it, but are no longer a member\. Ask an owner/,
  )

  const both = await ada.json(
    'connection',
    'create',
    '--name',
    'Club',
    '--invite',
    bob.email,
    '--invite',
    carol.id,
  )
  assert.equal(both.members.length, 3)
  const { received: asked } = await carol.json('invite', 'list')
  assert(asked.some((one: { connection_id: string }) => one.connection_id === both.id))
})

describe('an invitation that can no longer be answered', () => {
  const id = `inv_${'0'.repeat(26)}`
  const cases: [command: string, state: string, says: RegExp][] = [
    ['approve', 'expired', /expired\. Ask an owner of the connection to invite you again/],
    ['approve', 'withdrawn', /withdrawn\. Ask an owner of the connection to invite you again/],
    ['approve', 'approved', /was already used/],
    ['approve', 'declined', /You declined this invitation/],
    ['decline', 'approved', /To leave the connection, use "countersignd connection leave"/],
    ['withdraw', 'expired', /so it cannot be withdrawn/],
    ['withdraw', 'approved', /"countersignd connection remove-member"/],
    ['approve', 'unheard of', /^as the server says$/m],
  ]
  for (const [command, state, says] of cases)
    it(`${command}: ${state}`, async () => {
      const refuse = async () => {
        throw new AppError('invalid_state', 'as the server says', { details: { state } })
      }
      const api = { invitations: { [command]: refuse } } as unknown as Api
      const { code, out, err } = await call(api, [`invite ${command}`, id])
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })

  for (const unknown of [`con_${'0'.repeat(26)}`])
    it(`an unknown invitation: ${unknown}`, async () => {
      const { code, err } = await call({} as Api, ['invite approve', unknown])
      assert.equal(code, EXIT.failed)
      assert.match(err, /There is no invitation with this id. "countersignd invite list" lists/)
    })
})
