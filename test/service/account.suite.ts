/**
 * The deletion of an account at the account server. No row of the account is left, and other
 * accounts lose nothing of their own. For every engine.
 */
import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { writeActivities } from '../../src/service/organisations/activity-rows.ts'
import { accountsInRoster, verifyRoster } from '../../src/crypto/logs/roster.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { approved, changeBy, knownBy, make, joinMember } from './connections/connecting.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { rejects } from '../rejects.ts'
import type { AppError } from '../../src/errors.ts'
import {
  approve,
  connect,
  enrol,
  enrolByMail,
  enrolled,
  join,
  mailedCode,
  newAddress,
  stampOf,
  type Person,
} from './person.ts'
import { openSubject, type LocalSubject, type Place } from './subject.ts'

const DAY = 24 * 3_600_000

/** Returns a verification log entry as a device sends it, with the member that matched. */
const verificationOf = (connection_id: string, member_id: string) =>
  JSON.stringify({
    id: newId('ver_', Date.now()),
    at: '2026-01-01T00:00:00.000Z',
    method: 'local',
    outcome: 'verified',
    matches: [
      {
        kind: 'connection',
        speaker: 'other',
        connection_id,
        connection_name: 'Club',
        member_id,
        display_name: 'x',
        window: 1,
      },
    ],
    caller: null,
  })

