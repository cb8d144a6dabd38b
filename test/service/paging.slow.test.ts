/**
 * Every list of an account, followed to its end over ten thousand rows. Rows are added and
 * deleted meanwhile. The pages have each row that exists throughout once, in order, and no row
 * twice.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { rest } from '../../src/api/rest/index.ts'
import { rowsOf } from '../../src/api/rows.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import type { Schema } from '../../src/service/db/schema.ts'
import { type ServiceDatabase, openServiceDatabase } from './database.ts'
import { type Engine, onBothEngines } from './engines.ts'
import { type Person, connect, enrol } from './person.ts'
import { type LocalSubject, openSubject } from './subject.ts'

const MANY = 10_000
/** Rows in one insert: SQLite accepts 32,766 values. */
const AT_ONCE = 500
const T0 = Date.UTC(2026, 0, 1)

type Table = keyof Schema
type Row = Readonly<Record<string, unknown>>
type Shown = Readonly<Record<string, unknown>>

interface Listed {
  readonly prefix: string
  /** Returns the rows of one item, by table, in the order of insertion. */
  readonly rows: (id: string, own: string, i: number) => Partial<Record<Table, Row>>
  /** The table and column of the row that the test deletes to remove the item. */
  readonly key: readonly [Table, string]
  /** The member of the answer that identifies the item, where it is not `id`. */
  readonly shownAs?: string
  /** The table and column of items stored elsewhere, which the list names by their account. */
  readonly else?: readonly [Table, string]
}

const at = (i: number) => T0 + i

