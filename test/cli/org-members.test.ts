/** The commands of the members of an organisation. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import type { OrgMember } from '../../src/api/rest/org.ts'
import type { Api } from '../../src/cli/command.ts'
import { AppError, EXIT } from '../../src/errors.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { call } from './calling.ts'
import { newCliFixture } from './cli-fixture.ts'
import { WHEN } from './terminal.ts'

const MEMBER = `mem_${'0'.repeat(26)}`
const ACCOUNT = `acc_${'0'.repeat(26)}`
const ALERT = `alr_${'0'.repeat(26)}`

test('members are invited, listed, activated and suspended', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  assert.match(await ada.refused('org', 'members'), /No organisation is active/)
  const { out: made, err: next } = await ada.good(['org', 'create', 'Acme'])
  const [organisation = ''] = made.split(' ')
  assert.equal(
    next,
    `To make it the current organisation of this device: countersignd org use Acme\n`,
  )
  await ada.good(['org', 'use', organisation])

  const invite = await ada.on(['org', 'invite', bob.email, 'Carl@example.org', 'nobody'])
  assert.equal(invite.code, EXIT.failed)
  assert.match(
    invite.out,
    /^mem_\w{26} {2}bob@example\.org\nmem_\w{26} {2}carl@example\.org\nnot invited {2}nobody is not an e-mail address\n$/,
  )
  assert.equal(invite.err, 'Invited 2 of 3.\n')
  assert.deepEqual(await ada.json('org', 'invite', bob.email), {
    invited: [],
    skipped: [{ email: bob.email, reason: 'already_invited' }],
  })
  const [carl, invited] = (await ada.json('org', 'members')).items
  assert.deepEqual([invited.email, invited.state], [bob.email, 'invited'])
  assert.match(
    await ada.refused('org', 'activate', carl.id),
    /No account has confirmed this mailbox yet/,
  )

  const active = await ada.good(['org', 'activate', invited.id])
  assert.equal(active.out, '')
  assert.match(active.err, /^.+ is an active member\.\n$/)
  const { out } = await ada.good(['org', 'members'])
  const joined = `^${bob.id} +.* bob@example\\.org +member +active +${WHEN}$`
  assert.match(out, new RegExp(joined, 'm'))
  assert.match(out, /^mem_\w+ +carl@example\.org +member +invited +not yet$/m)
  await bob.good(['org', 'use', 'Acme'])
  assert.match(await bob.refused('org', 'suspend', ada.id), /owner or admin/)

  assert.match((await ada.good(['org', 'suspend', bob.id])).err, / is suspended\.\n$/)
  assert.match(await bob.refused('org', 'members'), /No organisation is active/)
  assert.match(
    await bob.refused('org', 'use', 'Acme'),
    /If you are suspended in it, ask one of its owners or admins/,
  )
  assert.equal((await ada.on(['org', 'invite', bob.email])).code, EXIT.failed)
  assert.equal((await ada.json('org', 'activate', bob.id)).state, 'active')
  assert.match(await ada.refused('org', 'suspend', ada.id), /last active owner/)
  assert.match(
    await ada.refused('org', 'suspend', ACCOUNT),
    /no organisation member with this id\. .*org members/,
  )
})

test('an invitation is suspended, and an organisation handed over and left', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  const [carl] = (await ada.json('org', 'invite', 'carl@example.org')).invited
  const suspended = await ada.good(['org', 'suspend', carl.id])
  assert.equal(suspended.err, 'The invitation of carl@example.org is suspended.\n')
  const refusing = await ada.on(['org', 'invite', 'carl@example.org'])
  assert.match(refusing.out, /^not invited {2}carl@example\.org is suspended; .*org activate/)
  assert.equal(refusing.code, EXIT.failed)
  const again = await ada.good(['org', 'activate', carl.id])
  assert.equal(again.err, 'carl@example.org is invited again.\n')

  const [invited] = (await ada.json('org', 'invite', bob.email)).invited
  await ada.good(['org', 'activate', invited.id])
  const owner = await ada.good(['org', 'invite', bob.email, '--role', 'owner'])
  assert.equal(owner.out, `${bob.id}  bob@example.org  is now owner\n`)
  const narrower = await ada.good(['org', 'invite', bob.email])
  assert.equal(narrower.out, 'not invited  bob@example.org is already a member\n')
  assert.match((await ada.good(['org', 'suspend', ada.id])).err, / is suspended\.\n$/)
  await bob.good(['org', 'use', 'Acme'])
  assert.match((await bob.good(['org', 'members'])).out, / owner +suspended /)
})

test('an invited mailbox is a member in the next command, without a daemon', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  const [invited] = (await ada.json('org', 'invite', bob.email)).invited
  await bob.good(['org', 'use', 'Acme'])
  assert.equal((await bob.json('org', 'members')).items.length, 2)

  await bob.good(['org', 'suspend', bob.id])
  assert.match(await bob.refused('org', 'members'), /No organisation is active/)
  const [, left] = (await ada.json('org', 'members')).items.toReversed()
  assert.deepEqual([left.id, left.state, left.email], [bob.id, 'suspended', bob.email])
  assert.notEqual(left.id, invited.id)
})

test('the list of members shows their groups', async (t) => {
  const fixture = await newCliFixture(t)
  const ada = await fixture.person('ada')
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])
  await ada.good(['org', 'invite', 'carl@example.org'])
  const groups = []
  for (const name of ['Sales', 'Night shift', 'Nobody'])
    groups.push((await ada.json('org', 'group', 'create', '--name', name)).id)
  const [sales, night] = groups
  for (const group of [sales, night]) await ada.good(['org', 'group', 'add', group, ada.id])

  const { out } = await ada.good(['org', 'members'])
  assert.match(out, /^ID +NAME +ADDRESS +ROLE +STATE +JOINED +GROUPS\n/)
  assert.match(out, /\) {2}(Sales, Night shift|Night shift, Sales)$/m)
  assert.match(out, /^mem_.* not yet$/m)
  for (const [named, whom] of [
    [sales, [ada.id]],
    ['night SHIFT', [ada.id]],
    ['Nobody', []],
  ] as const) {
    const { items } = await ada.json('org', 'members', '--group', named)
    assert.deepEqual(
      items.map((one: OrgMember) => one.id),
      whom,
    )
    for (const { group_ids } of items) assert.deepEqual(new Set(group_ids), new Set([sales, night]))
  }
  for (const named of ['Purchasing', ''])
    assert.match(
      await ada.refused('org', 'members', '--group', named),
      /Nothing here is called .*Groups: .*"Sales" \(grp_/,
    )
  for (const named of [ALERT, `grp_${'0'.repeat(26)}`])
    assert.match(
      await ada.refused('org', 'members', '--group', named),
      /There is no group with this id.*org group list/,
    )
})

/**
 * Returns an API that accepts every invitation and records the requests; from request number
 * `failing` on it fails.
 */
