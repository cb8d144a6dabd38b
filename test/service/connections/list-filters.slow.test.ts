/**
 * Filters of lists, on both engines. For every page size, the pages of a filtered list have
 * exactly the items of the whole list that meet the filters, in its order.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { every } from '../../../src/api/cursor.ts'
import type { Account } from '../../../src/api/port.ts'
import { formatId, newId } from '../../../src/crypto/encoding/id.ts'
import { onBothEngines } from '../engines.ts'
import { NOW, type OrgFixture, openOrgFixture } from '../organisations/org-subject.ts'
import { type Person, enrol } from '../person.ts'
import { rejects } from '../../rejects.ts'

const DAY = 24 * 3_600_000
const ROWS = 40

type Query = Readonly<Record<string, unknown>>
type Item = Readonly<Record<string, unknown>>
type List = (query: Query & { limit: number; cursor?: string }) => Promise<{
  readonly items: Item[]
  readonly next_cursor: string | null
}>

/** The filters of a list, each with values to try and the items that meet a value. */
type Filters = Readonly<
  Record<string, { values: readonly unknown[]; meets: (item: Item, value: never) => boolean }>
>

const day = (days: number) => new Date(NOW - days * DAY).toISOString().slice(0, 10)
const state = (...values: string[]) => ({
  state: { values, meets: (item: Item, value: string) => item['state'] === value },
})
/** Days before, within and after those of the rows. */
const days = [45, 30, 12, 3, 0, -2].map(day)
const between = {
  from: {
    values: days,
    meets: ({ at }: Item, value: string) => String(at).slice(0, 10) >= value,
  },
  to: { values: days, meets: ({ at }: Item, value: string) => String(at).slice(0, 10) <= value },
}