const LISTS: Readonly<Record<string, Listed>> = {
  guestCodes: {
    prefix: 'gst_',
    key: ['guest_codes', 'id'],
    rows: (id, account_id, i) => ({
      guest_codes: { id, account_id, label: 'x', expires_at: at(i) + 1e9, created_at: at(i) },
    }),
  },
  externalMembers: {
    prefix: 'ext_',
    key: ['external_members', 'id'],
    rows: (id, account_id, i) => ({
      external_members: { id, account_id, display_name: 'x', created_at: at(i) },
    }),
  },
  tags: {
    prefix: 'tag_',
    key: ['tags', 'id'],
    rows: (id, account_id, i) => ({ tags: { id, account_id, name: `x${i}`, created_at: at(i) } }),
  },
  presets: {
    prefix: 'pre_',
    key: ['presets', 'id'],
    rows: (id, account_id, i) => ({
      presets: { id, account_id, name: `x${i}`, favorite: 0, is_default: 0, created_at: at(i) },
    }),
  },
  openLinks: {
    prefix: 'lnk_',
    key: ['open_links', 'id'],
    rows: (id, account_id, i) => ({
      open_links: { id, account_id, slug: id, title: 'x', state: 'active', created_at: at(i) },
    }),
  },
  openLinkRequests: {
    prefix: 'req_',
    key: ['open_link_requests', 'id'],
    rows: (id, account_id, i) => ({
      open_link_requests: {
        id,
        account_id,
        open_link_id: LINK,
        display_name: 'x',
        email: 'x@example.org',
        state: 'pending',
        created_at: at(i),
      },
    }),
  },
  notifications: {
    prefix: 'ntf_',
    key: ['notifications', 'id'],
    rows: (id, account_id, i) => ({
      notifications: {
        id,
        account_id,
        kind: 'member_joined',
        title: 'x',
        body: 'x',
        data: '{}',
        created_at: at(i),
      },
    }),
  },
  exports: {
    prefix: 'exp_',
    key: ['exports', 'id'],
    rows: (id, account_id, i) => ({
      exports: { id, account_id, state: 'failed', progress: 0, error: 'x', created_at: at(i) },
    }),
  },
  verificationLog: {
    prefix: 'ver_',
    key: ['verifications', 'id'],
    rows: (id, account_id, i) => {
      const of = { method: 'local', outcome: 'echo', matches: [], caller: null }
      const entry = JSON.stringify({ id, at: new Date(at(i)).toISOString(), ...of })
      return { verifications: { id, account_id, entry } }
    },
  },
  connections: {
    prefix: 'con_',
    key: ['connections', 'id'],
    rows: (id, account_id, i) => ({
      connections: { id, epoch: 1, created_at: at(i) },
      memberships: {
        account_id,
        connection_id: id,
        role: 'owner',
        name: 'x',
        favorite: 0,
        updated_at: at(i),
      },
    }),
  },
  trustCards: {
    prefix: 'acc_',
    key: ['accounts', 'id'],
    shownAs: 'user_id',
    rows: (id, account_id, i) => ({
      accounts: { id, kind: 'person', display_name: 'x' },
      trust_cards: { account_id, watched_id: id, created_at: at(i) },
    }),
  },
  devices: {
    prefix: 'dev_',
    key: ['devices', 'id'],
    rows: (id, account_id, i) => ({
      devices: {
        id,
        account_id,
        name: 'x',
        platform: 'linux',
        auth_kid: id,
        created_at: at(i),
        approved_at: at(i),
      },
    }),
  },
  sessions: {
    prefix: 'ses_',
    key: ['sessions', 'id'],
    rows: (id, account_id, i) => ({
      sessions: {
        id,
        account_id,
        device_id: DEVICE,
        refresh_hash: id,
        created_at: at(i),
        last_seen_at: at(i),
        proven: 1,
      },
    }),
  },
  // Every other item is an invited mailbox.
  orgMembers: {
    prefix: 'mem_',
    key: ['organisation_invites', 'id'],
    else: ['organisation_members', 'member_id'],
    rows: (id, _, i) => {
      const of = { organisation_id: ORGANISATION, role: 'member' }
      if (i % 2 === 0)
        return {
          organisation_invites: {
            id,
            ...of,
            email: `${id}@x.test`,
            state: 'invited',
            created_at: at(i),
          },
        }
      const account_id = `acc_${id.slice(4)}`
      const joined = { member_id: id, state: 'active', joined_at: at(i) }
      return {
        accounts: { id: account_id, kind: 'person', display_name: 'x' },
        organisation_members: { ...of, account_id, ...joined },
      }
    },
  },
  orgGroups: {
    prefix: 'grp_',
    key: ['organisation_groups', 'id'],
    rows: (id, _, i) => ({
      organisation_groups: {
        id,
        organisation_id: ORGANISATION,
        name: `x${i}`,
        description: null,
        created_at: at(i),
      },
    }),
  },
  orgAlerts: {
    prefix: 'alr_',
    key: ['organisation_alerts', 'id'],
    rows: (id, _, i) => ({
      organisation_alerts: {
        id,
        organisation_id: ORGANISATION,
        name: 'x',
        event: 'stamp',
        threshold: 1,
        window_minutes: 1,
        enabled: 0,
        created_at: at(i),
      },
    }),
  },
  orgActivity: {
    prefix: 'act_',
    key: ['organisation_activities', 'id'],
    rows: (id, actor_id, i) => ({
      organisation_activities: {
        id,
        organisation_id: ORGANISATION,
        at: at(i),
        actor_id,
        event: 'stamp',
        data: '{}',
      },
    }),
  },
  emails: {
    prefix: 'eml_',
    key: ['emails', 'id'],
    rows: (id, account_id, i) => ({
      emails: { id, account_id, address: `${id}@x.test`, is_primary: 0, verified_at: at(i) },
    }),
  },
}

/** Lists that rows of this server do not extend, and where they are tested. */
const ELSEWHERE = new Set([
  // Both directions in full, without pages.
  'invitations',
  // Of the daemon: test/auth.
  'apiTokens',
  // Of the daemon: test/handlers/webhooks.test.ts.
  'webhooks',
  // Of the daemon: test/handlers/stamps.test.ts and audit.test.ts.
  'stamps',
  'audit',
  // Of the device, without pages: test/handlers.
  'firstContacts',
])

let LINK = ''
let DEVICE = ''
let ORGANISATION = ''