function taking(failing = Infinity) {
  const asked: { email: string; role?: string }[][] = []
  const orgMembers = {
    bulkInvite: async ({ body }: { body: { invites: { email: string; role?: string }[] } }) => {
      if (asked.length >= failing) throw new AppError('rate_limited', 'Slowly, please.')
      asked.push(body.invites)
      return {
        invited: body.invites.map((one) => ({ id: MEMBER, ...one }) as OrgMember),
        skipped: [],
      }
    },
  }
  return { asked, api: { orgMembers } as unknown as Api }
}

describe('org invite with many addresses', () => {
  const many = Array.from({ length: 1201 }, (_, i) => `p${i}@example.org`)

  it('reads them from a file or a pipe, 500 a request, without blank lines', async (t) => {
    const file = join(freshFolder(t), 'staff.txt')
    const text = `\n${many.join('\r\n')}\n  \n`
    writeFileSync(file, text)
    for (const [named, input] of [
      [file, ''],
      ['-', text],
    ] as const) {
      const { asked, api } = taking()
      const result = await call(api, ['org invite', '--file', named, '--role', 'admin'], { input })
      assert.equal(result.code, EXIT.ok, result.err)
      assert.deepEqual(
        asked.map(({ length }) => length),
        [500, 500, 201],
      )
      assert.deepEqual(
        asked.flat(),
        many.map((email) => ({ email, role: 'admin' })),
      )
      assert.equal(result.err, 'Invited 1201 of 1201.\n')
    }
  })

  it('after a failed request, reports the earlier ones', async () => {
    const { api } = taking(1)
    const { code, out, err } = await call(api, ['org invite', ...many])
    assert.equal(code, EXIT.failed)
    assert.equal(out.split('\n').length, 501)
    assert.equal(err, 'Invited 500 of 1201.\nSlowly, please.\n')
  })
})

describe('the exit code of an invitation shows whether an address was rejected', () => {
  const cases: [reasons: string[], code: number][] = [
    [[], EXIT.ok],
    [['repeated', 'already_member', 'already_invited'], EXIT.ok],
    [['invalid_email'], EXIT.failed],
    [['role_not_allowed'], EXIT.failed],
    [['suspended'], EXIT.failed],
    [['already_member', 'invalid_email'], EXIT.failed],
  ]
  for (const [reasons, code] of cases)
    for (const json of [[], ['--json']])
      it([...reasons, ...json].join(', ') || 'no reason', async () => {
        const skipped = reasons.map((reason) => ({ email: 'ada@example.org', reason }))
        const bulkInvite = async () => ({ invited: [], skipped })
        const api = { orgMembers: { bulkInvite } } as unknown as Api
        const result = await call(api, ['org invite', 'ada@example.org', ...json])
        assert.equal(result.code, code, result.err)
      })

  it('also for an address of an early request', async () => {
    let asked = 0
    const bulkInvite = async () => ({
      invited: [],
      skipped: asked++ === 0 ? [{ email: 'x', reason: 'invalid_email' }] : [],
    })
    const many = Array.from({ length: 501 }, (_, i) => `p${i}@example.org`)
    const api = { orgMembers: { bulkInvite } } as unknown as Api
    assert.equal((await call(api, ['org invite', ...many])).code, EXIT.failed)
    assert.equal(asked, 2)
  })
})

describe('wrong usage sends no request', () => {
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['org invite'], /Give at least one e-mail address, or --file/],
    [['org invite', '--file', '-'], /Give at least one e-mail address, or --file/],
    [['org invite', '--file', '/nowhere/at/all'], /--file: There is no file "\/nowhere\/at\/all"/],
    [
      ['org invite', 'ada@example.org', '--role', 'king'],
      /--role must be one of: owner, admin, member/,
    ],
    [['org suspend', `dev_${'0'.repeat(26)}`], /There is no organisation member with this id/],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})

it('names of others are printed without terminal controls', async () => {
  const member = {
    id: MEMBER,
    display_name: '\u001b[2Jada\u202e',
    email: null,
    kind: 'person',
    role: 'member',
    state: 'suspended',
  }
  const api = { orgMembers: { suspend: async () => member } } as unknown as Api
  const { err } = await call(api, ['org suspend', MEMBER])
  assert.equal(err, '�[2Jada� is suspended.\n')
})
