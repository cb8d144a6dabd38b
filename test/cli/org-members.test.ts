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
import { newTown } from './town.ts'

const MEMBER = `mem_${'0'.repeat(26)}`
const ACCOUNT = `acc_${'0'.repeat(26)}`

test('invited, listed, activated, suspended', async (t) => {
  const town = await newTown(t)
  const [ada, bob] = [await town.person('ada'), await town.person('bob')]
  assert.match(await ada.refused('org', 'members'), /No organisation is active/)
  await ada.good(['org', 'create', 'Acme'])
  await ada.good(['org', 'use', 'Acme'])

  const made = await ada.good(['org', 'invite', bob.email, 'Carl@example.org', 'nobody'])
  assert.match(
    made.out,
    /^mem_\w{26} {2}bob@example\.org\nmem_\w{26} {2}carl@example\.org\nnot invited {2}nobody is no e-mail address\n$/,
  )
  assert.equal(made.err, 'Invited 2 of 3.\n')
  const again = await ada.json('org', 'invite', bob.email, '--role', 'admin')
  assert.deepEqual(again, {
    invited: [],
    skipped: [{ email: bob.email, reason: 'already_invited' }],
  })
  const [carl, invited] = (await ada.json('org', 'members')).items
  assert.deepEqual([invited.email, invited.state], [bob.email, 'invited'])
  assert.match(await ada.refused('org', 'activate', carl.id), /Nobody has proven this mailbox yet/)
  assert.match(await ada.refused('org', 'suspend', carl.id), /was only invited/)

  const active = await ada.good(['org', 'activate', invited.id])
  assert.equal(active.out, '')
  assert.match(active.err, /^.+ is an active member\.\n$/)
  const { out } = await ada.good(['org', 'members'])
  assert.match(out, new RegExp(`^${bob.id} +.* bob@example\\.org +member +active +2`, 'm'))
  assert.match(out, /^mem_\w+ +carl@example\.org +member +invited +not yet$/m)
  await bob.good(['org', 'use', 'Acme'])
  assert.match(await bob.refused('org', 'suspend', ada.id), /owner or admin/)

  assert.match((await ada.good(['org', 'suspend', bob.id])).err, / is suspended\.\n$/)
  assert.match(await bob.refused('org', 'members'), /No organisation is active/)
  assert.equal((await ada.json('org', 'activate', bob.id)).state, 'active')
  assert.match(await ada.refused('org', 'suspend', ada.id), /last active owner/)
  assert.match(await ada.refused('org', 'suspend', ACCOUNT), /no member with this id .*org members/)
})

/** An organisation that takes whoever comes, and remembers the requests; from the one of that number on it fails. */
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

describe('many addresses', () => {
  const many = Array.from({ length: 1201 }, (_, i) => `p${i}@example.org`)

  it('from a file, and from a pipe: 500 a request, blank lines left out', async (t) => {
    const file = join(freshFolder(t), 'staff.txt')
    const text = `\n${many.join('\r\n')}\n  \n`
    writeFileSync(file, text)
    for (const [named, input] of [
      [file, ''],
      ['-', text],
    ] as const) {
      const { asked, api } = taking()
      const said = await call(api, ['org invite', '--file', named, '--role', 'admin'], { input })
      assert.equal(said.code, EXIT.ok, said.err)
      assert.deepEqual(
        asked.map(({ length }) => length),
        [500, 500, 201],
      )
      assert.deepEqual(
        asked.flat(),
        many.map((email) => ({ email, role: 'admin' })),
      )
      assert.equal(said.err, 'Invited 1201 of 1201.\n')
    }
  })

  it('where a later request fails: what was done before is told', async () => {
    const { api } = taking(1)
    const { code, out, err } = await call(api, ['org invite', ...many])
    assert.equal(code, EXIT.failed)
    assert.equal(out.split('\n').length, 501)
    assert.equal(err, 'Invited 500 of 1201.\nSlowly, please.\n')
  })
})

describe('wrong usage asks nobody', () => {
  const cases: [words: [name: string, ...args: string[]], says: RegExp][] = [
    [['org invite'], /Give an address, or a --file/],
    [['org invite', '--file', '-'], /Give an address, or a --file/],
    [['org invite', '--file', '/nowhere/at/all'], /\/nowhere\/at\/all cannot be read/],
    [['org invite', 'ada@example.org', '--role', 'king'], /--role is one of owner, admin, member/],
    [['org activate', 'Bob'], /There is no member with this id/],
    [['org suspend', `dev_${'0'.repeat(26)}`], /There is no member with this id/],
  ]
  for (const [words, says] of cases)
    it(words.join(' '), async () => {
      const { code, out, err } = await call({} as Api, words)
      assert.deepEqual([code, out], [EXIT.failed, ''])
      assert.match(err, says)
    })
})

it('what others are called is no command for the terminal', async () => {
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