function suite(name: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let hand: ServiceDatabase
  let ada: Person
  let account: Account
  let made = 0

  before(async () => {
    const place = await newPlace()
    subject = await openSubject(place, { ms: T0 + 10 * MANY })
    hand = await openServiceDatabase(place)
    ada = await enrol(subject.server)
    const { session_id } = ada.enrolment.session
    account = subject.service.as({
      account: ada.id,
      device: ada.device,
      session: session_id,
      token: null,
    })
    DEVICE = ada.device
    await connect(ada)
    ORGANISATION = (await account.organisations.create({ body: { name: 'x' } })).id
    await account.context.activeOrg({ body: { organisation_id: ORGANISATION } })
  })
  after(async () => {
    await hand.close()
    await subject.close()
  })

  /** Inserts new rows, newest last; returns their ids. */
  async function add(listed: Listed, count: number): Promise<string[]> {
    const ids: string[] = []
    for (let first = 0; first < count; first += AT_ONCE) {
      const tables = new Map<Table, Row[]>()
      for (let i = first; i < Math.min(count, first + AT_ONCE); i++) {
        made += 1
        const id = newId(listed.prefix, at(made))
        ids.push(id)
        for (const [table, row] of Object.entries(listed.rows(id, ada.id, made)))
          tables.set(table as Table, [...(tables.get(table as Table) ?? []), row as Row])
      }
      for (const [table, rows] of tables)
        await hand.db
          .insertInto(table)
          .values(rows as never)
          .execute()
    }
    return ids
  }

  async function drop(listed: Listed, id: string) {
    for (const [table, column] of [listed.key, ...(listed.else === undefined ? [] : [listed.else])])
      await hand.db
        .deleteFrom(table)
        .where(column as never, '=', id as never)
        .execute()
  }

  for (const [group, listed] of Object.entries(LISTS))
    test(`${name}: ${group}`, async () => {
      if (group === 'openLinkRequests') [LINK] = (await add(LISTS['openLinks']!, 1)) as [string]
      const { list } = (account as unknown as Record<string, { list: List }>)[group]!
      const own = new Set((await everyId(list, listed)).flat())
      const ids = await add(listed, MANY)
      const gone = new Set<string>()
      const shown: string[] = []
      let cursor: string | null | undefined
      while (cursor !== null) {
        const page = await list({ limit: 200, ...(cursor === undefined ? {} : { cursor }) })
        shown.push(...page.items.map((item) => idIn(item, listed)))
        cursor = page.next_cursor
        // Newer rows are added; one row that a page had is deleted, and one that no page had yet.
        await add(listed, 3)
        const unseen = ids[Math.floor((ids.length - shown.length) / 2)]
        for (const id of [shown.find((one) => !own.has(one) && !gone.has(one)), unseen])
          if (id !== undefined && !gone.has(id)) {
            gone.add(id)
            await drop(listed, id)
          }
      }
      assert.equal(new Set(shown).size, shown.length, 'nothing is shown twice')
      const seen = new Set(shown)
      const missed = ids.filter((id) => !gone.has(id) && !seen.has(id))
      assert.deepEqual(missed, [], 'what was there all the time is shown')
      const mine = shown.filter((id) => !own.has(id))
      assert.deepEqual(mine, mine.toSorted().toReversed(), 'newest first')
      const known = new Set([...ids, ...own])
      assert.deepEqual(
        shown.filter((id) => !known.has(id)),
        [],
        'what came later is on no later page',
      )
    })
}

type List = (page: { limit?: number; cursor?: string }) => Promise<{
  items: readonly Shown[]
  next_cursor: string | null
}>

/** Returns the id of an item’s row. */
function idIn(item: Shown, { shownAs = 'id', else: other, prefix }: Listed): string {
  const id = String(item[shownAs])
  return other === undefined ? id : prefix + id.slice(prefix.length)
}

/** Returns the ids in a list before rows are added. */
async function everyId(list: List, listed: Listed): Promise<string[]> {
  const { items, next_cursor } = await list({ limit: 200 })
  assert.equal(next_cursor, null)
  return items.map((item) => idIn(item, listed))
}

test('this file or another one tests the paging of every list', () => {
  const lists = rowsOf(rest).filter(({ name, group }) => name === 'list' && !ELSEWHERE.has(group))
  assert.deepEqual(lists.map(({ group }) => group).toSorted(), Object.keys(LISTS).toSorted())
})

describe('paging', () => onBothEngines(suite))
