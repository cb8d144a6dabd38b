/**
 * Members of an organisation: inviting, joining, listing, activating and suspending. For every
 * engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { OrgMember } from '../../../src/api/rest/org.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { lockOrganisation } from '../../../src/service/organisations/organisations.ts'
import type { Engine } from '../engines.ts'
import {
  type Organisations,
  activate,
  activeOf,
  invite,
  inviteAll,
  listed,
  openOrganisation,
  suspend,
  use,
} from './org-members-subject.ts'
import { type Person, newAddress } from '../person.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

export function orgMembersSuite(name: string, engine: Engine): void {
  describe(`members of an organisation: ${name}`, () => {
    let orgs: Organisations
    before(async () => {
      orgs = await openOrganisation(engine)
    })
    after(() => orgs.close())

    describe('inviting', () => {
      test('an invited mailbox is listed, and keeps its entry when an account joins by it', async () => {
        const ada = await orgs.owner()
        const address = newAddress()
        const made = await invite(ada, address.toUpperCase(), 'admin')
        assert.match(made.id, /^mem_/)
        const waiting: OrgMember = {
          id: made.id,
          user_id: null,
          email: address,
          display_name: null,
          kind: 'person',
          role: 'admin',
          state: 'invited',
          group_ids: [],
          joined_at: null,
          created_at: orgs.time(),
        }
        assert.deepEqual(made, waiting)
        assert.deepEqual((await listed(ada))[0], waiting)
        assert.deepEqual(await ada.account.orgMembers.read({ id: made.id }), waiting)

        orgs.later(1000)
        const bob = await orgs.byMail(address, 'Bob')
        const joined: OrgMember = {
          ...waiting,
          id: bob.id,
          user_id: bob.id,
          display_name: 'Bob',
          state: 'active',
          joined_at: orgs.time(),
        }
        for (const id of [bob.id, made.id])
          assert.deepEqual(await ada.account.orgMembers.read({ id }), joined)
        assert.deepEqual(
          (await listed(ada)).map((one) => [one.id, one.state, one.role]),
          [
            [bob.id, 'active', 'admin'],
            [ada.id, 'active', 'owner'],
          ],
        )
        await use(bob, ada.organisation)
        assert.equal((await listed(bob)).length, 2)
        assert.deepEqual(await orgs.events(ada.organisation), [
          { event: 'member_invited', actor: ada.id, target: made.id },
          { event: 'member_joined', actor: bob.id, target: bob.id },
        ])
      })

      test('each address gets its own result', async () => {
        const ada = await orgs.owner()
        const [bob, eve] = [await orgs.member(ada), await orgs.member(ada)]
        await suspend(ada, eve.id)
        const [waiting, first, second] = [newAddress(), newAddress(), newAddress()]
        await invite(ada, waiting)
        const stranger = await orgs.byMail()
        const proven = (await stranger.account.context.read({})).user.email as string
        const cases: [email: string, reason: string | null][] = [
          [first, null],
          ['', 'invalid_email'],
          ['  ', 'invalid_email'],
          ['no address', 'invalid_email'],
          ['<script>alert(1)</script>@example.org', 'invalid_email'],
          ['ada\u202egro.elpmaxe@example.org', 'invalid_email'],
          ['ada@example.org\nBcc: eve@example.org', 'invalid_email'],
          ['\ud800@example.org', 'invalid_email'],
          ['"ada"@example.org', 'invalid_email'],
          [`${'a'.repeat(65)}@example.org`, 'invalid_email'],
          [first.toUpperCase(), 'repeated'],
          [waiting, 'already_invited'],
          [bob.address, 'already_member'],
          [eve.address, 'suspended'],
          [proven, null],
          [` ${second.toUpperCase()}\t`, null],
        ]
        const { invited, skipped } = await inviteAll(
          ada,
          cases.map(([email]) => ({ email })),
        )
        assert.deepEqual(
          skipped,
          cases.flatMap(([email, reason]) => (reason === null ? [] : [{ email, reason }])),
        )
        assert.deepEqual(
          invited.map(({ email, user_id, state }) => [email, user_id, state]),
          [first, proven, second].map((email) => [email, null, 'invited']),
        )
        const again = await inviteAll(ada, [{ email: first }, { email: second }])
        assert.deepEqual(again, {
          invited: [],
          skipped: [first, second].map((email) => ({ email, reason: 'already_invited' })),
        })
      })

      test('an admin can give every role except owner', async () => {
        const ada = await orgs.owner()
        const admin = await orgs.member(ada, 'admin')
        const addresses = [newAddress(), newAddress(), newAddress()]
        const roles = ['owner', 'admin', 'member'] as const
        const { invited, skipped } = await inviteAll(
          admin,
          roles.map((role, i) => ({ email: addresses[i]!, role })),
        )
        assert.deepEqual(skipped, [{ email: addresses[0], reason: 'role_not_allowed' }])
        assert.deepEqual(
          invited.map(({ role }) => role),
          ['admin', 'member'],
        )
        assert.equal((await invite(ada, addresses[0]!, 'owner')).role, 'owner')
      })

      test('inviting a member widens the role and notifies them, and never narrows it', async () => {
        const ada = await orgs.owner()
        const admin = await orgs.member(ada, 'admin')
        const [bob, eve, waiting] = [await orgs.member(ada), await orgs.member(ada), newAddress()]
        const further = newAddress()
        await orgs.confirmed(bob, further)
        await suspend(ada, eve.id)
        const { id: mem } = await invite(ada, waiting)
        const before = (await orgs.events(ada.organisation)).length
        const all = await inviteAll(admin, [
          { email: bob.address, role: 'owner' },
          { email: bob.address, role: 'admin' },
          { email: further, role: 'admin' },
          { email: waiting, role: 'admin' },
          { email: eve.address, role: 'admin' },
          { email: admin.address, role: 'member' },
        ])
        assert.deepEqual(
          all.invited.map(({ id, role, state }) => [id, role, state]),
          [
            [bob.id, 'admin', 'active'],
            [mem, 'admin', 'invited'],
          ],
        )
        assert.deepEqual(
          all.skipped.map(({ reason }) => reason),
          ['role_not_allowed', 'repeated', 'suspended', 'already_member'],
        )
        assert.deepEqual((await orgs.events(ada.organisation)).slice(before), [
          { event: 'member_role_changed', actor: admin.id, target: bob.id },
          { event: 'member_role_changed', actor: admin.id, target: mem },
        ])
        assert.deepEqual(await notifiedIn(bob), ['org_role_changed'])
        assert.equal((await activeOf(bob))?.role, 'admin')
        assert.equal((await invite(ada, bob.address, 'owner')).role, 'owner')
        assert.equal((await suspend(bob, ada.id)).state, 'suspended', 'it was handed over')
        const carol = await orgs.byMail(waiting)
        assert.equal((await bob.account.orgMembers.read({ id: carol.id })).role, 'admin')
      })

      test('members see only the invited address of a member', async () => {
        const eve = await orgs.owner()
        const [own, further] = [newAddress(), newAddress()]
        const bob = await orgs.byMail(own)
        await orgs.confirmed(bob, further)
        const { id } = await invite(eve, further)
        await activate(eve, id)
        const all = [...(await listed(eve)), await eve.account.orgMembers.read({ id: bob.id })]
        assert.deepEqual(
          all.filter((one) => one.id === bob.id).map(({ email }) => email),
          [further, further],
        )
      })

      test('memberships given by others do not count towards the limit of own organisations', async () => {
        const bob = await orgs.byMail(newAddress(), 'Bob')
        const at = orgs.subject.clock.ms
        const made = Array.from({ length: 100 }, () => newId('org_', at))
        const { db } = orgs.hand
        await db
          .insertInto('organisations')
          .values(made.map((id) => ({ id, name: 'Trap', created_at: at })))
          .execute()
        const owner = { account_id: bob.id, role: 'owner', state: 'active', joined_at: at } as const
        await db
          .insertInto('organisation_members')
          .values(
            made.map((organisation_id) => {
              const member_id = newId('mem_', at)
              return { ...owner, organisation_id, member_id, invited_at: at }
            }),
          )
          .execute()
        const create = () => bob.account.organisations.create({ body: { name: 'Own' } })
        await create()
        await db.updateTable('organisation_members').set({ invited_at: null }).execute()
        await rejects('conflict', create())
      })

      test('500 at once, some of them known: each is written as a whole or not at all', async () => {
        const ada = await orgs.owner()
        const invites = Array.from({ length: 500 }, (_, i) => ({
          email: i % 5 === 4 ? `bad ${i}` : `p${i}.${ada.organisation}@example.org`,
        }))
        const both = [await inviteAll(ada, invites), await inviteAll(ada, invites)]
        assert.deepEqual(
          both.map(({ invited, skipped }) => [invited.length, skipped.length]),
          [
            [400, 100],
            [0, 500],
          ],
        )
        const all = await listed(ada)
        assert.equal(all.length, 401)
        assert.equal(new Set(all.map(({ id }) => id)).size, 401)
        assert.equal((await orgs.events(ada.organisation)).length, 400)
      })

      test('concurrent requests for the same addresses invite each once', async () => {
        const ada = await orgs.owner()
        const invites = Array.from({ length: 20 }, () => ({ email: newAddress() }))
        const there = orgs.inside(ada, orgs.replica)
        const answers = await Promise.all(
          [ada, there, ada, there].map((by, i) =>
            inviteAll(by, i % 2 === 0 ? invites : invites.toReversed()),
          ),
        )
        const ids = answers.flatMap(({ invited }) => invited.map(({ id }) => id))
        assert.equal(ids.length, 20)
        assert.equal((await listed(ada)).length, 21)
      })

      test('limits for an organisation and an hour hold, and a rejected request writes nothing', async () => {
        const ada = await orgs.owner()
        const at = orgs.subject.clock.ms
        const fill = (length: number) =>
          orgs.hand.db
            .insertInto('organisation_invites')
            .values(
              Array.from({ length }, () => {
                const id = newId('mem_', at)
                const email = `${id}@example.org`
                const of = { organisation_id: ada.organisation, role: 'member' as const }
                return { id, email, state: 'invited' as const, created_at: at, ...of }
              }),
            )
            .execute()
        for (let i = 0; i < 19; i++) await fill(1000)
        await fill(998)
        const two = [{ email: newAddress() }, { email: newAddress() }]
        await rejects('conflict', inviteAll(ada, two))
        assert.equal((await inviteAll(ada, two.slice(0, 1))).invited.length, 1)
        await rejects('conflict', inviteAll(ada, two.slice(1)))
        const events = (await orgs.events(ada.organisation)).map(({ event }) => event)
        assert.deepEqual(events, ['member_invited'])

        const bob = await orgs.owner()
        const tries = Array.from({ length: 9999 }, () => ({
          account_id: bob.id,
          what: 'org invite' as const,
          id: newId('', at),
          expires_at: at + 3_600_000,
        }))
        for (let from = 0; from < tries.length; from += 1000)
          await orgs.hand.db
            .insertInto('tries')
            .values(tries.slice(from, from + 1000))
            .execute()
        await rejects('rate_limited', inviteAll(bob, two))
        assert.equal((await listed(bob)).length, 1)
        await inviteAll(bob, two.slice(0, 1))
        orgs.later(3_600_000)
        await inviteAll(bob, two)
      })
    })

    const notifiedIn = async (who: Person) =>
      (await who.account.notifications.list({ limit: 5 })).items
        .map(({ kind }) => kind)
        .filter((kind) => /^org_(?!invited)/.test(kind))

    describe('the list', () => {
      test('names the groups of a member', async () => {
        const ada = await orgs.owner()
        const bob = await orgs.member(ada)
        const groups = []
        for (const name of ['East', 'West']) {
          const { id } = await ada.account.orgGroups.create({ body: { name } })
          await ada.account.orgGroups.addMembers({ id, body: { member_ids: [bob.id] } })
          groups.push(id)
        }
        const own = async () => [
          (await listed(ada)).find(({ id }) => id === bob.id)?.group_ids,
          (await ada.account.orgMembers.read({ id: bob.id })).group_ids,
        ]
        assert.deepEqual(await own(), [groups, groups])
        await ada.account.orgGroups.removeMembers({
          id: groups[0]!,
          body: { member_ids: [bob.id] },
        })
        await ada.account.orgGroups.delete({ id: groups[1]! })
        assert.deepEqual(await own(), [[], []])
      })

      test('while members join, all pages contain each earlier member once', async () => {
        const ada = await orgs.owner()
        const addresses = Array.from({ length: 12 }, newAddress)
        for (const email of addresses) await invite(ada, email)
        const seen: OrgMember[] = []
        let cursor: string | undefined
        for (;;) {
          const page = await ada.account.orgMembers.list({
            limit: 3,
            ...(cursor === undefined ? {} : { cursor }),
          })
          assert(page.items.length <= 3)
          seen.push(...page.items)
          if (page.next_cursor === null) break
          cursor = page.next_cursor
          await orgs.byMail(addresses[(seen.length * 5) % 12]!)
          await invite(ada, newAddress())
        }
        const known = seen.map(({ email }) => email)
        const own = (await ada.account.context.read({})).user.email
        assert.deepEqual(known, [...addresses.toReversed(), own])
      })

      test('contains a machine account, without mailbox and invitation', async () => {
        const ada = await orgs.owner()
        const { keys } = ada
        const { machine_id: id } = await ada.account.machines.create({
          body: { organisation_id: ada.organisation, name: 'Backup', key: keys.auth.jwk },
        })
        assert.deepEqual((await listed(ada))[0], {
          id,
          user_id: id,
          email: null,
          display_name: 'Backup',
          kind: 'machine',
          role: 'member',
          state: 'active',
          group_ids: [],
          joined_at: orgs.time(),
          created_at: orgs.time(),
        })
      })

      test('rejects foreign and malformed cursors', async () => {
        const ada = await orgs.owner()
        const cursors = ['', 'x', encodeBase64url(new TextEncoder().encode(ada.id))]
        for (const cursor of cursors)
          await rejects('bad_request', ada.account.orgMembers.list({ limit: 3, cursor }))
        const elsewhere = encodeBase64url(new TextEncoder().encode(newId('mem_', 0)))
        const page = await ada.account.orgMembers.list({ limit: 3, cursor: elsewhere })
        assert(page.items.every(({ id }) => id === ada.id))
      })
    })

    describe('ids from outside the organisation', () => {
      const calls = ['read', 'activate', 'suspend'] as const
      test('of strangers and other organisations, and malformed ones, are not found', async () => {
        const [ada, eve] = [await orgs.owner(), await orgs.owner('Eve', 'Evil')]
        const theirs = await orgs.member(eve)
        const waiting = await invite(eve, newAddress())
        const unknown = [newId('acc_', 0), newId('mem_', 0), newId('org_', 0), 'x', '', '1 or 1=1']
        for (const id of [eve.id, theirs.id, waiting.id, ada.organisation, ...unknown])
          for (const call of calls) await rejects('not_found', ada.account.orgMembers[call]({ id }))
        assert.equal((await listed(eve)).length, 3)
      })
    })

    describe('permissions', () => {
      const WRITES = ['activate', 'suspend', 'bulkInvite'] as const
      test('members read; owners and admins write; callers without an organisation get an error', async () => {
        const ada = await orgs.owner()
        const [admin, member] = [await orgs.member(ada, 'admin'), await orgs.member(ada)]
        const other = await orgs.member(ada)
        const outsider = await orgs.byMail()
        const gone = await orgs.member(ada, 'admin')
        await suspend(ada, gone.id)
        const rows: [who: typeof member | typeof outsider, reads: string, writes: string][] = [
          [ada, 'ok', 'ok'],
          [admin, 'ok', 'ok'],
          [member, 'ok', 'forbidden'],
          [outsider, 'no_active_organisation', 'no_active_organisation'],
          [gone, 'no_active_organisation', 'no_active_organisation'],
        ]
        const codes = (call: Promise<unknown>) =>
          call.then(
            () => 'ok',
            (error: { code: string }) => error.code,
          )
        for (const [who, reads, writes] of rows) {
          const { orgMembers: of } = who.account
          assert.equal(await codes(of.list({ limit: 1 })), reads)
          assert.equal(await codes(of.read({ id: ada.id })), reads)
          for (const call of WRITES)
            assert.equal(
              await codes(
                call === 'bulkInvite'
                  ? inviteAll(who, [{ email: newAddress() }])
                  : of[call]({ id: other.id }),
              ),
              writes,
              call,
            )
          await activate(ada, other.id)
        }
      })

      test('a member leaves by suspending themselves, and needs another to come back', async () => {
        const ada = await orgs.owner()
        const [bob, eve] = [await orgs.member(ada), await orgs.member(ada)]
        await rejects('forbidden', suspend(bob, eve.id))
        assert.equal((await suspend(bob, bob.id)).state, 'suspended')
        assert.deepEqual((await orgs.events(ada.organisation)).at(-1), {
          event: 'member_suspended',
          actor: bob.id,
          target: bob.id,
        })
        for (const move of [activate, suspend])
          await rejects('no_active_organisation', move(bob, bob.id))
        assert.deepEqual(await notifiedIn(bob), [], 'they know')
        await activate(ada, bob.id)
        await suspend(ada, bob.id)
        assert.deepEqual(await notifiedIn(bob), ['org_suspended', 'org_activated'])
      })

      /** Checks whether a query waits for a lock of another transaction. */
      const isAnybodyWaiting = async () => {
        const { rows } = await sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(orgs.hand.db)
        return rows.length > 0
      }

      if (engine.replicas)
        test('a member who is suspended while a request waits for a lock changes nothing', async () => {
          const ada = await orgs.owner()
          const bob = await orgs.member(ada)
          const writes: ((by: Person) => Promise<unknown>)[] = [
            ({ account }) => account.orgGroups.create({ body: { name: 'East' } }),
            ({ account }) =>
              account.orgAlerts.create({
                body: { name: 'x', event: 'stamp', threshold: 1, window_minutes: 1 },
              }),
            (by) => inviteAll(by, [{ email: newAddress() }]),
            (by) => suspend(by, bob.id),
          ]
          for (const write of writes) {
            const admin = await orgs.member(ada, 'admin')
            const { asked } = await orgs.hand.db.transaction().execute(async (trx) => {
              await lockOrganisation(trx, ada.organisation)
              const waits = rejects('forbidden', write(orgs.inside(admin, orgs.replica)))
              await until('a query that waits for a lock', isAnybodyWaiting)
              await trx
                .updateTable('organisation_members')
                .set({ state: 'suspended' })
                .where('account_id', '=', admin.id)
                .execute()
              return { asked: waits }
            })
            await asked
          }
        })

      if (engine.replicas)
        test('concurrently leaving and becoming owner never leaves an organisation without an owner', async () => {
          const ada = await orgs.owner()
          const mia = await orgs.member(ada)
          const address = newAddress()
          const bob = orgs.inside(await orgs.byMail(address), orgs.replica)
          const { id } = await invite(ada, address, 'owner')
          const { gone } = await orgs.hand.db.transaction().execute(async (trx) => {
            await trx
              .updateTable('accounts')
              .set((of) => ({ display_name: of.ref('display_name') }))
              .where('id', '=', bob.id)
              .execute()
            const going = rejects('conflict', bob.account.account.delete({}))
            await until('a query that waits for a lock', isAnybodyWaiting)
            await activate(ada, id)
            await ada.account.account.delete({})
            return { gone: going }
          })
          await gone
          assert.deepEqual(
            (await listed(mia)).map((one) => [one.id, one.role]),
            [
              [bob.id, 'owner'],
              [mia.id, 'member'],
            ],
          )
        })

      test('an admin cannot change an owner, or an invitation of one', async () => {
        const ada = await orgs.owner()
        const [admin, other] = [await orgs.member(ada, 'admin'), await orgs.member(ada, 'owner')]
        const waiting = await invite(ada, newAddress(), 'owner')
        for (const id of [ada.id, other.id, waiting.id])
          for (const change of [activate, suspend]) await rejects('forbidden', change(admin, id))
        await suspend(ada, other.id)
        await rejects('forbidden', activate(admin, other.id))
        assert.equal((await activate(ada, other.id)).state, 'active')
      })
    })
  })
}
