/** Rows beyond their retention are deleted, and rows in use stay; for every engine. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, after, before, describe, test } from 'node:test'
import type { Kysely } from 'kysely'
import type { Retention } from '../../../src/config/retention.ts'
import { formatId, newId } from '../../../src/crypto/encoding/id.ts'
import { newBackground } from '../../../src/service/db/background.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { startRetention } from '../../../src/service/retention.ts'
import { until } from '../../until.ts'
import { openServiceDatabase, type ServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { type Person, enrol } from '../person.ts'
import { KEEP_ALL, type LocalSubject, type Place, openSubject } from '../subject.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** The age at which the rows of these tests are deleted, in days. */
const DAYS = 100

/** Returns an id of a time in Unix milliseconds; `n` distinguishes ids of one time. */
function idAt(prefix: string, at: number, n = 0): string {
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(at, 0, 6)
  bytes.writeUIntBE(n, 6, 6)
  return formatId(prefix, bytes)
}

export function retentionSuite(name: string, { newPlace }: Engine): void {
  describe(`retention: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let database: ServiceDatabase
    let db: Kysely<Schema>
    let ada: Person
    let bob: Person
    const clock = { ms: Date.UTC(2026, 0, 1) }
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place, clock)
      database = await openServiceDatabase(place)
      ;({ db } = database)
      ada = await enrol(subject.server, 'Ada')
      bob = await enrol(subject.server, 'Bob')
    })
    after(async () => {
      await database.close()
      await subject.close()
    })

    const readLease = async () =>
      db.selectFrom('leases').select('until').where('name', '=', 'retention').executeTakeFirst()

    /** Deletes what one period deletes, an hour later than the sweep before. */
    async function sweep(t: TestContext, retention: Partial<Retention>): Promise<void> {
      clock.ms += HOUR
      const failures: unknown[] = []
      const background = newBackground((...line) => failures.push(line))
      const closing = new AbortController()
      t.after(() => closing.abort())
      const now = () => clock.ms
      const kept = { ...KEEP_ALL, ...retention }
      startRetention({ db, background, now, signal: closing.signal, retention: kept }, 0)
      await until('the sweep', async () => (await readLease())?.until === clock.ms + HOUR)
      await background.idle()
      assert.deepEqual(failures, [])
    }

    /** The time before which the sweep after the next one deletes rows. */
    const edge = () => clock.ms + 2 * HOUR - DAYS * DAY

    interface Rows {
      readonly setting: keyof Retention
      readonly table: keyof Schema
      /** The column that contains the name of the row. */
      readonly column: string
      readonly rows: () => Promise<readonly [name: string, isKept: boolean, row: object][]>
    }

    async function newConnection(members: readonly Person[]): Promise<string> {
      const id = randomUUID()
      const at = clock.ms
      await db
        .insertInto('connections')
        .values({ id, epoch: 1, created_at: at, ended_at: null })
        .execute()
      for (const { id: account_id } of members)
        await db
          .insertInto('memberships')
          .values({
            account_id,
            connection_id: id,
            role: 'owner',
            name: 'C',
            favorite: 0,
            updated_at: at,
            preset_id: null,
          })
          .execute()
      return id
    }

    const kinds: readonly Rows[] = [
      {
        setting: 'verifications',
        table: 'verifications',
        column: 'entry',
        rows: async () =>
          [
            ['old', false, edge() - 1],
            ['of the first day that is kept', true, edge()],
            ['young', true, clock.ms],
          ].map(([entry, isKept, at]) => [
            String(entry),
            isKept === true,
            { account_id: ada.id, id: idAt('ver_', Number(at)), entry },
          ]),
      },
      {
        setting: 'activities',
        table: 'organisation_activities',
        column: 'target',
        rows: async () => {
          const organisation_id = randomUUID()
          await db
            .insertInto('organisations')
            .values({ id: organisation_id, name: 'O', created_at: clock.ms })
            .execute()
          const row = (target: string, received: number, happened: number) => ({
            id: idAt('act_', received),
            organisation_id,
            at: happened,
            actor_id: ada.id,
            event: 'stamp',
            target,
            data: '{}',
          })
          return [
            ['old', false, row('old', edge() - 1, edge() - 1)],
            ['received late', true, row('received late', edge(), edge() - 50 * DAY)],
            ['young', true, row('young', clock.ms, clock.ms)],
          ]
        },
      },
      {
        setting: 'invitations',
        table: 'invitations',
        column: 'message',
        rows: async () => {
          const connection_id = await newConnection([ada, bob])
          const row = (
            message: string,
            expires_at: number,
            more: Partial<Schema['invitations']>,
          ) => ({
            id: idAt('inv_', 1, Number.parseInt(randomUUID().slice(0, 8), 16)),
            connection_id,
            connection_name: 'C',
            from_account: ada.id,
            to_account: bob.id,
            to_email: 'bob@example.org',
            state: 'pending' as const,
            consent: 0 as const,
            consent_jws: null,
            created_at: expires_at - DAY,
            expires_at,
            message,
            ...more,
          })
          const old = edge() - 1
          const cases: readonly [string, boolean, number, Partial<Schema['invitations']>][] = [
            ['never answered', false, old, {}],
            ['declined', false, old, { state: 'declined' }],
            ['withdrawn', false, old, { state: 'withdrawn' }],
            ['expired', false, old, { state: 'expired' }],
            ['hidden from a former member', false, old, { consent: 2 }],
            ['approved, never added', false, old, { state: 'approved', consent: 1 }],
            ['of a member who left', false, old, { state: 'approved' }],
            ['of a member', true, old, { state: 'approved', consent: 2 }],
            ['declined lately', true, edge(), { state: 'declined' }],
            ['not answered yet', true, clock.ms + DAY, {}],
          ]
          return cases.map(([called, isKept, expires, more]) => [
            called,
            isKept,
            row(called, expires, more),
          ])
        },
      },
      {
        setting: 'guestCodes',
        table: 'guest_codes',
        column: 'label',
        rows: async () =>
          (
            [
              ['expired', false, edge() - 1, null],
              ['revoked before it expired', false, clock.ms + DAY, edge() - 1],
              ['expired lately', true, edge(), null],
              ['revoked lately', true, edge() - 1, clock.ms],
              ['active', true, clock.ms + DAY, null],
            ] as const
          ).map(([label, isKept, expires_at, revoked_at]) => [
            label,
            isKept,
            {
              id: randomUUID(),
              account_id: ada.id,
              label,
              expires_at,
              revoked_at,
              last_opened_at: null,
              created_at: 1,
              external_member_id: null,
            },
          ]),
      },
      {
        setting: 'trustEvents',
        table: 'trust_events',
        column: 'detail',
        rows: async () =>
          (
            [
              ['verified', false, edge() - 1],
              ['note_changed', false, edge() - 1],
              ['followed', true, edge() - 1],
              ['confirmed', true, edge() - 1],
              ['verified', true, edge()],
            ] as const
          ).map(([event, isKept, at]) => {
            const detail = `${event} ${isKept ? 'that stays' : 'that goes'}`
            const card = { account_id: ada.id, watched_id: bob.id }
            return [detail, isKept, { id: randomUUID(), ...card, at, event, detail }]
          }),
      },
      {
        setting: 'sessions',
        table: 'sessions',
        column: 'refresh_hash',
        rows: async () =>
          (
            [
              ['never proven', false, 0, edge() - 1],
              ['not proven yet', true, 0, edge()],
              ['of a device that is away', true, 1, edge() - 1],
              ['of the embedded daemon', true, 2, edge() - 1],
            ] as const
          ).map(([refresh_hash, isKept, proven, created_at]) => [
            refresh_hash,
            isKept,
            {
              id: randomUUID(),
              account_id: ada.id,
              device_id: ada.device,
              refresh_hash,
              created_at,
              last_seen_at: created_at,
              proven,
            },
          ]),
      },
      {
        setting: 'sessions',
        table: 'access_tokens',
        column: 'hash',
        rows: async () =>
          (
            [
              ['expired', false, edge() - 1],
              ['expired lately', true, edge()],
              ['valid', true, clock.ms + DAY],
            ] as const
          ).map(([hash, isKept, expires_at]) => [
            hash,
            isKept,
            { hash, session_id: ada.enrolment.session.session_id, expires_at },
          ]),
      },
      {
        setting: 'sessions',
        table: 'machine_tokens',
        column: 'name',
        rows: async () =>
          (
            [
              ['expired', false, edge() - 1, null],
              ['revoked', false, null, edge() - 1],
              ['revoked lately', true, edge() - 1, edge()],
              ['without expiry', true, null, null],
              ['valid', true, clock.ms + DAY, null],
            ] as const
          ).map(([called, isKept, expires_at, revoked_at]) => [
            called,
            isKept,
            {
              id: randomUUID(),
              account_id: ada.id,
              hash: randomUUID(),
              name: called,
              label: null,
              scope: 'read',
              granted: 0,
              created_at: 1,
              expires_at,
              revoked_at,
              last_used_at: null,
            },
          ]),
      },
    ]

    for (const { setting, table, column, rows } of kinds)
      test(`${table}: the old rows go, young rows and rows in use stay`, async (t) => {
        const tables = db as unknown as Kysely<Record<string, Record<string, unknown>>>
        const all = await rows()
        await tables
          .insertInto(table)
          .values(all.map(([, , row]) => row as Record<string, unknown>))
          .execute()
        const names = all.map(([called]) => called)
        const left = async () => {
          const found = await tables
            .selectFrom(table)
            .select(column)
            .where(column, 'in', names)
            .execute()
          return found.map((row) => String(row[column])).toSorted()
        }
        const others = Object.keys(KEEP_ALL).filter((key) => key !== setting)
        await sweep(t, Object.fromEntries(others.map((key) => [key, DAYS])))
        assert.deepEqual(await left(), names.toSorted())
        await sweep(t, { [setting]: DAYS })
        const kept = all.filter(([, isKept]) => isKept).map(([called]) => called)
        assert.deepEqual(await left(), kept.toSorted())
      })

    /** Returns a person's calls, which do not depend on the lifetime of a token. */
    const lasting = ({ id, device }: Person, { service } = subject) =>
      service.as({ account: id, device, session: null, token: null })

    test('a sweep continues until no old row is left', async (t) => {
      const [old, count] = [clock.ms - DAYS * DAY, 2100]
      const row = (at: number, n: number) => ({
        account_id: ada.id,
        id: idAt('ver_', at, n),
        entry: 'many',
      })
      const rows = [...Array.from({ length: count }, (_, n) => row(old, n)), row(clock.ms, 1)]
      for (let from = 0; from < rows.length; from += 700)
        await db
          .insertInto('verifications')
          .values(rows.slice(from, from + 700))
          .execute()
      await sweep(t, { verifications: DAYS })
      const left = await db
        .selectFrom('verifications')
        .select('id')
        .where('entry', '=', 'many')
        .execute()
      assert.deepEqual(
        left.map(({ id }) => id),
        [rows.at(-1)?.id],
      )
    })

    test('a deleted guest code is a change for the devices of its account', async (t) => {
      const people = [lasting(ada), lasting(bob)]
      for (const one of people) await one.changes.read({})
      await db.updateTable('sync_marks').set({ made_at: 0 }).execute()
      const code = (id: string, expires_at: number) => ({
        id,
        account_id: ada.id,
        label: 'x',
        expires_at,
        revoked_at: null,
        last_opened_at: null,
        created_at: 1,
        external_member_id: null,
      })
      await db.insertInto('guest_codes').values(code(randomUUID(), edge())).execute()
      const changed = async (days: number) => {
        const places = await Promise.all(people.map((one) => one.changes.read({})))
        await sweep(t, { guestCodes: days })
        return Promise.all(
          people.map(async (one, i) => {
            const { changed: parts } = await one.changes.read({ since: places[i]!.since! })
            return parts
          }),
        )
      }
      assert.deepEqual(await changed(DAYS + 1), [[], []])
      assert.deepEqual(await changed(DAYS - 1), [['guest_codes'], []])
    })

    test('a deleted invitation is a change for the devices of both sides', async (t) => {
      const carl = await enrol(subject.server)
      const people = [lasting(ada), lasting(bob), lasting(carl)]
      for (const one of people) await one.changes.read({})
      await db.updateTable('sync_marks').set({ made_at: 0 }).execute()
      await db
        .insertInto('invitations')
        .values({
          id: newId('inv_', clock.ms),
          connection_id: await newConnection([ada]),
          connection_name: 'C',
          from_account: ada.id,
          to_account: bob.id,
          to_email: null,
          state: 'declined',
          consent: 0,
          consent_jws: null,
          created_at: 1,
          expires_at: edge() - 1,
          message: null,
        })
        .execute()
      const changed = async (days: number) => {
        const places = await Promise.all(people.map((one) => one.changes.read({})))
        await sweep(t, { invitations: days })
        return Promise.all(
          people.map(async (one, i) => {
            const { lists } = await one.changes.read({ since: places[i]!.since! })
            return lists
          }),
        )
      }
      assert.deepEqual(await changed(DAYS + 1), [[], [], []])
      assert.deepEqual(await changed(DAYS - 1), [['invitations'], ['invitations'], []])
    })

    test('a server deletes by its own setting, and after a restart by another one', async () => {
      const ids = [200, 50].map((days) => idAt('ver_', clock.ms - days * DAY))
      await db
        .insertInto('verifications')
        .values(ids.map((id) => ({ account_id: ada.id, id, entry: '{}' })))
        .execute()
      const left = async () => {
        const rows = await db
          .selectFrom('verifications')
          .select('id')
          .where('id', 'in', ids)
          .orderBy('id')
          .execute()
        return rows.map(({ id }) => id)
      }
      for (const [days, kept] of [
        [100, ids.slice(1)],
        [40, []],
      ] as const) {
        clock.ms += HOUR
        const server = await openSubject(place, clock, {
          retention: { ...KEEP_ALL, verifications: days },
          sweepsAfterMs: 0,
        })
        await server.service.nonce()
        await until('the deletion', async () => (await left()).length === kept.length)
        await server.close()
        assert.deepEqual(await left(), kept)
      }
    })

    test('an entry that is sent again after its deletion is not counted as new', async () => {
      const server = await openSubject(place, clock, {
        retention: { ...KEEP_ALL, verifications: DAYS },
      })
      const account = lasting(bob, server)
      const entry = (at: number, n: number) => ({
        id: idAt('ver_', at, n),
        at: new Date(at).toISOString(),
        method: 'local' as const,
        outcome: 'not_verified' as const,
        matches: [],
        caller: null,
      })
      const first = clock.ms - DAYS * DAY
      const [old, kept] = [entry(first - 1, 7), entry(first, 8)]
      assert.deepEqual(await account.verifications.push({ body: { items: [old] } }), {
        accepted: 0,
      })
      assert.deepEqual(await account.verifications.push({ body: { items: [old, kept] } }), {
        accepted: 1,
      })
      const { items } = await account.verificationLog.list({ limit: 200 })
      assert.deepEqual(
        items.map(({ id }) => id).filter((id) => [old.id, kept.id].includes(id)),
        [kept.id],
      )
      await server.close()
    })
  })
}