onBothEngines((engine, of) => {
  describe(`filters of lists: ${engine}`, () => {
    let fixture: OrgFixture
    let ada: Person & { organisation: string }
    let account: Account
    const tags: string[] = []

    /** Returns the time of a row: some rows share one, others are of another day. */
    const at = (i: number) => NOW - Math.floor(i / 3) * 2.3 * DAY
    const one = <T>(values: readonly T[], i: number): T => values[(i * 7 + 3) % values.length]!

    async function rows(i: number) {
      const { db } = fixture.hand
      const account_id = ada.id
      const created_at = at(i)
      const con = newId('con_', created_at)
      await db
        .insertInto('connections')
        .values({ id: con, epoch: 1, created_at, ended_at: i % 5 === 0 ? NOW : null })
        .execute()
      const membership = { connection_id: con, role: 'owner', name: 'x', updated_at: 1 } as const
      await db
        .insertInto('memberships')
        .values({ ...membership, account_id, favorite: i % 2 === 0 ? 1 : 0 })
        .execute()
      if (i % 3 === 0)
        await db
          .insertInto('memberships')
          .values({ ...membership, account_id: other.id, favorite: 1 })
          .execute()
      for (const tag_id of tags.filter((_, j) => (i + j) % 3 === 0))
        await db
          .insertInto('tag_assignments')
          .values({ account_id, connection_id: con, tag_id })
          .execute()
      await db
        .insertInto('guest_codes')
        .values({
          id: newId('gst_', created_at),
          account_id,
          label: 'x',
          created_at,
          expires_at: one([NOW - 1, NOW, NOW + 1], i),
          revoked_at: i % 4 === 0 ? NOW : null,
        })
        .execute()
      await db
        .insertInto('notifications')
        .values({
          id: newId('ntf_', created_at),
          account_id,
          kind: 'member_left',
          title: 'x',
          body: 'x',
          data: '{}',
          read_at: i % 3 === 0 ? null : NOW,
          created_at,
        })
        .execute()
      const link = newId('lnk_', created_at)
      await db
        .insertInto('open_links')
        .values({
          id: link,
          account_id,
          slug: link,
          title: 'x',
          state: one(['active', 'paused'] as const, i),
          created_at,
        })
        .execute()
      await db
        .insertInto('open_link_requests')
        .values({
          id: newId('req_', created_at),
          account_id,
          open_link_id: link,
          display_name: 'x',
          email: 'x@example.org',
          state: one(['unconfirmed', 'pending', 'approved', 'declined'] as const, i),
          created_at,
        })
        .execute()
      const organisation_id = ada.organisation
      if (i % 2 === 0)
        await db
          .insertInto('organisation_invites')
          .values({
            id: newId('mem_', created_at),
            organisation_id,
            email: `x${i}@example.org`,
            role: 'member',
            state: one(['invited', 'suspended'] as const, i),
            created_at,
          })
          .execute()
      else if (i % 3 === 0)
        await fixture.member(organisation_id, { state: one(['active', 'suspended'] as const, i) })
      await db
        .insertInto('organisation_activities')
        .values({
          id: newId('act_', NOW),
          organisation_id,
          at: at(i),
          actor_id: account_id,
          event: 'stamp',
          data: '{}',
        })
        .execute()
    }

    let other: Person

    /** Adds an invitation of each kind that the table may have, in both directions. */
    async function invitations() {
      const { db } = fixture.hand
      const connection_id = newId('con_', NOW)
      await db
        .insertInto('connections')
        .values({ id: connection_id, epoch: 1, created_at: NOW })
        .execute()
      for (const is of ['pending', 'approved', 'declined', 'withdrawn'] as const)
        for (const consent of [0, 1, 2] as const)
          for (const expires_at of [NOW - 2 * DAY, NOW - DAY, NOW - 1, NOW, NOW + 1])
            for (const [from, to] of [
              [ada, other],
              [other, ada],
            ] as const)
              await db
                .insertInto('invitations')
                .values({
                  id: newId('inv_', NOW),
                  connection_id,
                  connection_name: 'x',
                  from_account: from.id,
                  to_account: to.id,
                  state: is,
                  consent,
                  created_at: NOW,
                  expires_at,
                })
                .execute()
    }

    before(async () => {
      fixture = await openOrgFixture(of)
      ada = await fixture.owner()
      other = await enrol(fixture.subject.server, 'Bob')
      account = ada.account
      for (const name of ['a', 'b', 'c'])
        tags.push((await account.tags.create({ body: { name } })).id)
      for (let i = ROWS; i > 0; i--) await rows(i)
      await invitations()
      const times = Array.from({ length: ROWS }, (_, i) => at(ROWS - i))
      // The id of an entry begins with its time, as on a device. One is a moment before midnight.
      const midnight = Date.parse(day(12))
      const checks = [...times, midnight - 1, midnight].sort((a, b) => a - b)
      const items = checks.map((ms) => {
        const bytes = randomBytes(16)
        bytes.writeUIntBE(ms, 0, 6)
        return {
          id: formatId('ver_', bytes),
          at: new Date(ms).toISOString(),
          method: 'local' as const,
          outcome: 'echo' as const,
          matches: [],
          caller: null,
        }
      })
      await account.verifications.push({ body: { items } })
    })
    after(() => fixture.close())

    const lists: Readonly<Record<string, () => Filters>> = {
      connections: () => ({
        ...state('pending', 'active', 'ended'),
        favorite: {
          values: [true, false],
          meets: ({ favorite }, value: boolean) => favorite === value,
        },
        tag_id: {
          values: [...tags, newId('tag_', NOW)],
          meets: ({ tag_ids }, value: string) => (tag_ids as string[]).includes(value),
        },
      }),
      guestCodes: () => state('active', 'revoked', 'expired'),
      notifications: () => ({
        unread: { values: [true, false], meets: ({ read }, value: boolean) => read === !value },
      }),
      openLinks: () => state('active', 'paused'),
      openLinkRequests: () => state('pending', 'approved', 'declined'),
      orgMembers: () => state('invited', 'active', 'suspended'),
      orgActivity: () => between,
      verificationLog: () => between,
    }

    for (const [group, filtersOf] of Object.entries(lists))
      test(group, async () => {
        const list = (account as unknown as Record<string, { list: List }>)[group]!.list
        // Reading a list stores that invitations expired, which adds notifications.
        await every((query) => list(query))
        const all = await every((query) => list(query))
        assert(all.length >= ROWS / 4, `${all.length} rows`)
        const filters = filtersOf()
        for (const [name, { values, meets }] of Object.entries(filters))
          assert(
            values.some((value) => {
              const those = all.filter((item) => meets(item, value as never))
              return those.length > 0 && those.length < all.length
            }),
            `${name} tells items apart`,
          )
        const query = fc.record(
          Object.fromEntries(
            Object.entries(filters).map(([name, { values }]) => [name, fc.constantFrom(...values)]),
          ),
          { requiredKeys: [] },
        )
        await fc.assert(
          fc.asyncProperty(query, fc.constantFrom(1, 2, 7, 200), async (asked, limit) => {
            const { from, to } = asked as { from?: string; to?: string }
            if (from !== undefined && to !== undefined && from > to) {
              await rejects('validation_failed', list({ ...asked, limit }))
              return
            }
            const paged = await every(({ cursor }) =>
              list(cursor === undefined ? { ...asked, limit } : { ...asked, limit, cursor }),
            )
            const expected = all.filter((item) =>
              Object.entries(asked).every(([name, value]) =>
                filters[name]!.meets(item, value as never),
              ),
            )
            assert.deepEqual(paged, expected)
          }),
          { numRuns: 40 },
        )
      })

    test('invitations are filtered by state, in both directions', async () => {
      // Stores that invitations expired.
      await account.notifications.list({})
      const all = await account.invitations.list({})
      const states = ['pending', 'approved', 'declined', 'withdrawn', 'expired'] as const
      for (const wanted of states) {
        const those = await account.invitations.list({ state: wanted })
        for (const way of ['received', 'sent'] as const) {
          const expected = all[way].filter((one) => one.state === wanted)
          assert.deepEqual(those[way], expected, `${way} ${wanted}`)
        }
        assert(those.received.length + those.sent.length > 0, wanted)
      }
      assert.deepEqual(
        await account.invitations.pending({}),
        await account.invitations.list({ state: 'pending' }),
      )
    })
  })
})
