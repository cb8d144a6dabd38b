/** What the account server lists as changed since a device’s last sync. For every engine. */
import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { changedParts, SYNC_PARTS, type SyncPart } from '../../../src/api/device/changes.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { encodeBase64url } from '../../../src/crypto/encoding/base64url.ts'
import type { Account } from '../../../src/api/port.ts'
import { statementsOnPostgres, statementsOnSqlite } from '../../device/news/statements.ts'
import {
  approved,
  approveInvitation,
  connected,
  joinMember,
  make,
} from '../connections/connecting.ts'
import { openServiceDatabase, type ServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import {
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  renewSealing,
  resetOf,
  revocationBy,
  type Person,
} from '../person.ts'
import { openSubject, type LocalSubject, type Place } from '../subject.ts'

const MINUTE = 60_000

type Reader = Pick<Person, 'account'>

/** Returns the same person with calls that do not depend on the lifetime of a token. */
const within = ({ service }: LocalSubject, { id, device }: Person): Reader => ({
  account: service.as({ account: id, device, session: null, token: null }),
})

const newGuest = (account: Account, expires: number, external: string | null = null) => {
  const body = { label: 'x', expires_at: new Date(expires).toISOString() }
  const id = newId('gst_', Date.now())
  return account.deviceGuestCodes.create({ body: { id, ...body, external_member_id: external } })
}

export function changesSuite(name: string, { newPlace, replicas }: Engine): void {
  let place: Place
  let subject: LocalSubject
  let database: ServiceDatabase
  before(async () => {
    place = await newPlace()
    subject = await openSubject(place)
    database = await openServiceDatabase(place)
  })
  after(async () => {
    await database.close()
    await subject.close()
  })

  /** Asks what changed. `changed` of the result has the lists too. */
  async function ask({ account }: Reader, since?: string | null) {
    const answer = await account.changes.read(typeof since === 'string' ? { since } : {})
    return { now: answer.now, since: answer.since, changed: [...changedParts(answer)] }
  }

  /** Returns the places of people. The server uses the marks of all of them. */
  async function placesOf(people: readonly Reader[]): Promise<string[]> {
    for (const one of people) await ask(one)
    await database.db.updateTable('sync_marks').set({ made_at: 0 }).execute()
    return Promise.all(people.map(async (one) => (await ask(one)).since!))
  }

  /** Returns what changed for each person after `change`. */
  async function changedBy(people: readonly Reader[], change: () => Promise<unknown>) {
    const places = await placesOf(people)
    for (const [i, one] of people.entries())
      assert.deepEqual((await ask(one, places[i])).changed, [])
    await change()
    return Promise.all(people.map(async (one, i) => (await ask(one, places[i])).changed))
  }

  describe(`what changed: ${name}`, () => {
    test('a new account has a place at once, and what changes is listed', async () => {
      const ada = await enrol(subject.server)
      const first = await ask(ada)
      assert.deepEqual(first.changed, [...SYNC_PARTS])
      assert.deepEqual((await ask(ada, first.since)).changed, [])
      await connect(ada, 'Club')
      assert.deepEqual((await ask(ada, first.since)).changed, ['connections', 'duties'])
    })

    test('without marks, the first answers list everything; an hour later there is a place, and nothing changed', async () => {
      const person = await enrol(subject.server)
      await database.db.deleteFrom('sync_marks').where('account_id', '=', person.id).execute()
      const ada = within(subject, person)
      const all = [...SYNC_PARTS]
      const now = () => new Date(subject.clock.ms).toISOString()
      assert.deepEqual(await ask(ada), { now: now(), since: null, changed: all })
      assert.deepEqual(await ask(ada), { now: now(), since: null, changed: all })
      subject.clock.ms += 60 * MINUTE - 1
      assert.equal((await ask(ada)).since, null)
      subject.clock.ms += 1
      const first = await ask(ada)
      assert.deepEqual(first, { now: now(), since: first.since, changed: all })
      assert.deepEqual(await ask(ada, first.since), { ...first, changed: [] })
    })

    test('an unknown place: everything is listed', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      const [hers, his] = await placesOf([ada, bob])
      const clock = { ...subject.clock }
      const other = await openSubject(await newPlace(), clock)
      const carl = within(other, await enrol(other.server))
      await ask(carl)
      clock.ms += 60 * MINUTE
      const { since: elsewhere } = await ask(carl)
      await other.close()
      const bytes = Buffer.from(hers!, 'base64url')
      for (const since of [
        his!,
        elsewhere!,
        '',
        '!',
        'x'.repeat(200),
        hers!.slice(1),
        `${hers}AAAA`,
        encodeBase64url(Buffer.alloc(bytes.length)),
        encodeBase64url(Buffer.alloc(bytes.length, 0xff)),
      ])
        assert.deepEqual((await ask(ada, since)).changed, [...SYNC_PARTS], since)
      assert.deepEqual((await ask(ada, hers)).changed, [])
    })

    test('an unchanged answer is one statement, without a transaction', async (t) => {
      const elsewhere = await newPlace()
      const seen = replicas
        ? statementsOnPostgres(t)
        : statementsOnSqlite(t, basename(elsewhere.file))
      const clock = { ...subject.clock }
      const other = await openSubject(elsewhere, clock)
      t.after(() => other.close())
      const ada = within(other, await enrol(other.server))
      await ask(ada)
      clock.ms += 60 * MINUTE
      const { since } = await ask(ada)
      seen.length = 0
      assert.deepEqual((await ask(ada, since)).changed, [])
      assert.equal(seen.length, 1, seen.join('\n'))
    })

    // Otherwise the engine would plan each of them again, and the names of statements would be used
    // up.
    test('no text of a statement contains a time or a mark', async (t) => {
      const elsewhere = await newPlace()
      const seen = replicas
        ? statementsOnPostgres(t)
        : statementsOnSqlite(t, basename(elsewhere.file))
      const other = await openSubject(elsewhere)
      t.after(() => other.close())
      const [ada, bob, carl] = await Promise.all([1, 2, 3].map(() => enrol(other.server)))
      seen.length = 0
      for (const one of [ada!, bob!]) await ask(one)
      const { id } = await connect(ada!, 'Club')
      await joinMember(ada!, id, bob!)
      await make(bob!, id, { op: 'leave' })
      const body = { user_id: carl!.id }
      for (let asked = 0; asked < 2; asked++) await ada!.account.members.add({ id, body })
      const { id: organisation_id } = await ada!.account.organisations.create({
        body: { name: 'Example' },
      })
      await ada!.account.context.activeOrg({ body: { organisation_id } })
      assert.deepEqual(
        seen.filter((text) => /\d{10}/.test(text)),
        [],
      )
    })

    test('a guest code expires: the codes are listed', async () => {
      const ada = within(subject, await enrol(subject.server))
      await placesOf([ada])
      await newGuest(ada.account, subject.clock.ms + 5 * MINUTE)
      await newGuest(ada.account, subject.clock.ms + 10 * MINUTE)
      let { since } = await ask(ada)
      subject.clock.ms += 5 * MINUTE - 1
      assert.deepEqual((await ask(ada, since)).changed, [])
      subject.clock.ms += 1
      const first = await ask(ada, since)
      assert.deepEqual(first.changed, ['guest_codes'])
      ;({ since } = first)
      assert.deepEqual((await ask(ada, since)).changed, [])
      subject.clock.ms += 5 * MINUTE
      const second = await ask(ada, since)
      assert.deepEqual(second.changed, ['guest_codes'])
      subject.clock.ms += 60 * MINUTE
      assert.deepEqual((await ask(ada, second.since)).changed, [])
    })

    /** The changes of one account’s own lists. */
    const own: readonly (readonly [
      string,
      readonly SyncPart[],
      (ada: Person, bob: Person) => Promise<() => Promise<unknown>>,
    ])[] = [
      [
        'a connection is opened',
        ['connections', 'duties'],
        async (ada) => () => connect(ada, 'Club'),
      ],
      [
        'a connection is renamed',
        ['connections'],
        async (ada) => {
          const { id } = await connect(ada, 'Club')
          return () => ada.account.connections.update({ id, body: { name: 'Other' } })
        },
      ],
      [
        'a connection becomes a favourite',
        ['connections'],
        async (ada) => {
          const { id } = await connect(ada, 'Club')
          return () => ada.account.connections.favorite({ id, body: { favorite: true } })
        },
      ],
      [
        'a connection gets a tag, and loses it',
        ['connections'],
        async (ada) => {
          const { id: cid } = await connect(ada, 'Club')
          const { id } = await ada.account.tags.create({ body: { name: 'x' } })
          await ada.account.tags.assign({ id, cid })
          return () => ada.account.tags.unassign({ id, cid })
        },
      ],
      [
        'a connection without other members is ended',
        ['connections'],
        async (ada) => {
          const { id } = await connect(ada, 'Club')
          return () => ada.account.connections.delete({ id })
        },
      ],
      [
        'a guest code is created',
        ['guest_codes'],
        async (ada) => () => newGuest(ada.account, subject.clock.ms + 60 * MINUTE),
      ],
      [
        'a guest code is revoked',
        ['guest_codes'],
        async (ada) => {
          const { id } = await newGuest(ada.account, subject.clock.ms + 60 * MINUTE)
          return () => ada.account.guestCodes.delete({ id })
        },
      ],
      [
        'an external member is deleted',
        ['guest_codes'],
        async (ada) => {
          const body = { display_name: 'Plumber' }
          const { id } = await ada.account.externalMembers.create({ body })
          await newGuest(ada.account, subject.clock.ms + 60 * MINUTE, id)
          return () => ada.account.externalMembers.delete({ id })
        },
      ],
      [
        'an account is followed',
        ['trust_cards'],
        async (ada, bob) => () => ada.account.trustCards.create({ body: { user_id: bob.id } }),
      ],
      [
        'an account is no longer followed',
        ['trust_cards'],
        async (ada, bob) => {
          await ada.account.trustCards.create({ body: { user_id: bob.id } })
          return () => ada.account.trustCards.delete({ id: bob.id })
        },
      ],
      [
        'a followed account is confirmed',
        ['trust_cards'],
        async (ada, bob) => {
          await ada.account.trustCards.create({ body: { user_id: bob.id } })
          return () => ada.account.trustCards.update({ id: bob.id, body: { confirmed: true } })
        },
      ],
      [
        'a followed account has another name',
        ['trust_cards'],
        async (ada, bob) => {
          await ada.account.trustCards.create({ body: { user_id: bob.id } })
          return () => bob.account.profile.update({ body: { display_name: 'Robert' } })
        },
      ],
      [
        'a followed account is deleted',
        ['trust_cards'],
        async (ada, bob) => {
          await ada.account.trustCards.create({ body: { user_id: bob.id } })
          return () => bob.account.account.delete({})
        },
      ],
      [
        'the public code is switched on',
        ['public_code'],
        async (ada) => async () => {
          await ada.account.publicCode.create({ body: { k: encodeBase64url(Buffer.alloc(32, 1)) } })
          await ada.account.preferences.update({ body: { public_code: true } })
        },
      ],
      [
        'the public code is switched off',
        ['public_code'],
        async (ada) => {
          await ada.account.publicCode.create({ body: { k: encodeBase64url(Buffer.alloc(32, 1)) } })
          await ada.account.preferences.update({ body: { public_code: true } })
          return () => ada.account.preferences.update({ body: { public_code: false } })
        },
      ],
      [
        'the sealing key is renewed',
        ['key_log', 'devices'],
        async (ada) => () => renewSealing(ada),
      ],
      [
        'things that no sync reads: a tag, an external member, a headline, a preference',
        [],
        async (ada) => async () => {
          await ada.account.tags.create({ body: { name: 'x' } })
          await ada.account.externalMembers.create({ body: { display_name: 'Plumber' } })
          await ada.account.profile.update({ body: { headline: 'x' } })
          await ada.account.preferences.update({ body: { locale: 'de' } })
        },
      ],
    ]
    for (const [what, parts, prepare] of own)
      test(`${what}: ${parts.join(', ') || 'nothing'}`, async () => {
        const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
        const change = await prepare(ada, bob)
        assert.deepEqual(await changedBy([ada], change), [parts])
      })

    /** The changes of a connection of Ada, Bob and Carl. */
    const shared: readonly (readonly [
      string,
      readonly (readonly SyncPart[])[],
      (id: string, people: readonly [Person, Person, Person]) => Promise<unknown>,
    ])[] = [
      [
        'its secret is rotated',
        [
          ['connections', 'duties'],
          ['connections', 'duties'],
          ['connections', 'duties'],
        ],
        (id, [ada]) => make(ada, id, { op: 'rotate' }),
      ],
      [
        'a member is removed',
        [
          ['connections', 'duties'],
          ['connections', 'duties', 'invitations', 'notifications'],
          ['connections', 'duties', 'notifications'],
        ],
        (id, [ada, bob]) => make(ada, id, { op: 'remove', member: bob.id }),
      ],
      [
        'a member leaves',
        [
          ['connections', 'duties', 'notifications'],
          ['connections', 'duties', 'invitations'],
          ['connections', 'duties', 'notifications'],
        ],
        (id, [, bob]) => make(bob, id, { op: 'leave' }),
      ],
      [
        'it is ended',
        [
          ['connections', 'duties', 'invitations'],
          ['connections', 'duties', 'notifications'],
          ['connections', 'duties', 'notifications'],
        ],
        (id, [ada]) => make(ada, id, { op: 'end' }),
      ],
      [
        'a member has new keys',
        [
          ['connections', 'duties'],
          ['key_log', 'connections', 'duties', 'devices'],
          ['connections', 'duties'],
        ],
        (_, [, bob]) => renewSealing(bob),
      ],
      [
        'an envelope is deleted',
        [['duties'], ['duties'], ['duties']],
        (connection, [, bob]) => bob.account.envelopes.delete({ connection, epoch: 1 }),
      ],
      [
        'the account of a member is deleted',
        [
          ['connections', 'duties', 'invitations', 'notifications'],
          ['connections', 'duties', 'notifications'],
        ],
        (_, [, , carl]) => carl.account.account.delete({}),
      ],
      [
        'an invited account approves',
        [['duties', 'invitations', 'notifications'], [], []],
        async (id, [ada]) => {
          const dora = await enrol(subject.server)
          await approved(ada, id, dora)
        },
      ],
    ]
    for (const [what, parts, change] of shared)
      test(`of a connection: ${what}`, async () => {
        const { id, people } = await connected(subject.server, ['Ada', 'Bob', 'Carl'])
        const [ada, bob, carl] = people
        const readers = [ada, bob, carl].slice(0, parts.length)
        const changed = await changedBy(readers, () => change(id, [ada, bob, carl]))
        assert.deepEqual(changed, parts)
      })

    test('a new member’s device: its account and its contacts have work, once it is approved', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const bob = await enrol(subject.server)
      const { id } = await connect(ada, 'Club')
      await joinMember(ada, id, bob)
      const newcomer = await join(subject.server, await mailedCode(subject.server, email))
      const changed = await changedBy([ada, bob], () => approve(ada, newcomer))
      assert.deepEqual(changed, [
        ['key_log', 'connections', 'duties', 'notifications', 'devices'],
        ['connections', 'duties'],
      ])
      const [, places] = [0, await placesOf([ada, bob])]
      const body = { entry: await revocationBy(ada, newcomer.device) }
      await ada.account.keyLogs.append({ body })
      assert.deepEqual((await ask(ada, places[0])).changed, [
        'key_log',
        'connections',
        'duties',
        'public_code',
        'notifications',
        'devices',
      ])
      assert.deepEqual((await ask(bob, places[1])).changed, ['connections', 'duties'])
    })

    test('a reset: the cards of followers, and the connections', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const bob = await enrol(subject.server)
      await bob.account.trustCards.create({ body: { user_id: ada.id } })
      const code = await mailedCode(subject.server, email)
      const [changed] = await changedBy([bob], () => resetOf(subject.server, ada.id, code))
      assert.deepEqual(changed, ['trust_cards', 'notifications'])
    })

    test('an invitation may be to a connection that replaces another: the receiver has work', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      const { id } = await connect(ada, 'Club')
      const changed = await changedBy([ada, bob], () =>
        ada.account.members.add({ id, body: { user_id: bob.id } }),
      )
      assert.deepEqual(changed, [['invitations'], ['duties', 'invitations', 'notifications']])
    })

    test('a change that fails marks nothing', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      await ada.account.trustCards.create({ body: { user_id: bob.id } })
      const [changed] = await changedBy([ada], () =>
        ada.account.trustCards.create({ body: { user_id: bob.id } }).then(
          () => assert.fail('followed twice'),
          () => undefined,
        ),
      )
      assert.deepEqual(changed, [])
    })

    test('an earlier state of the marks, as after a restore, is not reached again', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      await placesOf([ada])
      const { db } = database
      const row = await db
        .selectFrom('sync_marks')
        .selectAll()
        .where('account_id', '=', ada.id)
        .executeTakeFirstOrThrow()
      const follow = () => ada.account.trustCards.create({ body: { user_id: bob.id } })
      await follow()
      const { since } = await ask(ada)
      // The newest transaction is lost, and the same change is made again.
      await db.deleteFrom('trust_cards').where('account_id', '=', ada.id).execute()
      await db.updateTable('sync_marks').set(row).where('account_id', '=', ada.id).execute()
      assert.deepEqual((await ask(ada, since)).changed, ['trust_cards'])
      await follow()
      assert.deepEqual((await ask(ada, since)).changed, ['trust_cards'])
    })

    test('concurrent changes of connections with the same members all succeed', async () => {
      const { id, people } = await connected(subject.server, ['Ada', 'Bob', 'Carl'])
      const [ada, bob, carl] = people
      const ids = [id]
      for (const [owner, others] of [
        [bob, [carl, ada]],
        [carl, [ada, bob]],
        [ada, [carl, bob]],
      ] as const) {
        const made = await connect(owner, 'Other')
        for (const other of others) await joinMember(owner, made.id, other)
        ids.push(made.id)
      }
      const places = await placesOf([ada, bob, carl])
      for (let round = 0; round < 5; round++)
        await Promise.all(
          ids.map((one, i) => make([ada, bob, carl][i % 3]!, one, { op: 'rotate' })),
        )
      for (const [i, one] of [ada, bob, carl].entries())
        assert.deepEqual((await ask(one, places[i])).changed, ['connections', 'duties'])
    })

    test('an approval by mail is work for the inviter only', async () => {
      const email = newAddress()
      const [ada, bob] = [await enrol(subject.server), await enrolByMail(subject.server, email)]
      const { id } = await connect(ada, 'Club')
      const asked = await ada.account.members.add({ id, body: { email } })
      const changed = await changedBy([ada, bob], () => approveInvitation(bob, { id: asked.id }))
      assert.deepEqual(changed, [
        ['duties', 'invitations', 'notifications'],
        ['invitations', 'notifications'],
      ])
    })
  })
}