export function accountEndSuite(name: string, { newPlace }: Engine): void {
  describe(`account deletion: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    /** Returns every row of the database as text, by table. */
    async function everything(): Promise<Map<string, string[]>> {
      const tables = await hand.db.introspection.getTables()
      const all = new Map<string, string[]>()
      for (const { name: table } of tables) {
        const rows = await hand.db
          .selectFrom(table as 'accounts')
          .selectAll()
          .execute()
        all.set(
          table,
          rows.map((row) => JSON.stringify(row)),
        )
      }
      return all
    }
    /** Returns the tables that contain one of the ids. */
    const tablesWith = async (ids: readonly string[]) =>
      [...(await everything())]
        .filter(([, rows]) => rows.some((row) => ids.some((id) => row.includes(id))))
        .map(([table]) => table)
        .toSorted()

    const person = (called: string) => enrol(subject.server, called)
    /** Deletes the account, called in this process, where the clock ends no session. */
    const end = ({ account }: Pick<Person, 'account'>) => account.account.delete({})
    const newOrganisation = ({ account }: Person, called = 'Example') =>
      account.organisations.create({ body: { name: called } })
    const joined = (organisation_id: string, account_id: string, role: 'owner' | 'member') =>
      hand.db
        .insertInto('organisation_members')
        .values({
          organisation_id,
          account_id,
          role,
          state: 'active',
          joined_at: 1,
          member_id: newId('mem_', Date.now()),
        })
        .execute()
    const newMachine = async ({ account }: Person, organisation_id: string) =>
      (
        await account.machines.create({
          body: { organisation_id, name: 'billing', key: newDeviceKeys().auth.jwk },
        })
      ).machine_id

    /**
     * Adds rows of an account to all tables that an account may have rows in; returns their ids.
     */
    async function populate({ id: account_id, device }: Person, connection: string, other: Person) {
      const { db } = hand
      const made = { created_at: 1 }
      const id = (prefix: string) => newId(prefix, Date.now())
      const [tag, preset, link, request] = [id('tag_'), id('pre_'), id('lnk_'), id('req_')]
      const [external, guest, note, claim] = [id('ext_'), id('gst_'), id('ntf_'), id('eml_')]
      const [file, turn, feedbackId, token] = [id('exp_'), id('trn_'), id('fbk_'), id('tok_')]
      await db
        .insertInto('tags')
        .values({ id: tag, account_id, name: 'x', color: null, ...made })
        .execute()
      await db
        .insertInto('tag_assignments')
        .values({ account_id, connection_id: connection, tag_id: tag })
        .execute()
      await db
        .insertInto('presets')
        .values({
          id: preset,
          account_id,
          name: 'x',
          favorite: 0,
          invite_message: null,
          invitation_expires_in: null,
          is_default: 1,
          ...made,
        })
        .execute()
      await db.insertInto('preset_tags').values({ preset_id: preset, tag_id: tag }).execute()
      const slug = { slug: link, title: 'x', state: 'active' as const, preset_id: preset }
      await db
        .insertInto('open_links')
        .values({ id: link, account_id, ...slug, ...made })
        .execute()
      await db
        .insertInto('open_link_requests')
        .values({
          id: request,
          open_link_id: link,
          account_id,
          display_name: 'x',
          email: 'x@example.org',
          message: null,
          state: 'pending',
          token_hash: null,
          connection_id: connection,
          expires_at: null,
          ...made,
        })
        .execute()
      const reach = { display_name: 'x', email: null, phone: null, note: null }
      await db
        .insertInto('external_members')
        .values({ id: external, account_id, ...reach, ...made })
        .execute()
      await db
        .insertInto('guest_codes')
        .values({
          id: guest,
          account_id,
          label: 'x',
          expires_at: 1,
          revoked_at: null,
          last_opened_at: null,
          external_member_id: external,
          ...made,
        })
        .execute()
      const fields = { kind: 'x', title: 'x', body: 'x', data: '{}', read_at: null }
      await db
        .insertInto('notifications')
        .values({ id: note, account_id, ...fields, ...made })
        .execute()
      await db
        .insertInto('email_claims')
        .values({
          id: claim,
          account_id,
          address: newAddress(),
          token_hash: claim,
          expires_at: 1,
          ...made,
        })
        .execute()
      await db
        .insertInto('exports')
        .values({
          id: file,
          account_id,
          state: 'ready',
          progress: 100,
          size_bytes: 1,
          error: null,
          builder: null,
          builder_until: null,
          finished_at: 1,
          expires_at: 1,
          ...made,
        })
        .execute()
      await db
        .insertInto('export_parts')
        .values({ export_id: file, seq: 0, bytes: randomBytes(8) })
        .execute()
      await db
        .insertInto('chat_turns')
        .values({
          id: turn,
          account_id,
          conversation_id: id('cnv_'),
          message: 'x',
          answer: null,
          rating: null,
          comment: null,
          ...made,
        })
        .execute()
      await db
        .insertInto('feedback')
        .values({ id: feedbackId, account_id, message: 'x', category: null, ...made })
        .execute()
      await db
        .insertInto('preferences')
        .values({
          account_id,
          locale: null,
          time_zone: null,
          public_code: 1,
          email_notifications: 1,
          findable_by_email: 1,
        })
        .execute()
      await db.insertInto('public_codes').values({ account_id, k: 'k', turn: 1 }).execute()
      await db
        .insertInto('tries')
        .values({ account_id, what: 'chat', id: '1', expires_at: 1 })
        .execute()
      for (const [watching, watched_id] of [
        [account_id, other.id],
        [other.id, account_id],
      ] as const) {
        const card = { account_id: watching, watched_id }
        await db
          .insertInto('trust_cards')
          .values({ ...card, note: null, confirmed_at: null, last_verified_at: null, ...made })
          .execute()
        await db
          .insertInto('trust_events')
          .values({ id: id('evt_'), ...card, at: 1, event: 'followed', detail: null })
          .execute()
      }
      for (const [viewer, speaker] of [
        [account_id, other.id],
        [other.id, account_id],
      ] as const)
        await db
          .insertInto('verifications')
          .values({
            account_id: viewer,
            id: id('ver_'),
            entry: verificationOf(connection, speaker),
          })
          .execute()
      await db
        .insertInto('machine_tokens')
        .values({
          id: token,
          account_id,
          hash: token,
          name: 'x',
          label: null,
          scope: 'read',
          granted: 0,
          expires_at: null,
          revoked_at: null,
          last_used_at: null,
          ...made,
        })
        .execute()
      for (const [caller, answer] of [
        [account_id, '{}'],
        [device, '{}'],
        [token, '{}'],
        [other.device, JSON.stringify({ to: account_id })],
      ] as const)
        await db
          .insertInto('idempotency')
          .values({ caller, key: caller, fingerprint: '', answer, at: Date.now() })
          .execute()
      return [
        tag,
        preset,
        link,
        request,
        external,
        guest,
        note,
        claim,
        file,
        turn,
        feedbackId,
        token,
      ]
    }

    /** Adds rows of an account to the tables of an organisation that it is a member of. */
    async function workIn(organisation_id: string, account_id: string) {
      const { db } = hand
      const [group, alert] = [newId('grp_', Date.now()), newId('alr_', Date.now())]
      const of = { organisation_id, name: 'x', created_at: 1 }
      await db
        .insertInto('organisation_groups')
        .values({ ...of, id: group, description: null })
        .execute()
      await db
        .insertInto('organisation_group_members')
        .values({ group_id: group, organisation_id, account_id })
        .execute()
      await db
        .insertInto('organisation_alerts')
        .values({
          ...of,
          id: alert,
          event: 'stamp',
          threshold: 1,
          window_minutes: 1,
          enabled: 1,
          last_fired_at: null,
        })
        .execute()
      await db
        .insertInto('organisation_alert_notify')
        .values({ alert_id: alert, organisation_id, account_id })
        .execute()
      const at = subject.clock.ms
      for (const actor of [account_id, null])
        await db
          .transaction()
          .execute((trx) =>
            writeActivities(
              trx,
              organisation_id,
              [{ event: 'member_joined', actor, target: account_id }],
              at,
            ),
          )
    }

    test('deletes every row of the account and of its further devices from every table', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email, 'Ada')
      const bob = await person('Bob')
      const second = await join(subject.server, await mailedCode(subject.server, email))
      await approve(ada, second)
      const waiting = await join(subject.server, await mailedCode(subject.server, email))
      const { id: shared } = await connect(ada, 'Club')
      await joinMember(ada, shared, bob, 'owner')
      const { id: own } = await connect(ada, 'Alone')
      const { jti, stamp } = stampOf(ada)
      await ada.account.stamps.create({ body: { stamp } })
      await ada.account.changes.read({})
      await ada.account.members.add({ id: own, body: { email: newAddress() } })
      const { id: organisation } = await newOrganisation(ada)
      const machine = await newMachine(ada, organisation)
      const remaining = await newOrganisation(bob, 'Bob’s')
      await joined(remaining.id, ada.id, 'owner')
      const elsewhere = await newMachine(ada, remaining.id)
      await workIn(remaining.id, ada.id)
      await subject.server.newEnrolmentCode(ada.id)
      await subject.server.door().signIns.create({ body: { email } })
      const ids = [
        ada.id,
        ada.device,
        second.device,
        waiting.device,
        email,
        jti,
        own,
        organisation,
        ...[ada, second, waiting].map(({ enrolment }) => enrolment.session.session_id),
        ...(await populate(ada, shared, bob)),
        machine,
      ]
      const columns = (await hand.db.introspection.getTables()).filter((table) =>
        table.columns.some((column) => column.name === 'account_id'),
      )
      const full = await tablesWith([ada.id, machine])
      for (const { name: table } of columns)
        assert(full.includes(table), `the test knows no row of an account in ${table}`)

      await end(ada)
      // The logs of other accounts name the members that they verified, and belong to those
      // accounts.
      assert.deepEqual(await tablesWith(ids), ['verifications'])
      const logged = await hand.db.selectFrom('verifications').select('account_id').execute()
      assert.deepEqual(
        logged.map(({ account_id }) => account_id),
        [bob.id],
      )
      for (const { account } of [ada, second, waiting])
        await rejects('invalid_token', account.context.read({}))
      // The rows of other accounts stay.
      const { members, state } = await bob.account.connections.read({ id: shared })
      assert.deepEqual([members.map(({ user_id }) => user_id), state], [[bob.id], 'pending'])
      const { organisations } = await bob.account.context.read({})
      assert.deepEqual(organisations, [{ id: remaining.id, name: 'Bob’s', role: 'owner' }])
      assert.deepEqual(await tablesWith([elsewhere]), [
        'accounts',
        'machines',
        'organisation_activities',
        'organisation_members',
      ])
      assert.deepEqual(await subject.server.letters(email), [], 'no letter to her either')
      // The mailbox is free again: its owner can create an account with it.
      const again = await enrolByMail(subject.server, email, 'Ada')
      assert.notEqual(again.id, ada.id)
      assert.deepEqual((await again.account.connections.list({})).items, [])
    })

    test('remaining members can check the history, former members included; other accounts cannot', async () => {
      const [ada, bob, cy, eve] = [
        await person('Ada'),
        await person('Bob'),
        await person('Cy'),
        await person('Eve'),
      ]
      const { id } = await connect(ada, 'Club')
      await joinMember(ada, id, bob, 'owner')
      await joinMember(ada, id, cy)
      await make(cy, id, { op: 'leave' })
      await make(bob, id, { op: 'rotate' })
      for (const gone of [cy, ada]) await end(gone)
      const { entries, key_logs } = await bob.account.rosters.read({ connection: id })
      assert.deepEqual(accountsInRoster(entries), [ada.id, bob.id, cy.id])
      assert.deepEqual(
        new Map(key_logs.map((one) => [one.account, [one.seq, one.departed_epoch]])),
        new Map([
          [bob.id, [0, undefined]],
          [ada.id, [0, 2]],
          [cy.id, [0, 2]],
        ]),
      )
      const { roster } = await knownBy(bob, id)
      assert.equal(roster.epoch, 2)
      for (const stranger of [eve, cy, ada])
        await rejects(
          stranger === eve ? 'not_found' : 'invalid_token',
          stranger.account.keyLogs.read({ account: ada.id }),
        )
      // No envelope is sealed to a deleted account: the server rejects the change, and the device
      // has to make another.
      const { body } = await changeBy(bob, id, { op: 'rotate' })
      await rejects('conflict', bob.account.rosters.append({ connection: id, body }))
      const envelopes = body.envelopes.slice(1)
      await bob.account.rosters.append({ connection: id, body: { ...body, envelopes } })
      const { next, body: removal } = await changeBy(bob, id, { op: 'remove', member: ada.id })
      await bob.account.rosters.append({ connection: id, body: removal })
      assert.deepEqual(
        verifyRoster(id, next.roster.entries, next.keyLogs).members.map(({ account }) => account),
        [bob.id],
      )
    })

    test('notifies remaining members once for each connection that the account had not left by a signed entry', async () => {
      const [ada, bob] = [await person('Ada <b>'), await person('Bob')]
      const { id } = await connect(ada, 'Club')
      await joinMember(ada, id, bob)
      for (const data of [
        { user_id: ada.id },
        { user_id: ada.id, b: '1' },
        { a: '1', user_id: ada.id, b: '2' },
      ])
        await hand.db
          .insertInto('notifications')
          .values({
            id: newId('ntf_', Date.now()),
            account_id: bob.id,
            kind: 'keys_changed',
            title: 'x',
            body: 'x',
            data: JSON.stringify(data),
            read_at: null,
            created_at: 1,
          })
          .execute()
      await end(ada)
      const { items } = await bob.account.notifications.list({})
      const before = items.filter(({ kind }) => kind === 'keys_changed')
      assert.deepEqual(
        new Set(before.map(({ data }) => JSON.stringify(data))),
        new Set(['{}', '{"b":"1"}', '{"a":"1","b":"2"}']),
      )
      const left = items.filter(({ kind }) => kind === 'member_left')
      assert.equal(left.length, 1)
      assert.match(left[0]!.body, /^"Ada <b>" left the connection/)
      assert.deepEqual(left[0]!.data, { connection_id: id })
    })

    test('deletes the notifications that name the account also for former members and after the connection ended', async () => {
      const [ada, bob, cy] = [await person('Ada'), await person('Bob'), await person('Cy')]
      const { id } = await connect(ada, 'Club')
      await joinMember(ada, id, bob)
      await joinMember(ada, id, cy)
      await make(bob, id, { op: 'leave' })
      const { id: ended } = await connect(bob, 'Ended')
      await approved(bob, ended, cy)
      await bob.account.connections.delete({ id: ended })
      const named = async () => {
        const { items } = await bob.account.notifications.list({})
        return items.filter(({ data }) => data['user_id'] === cy.id).map(({ kind }) => kind)
      }
      assert.deepEqual((await named()).toSorted(), ['invitation_approved', 'member_joined'])
      await end(cy)
      assert.deepEqual(await named(), [])
      assert(!(await tablesWith([cy.id])).includes('notifications'))
    })

    test('the last member’s deletion deletes the connection; the ids of deleted accounts cannot be reused before', async () => {
      const [ada, bob] = [await person('Ada'), await person('Bob')]
      const { id } = await connect(ada, 'Club')
      await joinMember(ada, id, bob)
      await end(ada)
      await rejects(
        'conflict',
        enrolled(subject.server, ada, await subject.server.newEnrolmentCode(), 'Eve'),
      )
      assert.deepEqual(await tablesWith([id]), [
        'connections',
        'departed_key_logs',
        'envelopes',
        'memberships',
        'notifications',
        'roster_accounts',
        'roster_entries',
      ])
      await end(bob)
      assert.deepEqual(await tablesWith([id, hash('sha256', ada.id, 'hex')]), [])
    })

    test('an organisation needs another owner, and is deleted with its machine accounts and its last person', async () => {
      const [ada, bob, cy] = [await person('Ada'), await person('Bob'), await person('Cy')]
      const { id } = await newOrganisation(ada)
      const machine = await newMachine(ada, id)
      await joined(id, bob.id, 'member')
      for (const ask of [() => end(ada), () => ada.account.deletion.read({})])
        await rejects('invalid_state', ask, {
          state: 'last_owner',
          says: new RegExp(`"Example" \\(${id}\\)`),
        })
      await ada.account.context.read({})
      await joined(id, cy.id, 'owner')
      assert.deepEqual(await ada.account.deletion.read({}), { account: ada.id })
      await end(ada)
      await end(bob)
      assert((await tablesWith([machine])).includes('machines'))
      await end(cy)
      assert.deepEqual(await tablesWith([id, machine]), [])
    })

    test('suspended and invited members of an organisation do not keep it alive', async () => {
      const [ada, bob, cy] = [await person('Ada'), await person('Bob'), await person('Cy')]
      const { id } = await newOrganisation(ada)
      for (const [account_id, state] of [
        [bob.id, 'suspended'],
        [cy.id, 'invited'],
      ] as const)
        await hand.db
          .insertInto('organisation_members')
          .values({
            organisation_id: id,
            account_id,
            role: 'member',
            state,
            joined_at: 1,
            member_id: newId('mem_', Date.now()),
          })
          .execute()
      await end(ada)
      assert.deepEqual(await tablesWith([id]), [])
    })

    test('a machine account can delete itself by its token without affecting people of the organisation', async () => {
      const ada = await person('Ada')
      const { id } = await newOrganisation(ada)
      const machine = await newMachine(ada, id)
      const who = { account: machine, device: null, session: null, token: 'tok_x' }
      await end({ account: subject.service.as(who) })
      assert.deepEqual(await tablesWith([machine]), [])
      await rejects('not_found', end({ account: subject.service.as(who) }))
      assert.deepEqual((await ada.account.context.read({})).organisations.length, 1)
    })

    test('a pending or revoked device cannot delete the account', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const waiting = await join(subject.server, await mailedCode(subject.server, email))
      await rejects('forbidden', end(waiting))
      const inside = { account: ada.id, device: waiting.device, session: 'ses_x', token: null }
      for (const ask of [
        () => subject.service.as(inside).account.delete({}),
        () => subject.service.as(inside).deletion.read({}),
      ])
        await rejects('forbidden', ask())
      await ada.account.context.read({})
    })

    test('of several concurrent deletions one succeeds, and other accounts are not affected', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const bob = await person('Bob')
      const ids: string[] = []
      for (let n = 0; n < 3; n++) {
        const { id } = await connect(bob, 'Club')
        await joinMember(bob, id, ada)
        ids.push(id)
      }
      const who = {
        account: ada.id,
        device: ada.device,
        session: ada.enrolment.session.session_id,
        token: null,
      }
      const inside = subject.service.as(who)
      const ends = await Promise.allSettled([
        end({ account: inside }),
        end({ account: inside }),
        ...ids.map((id) => make(bob, id, { op: 'remove', member: ada.id })),
        connect({ ...ada, account: inside }),
      ])
      assert(ends.slice(0, 2).some(({ status }) => status === 'fulfilled'))
      for (const one of ends)
        if (one.status === 'rejected')
          assert.match(
            String((one.reason as AppError).code),
            /^(invalid_token|conflict|validation_failed)$/,
          )
      assert.deepEqual(await tablesWith([ada.id, ada.device]), [])
      for (const id of ids)
        assert.deepEqual((await bob.account.connections.read({ id })).members.length, 1)
    })

    test('later clean-ups find no row of the deleted account', async () => {
      const ada = await enrolByMail(subject.server, newAddress())
      await end(ada)
      subject.clock.ms += 8 * DAY
      const bob = await person('Bob')
      await connect(bob)
      assert.deepEqual(await tablesWith([ada.id]), [])
    })
  })
}
