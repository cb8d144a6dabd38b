/** The rows of the list of people: states, the last check, the search and the filters. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  foundRows,
  peopleRows,
  type PeopleFilter,
  type PeopleSources,
} from '../../src/console/pages/people/people-rows.ts'

const NOW = Date.UTC(2026, 0, 1)
const day = (days: number) => new Date(NOW + days * 86_400_000).toISOString()
const own = { id: 'acc_me', user_id: 'acc_me', name_source: 'own', state: 'active' }
const other = (id: string, more: object = {}) => ({
  id,
  user_id: id,
  display_name: id,
  name_source: 'self',
  name_marks: [],
  role: 'member',
  state: 'active',
  ...more,
})

const connection = (name: string, more: object = {}) => ({
  id: `con_${name}`,
  name,
  kind: 'direct',
  state: 'active',
  favorite: false,
  tag_ids: [],
  members: [own, other(`acc_${name}`)],
  replaced_by: null,
  suspended: null,
  secret_here: true,
  ...more,
})
const guest = (label: string, more: object = {}) => ({
  id: `gst_${label}`,
  label,
  state: 'active',
  expires_at: day(30),
  external_member: null,
  secret_here: true,
  ...more,
})
const invitation = (id: string, to: string, more: object = {}) => ({
  id,
  connection_id: `con_${to}`,
  connection_name: to,
  to: { email: `${to}@example.org`, display_name: null, user_id: null },
  state: 'pending',
  ...more,
})
const card = (name: string, more: object = {}) => ({
  user_id: `acc_${name}`,
  own_name: null,
  note: null,
  key_status: 'unchanged',
  recovered_at: null,
  last_verified_at: null,
  ...more,
})
const invited = (id: string) => [own, other(id, { user_id: null, state: 'invited' })]
const check = (at: string, match: object, outcome = 'verified') => ({
  at,
  outcome,
  matches: [{ speaker: 'other', ...match }],
})

/** Makes rows of a part of the data. */
const rowsOf = (of: Record<string, readonly object[]>, isAll = true) =>
  peopleRows(
    {
      connections: of['connections'] ?? [],
      guests: of['guests'] ?? [],
      invitations: of['invitations'] ?? [],
      cards: of['cards'] ?? [],
      tags: of['tags'] ?? [],
      checks: { entries: of['entries'] ?? [], isAll },
    } as unknown as PeopleSources,
    NOW,
    new Intl.Collator('en'),
  )

describe('the state of a connection', () => {
  const waiting = { state: 'pending', members: invited('inv_1') }
  for (const [state, more, rest] of [
    ['ready', {}, {}],
    ['waitingWords', { secret_here: false }, {}],
    ['rotating', { suspended: 'rotation_pending' }, {}],
    ['forked', { suspended: 'roster_forked' }, {}],
    ['forked', { replaced_by: 'con_x' }, {}],
    ['ended', { state: 'ended' }, {}],
    ['ended', { suspended: 'ended' }, {}],
    ['newKeys', {}, { cards: [card('Ben', { key_status: 'changed_unverified' })] }],
    ['alone', { state: 'pending', members: [own] }, {}],
    ['waitingAnswer', waiting, { invitations: [invitation('inv_1', 'Ben')] }],
    ['approved', waiting, { invitations: [invitation('inv_1', 'Ben', { state: 'approved' })] }],
    ['alone', { state: 'pending', members: [own] }, { invitations: [invitation('inv_1', 'Ben')] }],
  ] as const)
    it(`is ${state} with ${JSON.stringify({ ...more, ...rest }).slice(0, 60)}`, () => {
      const rows = rowsOf({ connections: [connection('Ben', more)], ...rest })
      assert.deepEqual(
        rows.map((row) => [row.kind, row.state]),
        [['connection', state]],
      )
    })
})

it('the state of a guest code is ready until three days before its end', () => {
  const rows = rowsOf({
    guests: [
      guest('a'),
      guest('b', { expires_at: day(2) }),
      guest('c', { expires_at: day(-1) }),
      guest('d', { state: 'revoked' }),
      guest('e', { secret_here: false }),
    ],
  })
  assert.deepEqual(
    rows.map(({ state }) => state),
    ['guestReady', 'guestEndsSoon', 'guestExpired', 'guestRevoked', 'guestElsewhere'],
  )
})

it('an invitation to a connection with members has a row of its own until it is used', () => {
  const members = [own, other('acc_Ben'), other('inv_2', { user_id: null, state: 'invited' })]
  const rows = rowsOf({
    connections: [connection('Ben', { kind: 'group', members })],
    invitations: [
      invitation('inv_1', 'Ben', { state: 'approved' }),
      invitation('inv_2', 'carol', { connection_id: 'con_Ben' }),
    ],
  })
  assert.deepEqual(
    rows.map(({ kind, name, state }) => [kind, name, state]),
    [
      ['connection', 'Ben', 'ready'],
      ['invitation', 'carol@example.org', 'waitingAnswer'],
    ],
  )
})

it('the last check is the newest right one, or unknown if older checks were not read', () => {
  const of = {
    connections: [connection('Ann'), connection('Ben')],
    guests: [guest('Mum')],
    cards: [card('Ben', { last_verified_at: day(-9) })],
    entries: [
      check(day(-1), { connection_id: 'con_Ann' }, 'not_verified'),
      check(day(-2), { connection_id: 'con_Ann' }),
      check(day(-3), { connection_id: 'con_Ann' }),
      check(day(-4), { guest_code_id: 'gst_Mum', speaker: 'self' }),
    ],
  }
  const last = (isAll: boolean) =>
    rowsOf(of, isAll).map((row) => (row.kind === 'invitation' ? null : row.verified))
  assert.deepEqual(last(true), [{ at: day(-2) }, { at: day(-9) }, 'never'])
  assert.deepEqual(last(false), [{ at: day(-2) }, { at: day(-9) }, 'unknown'])
})

describe('a list', () => {
  const rows = rowsOf({
    connections: [
      connection('Zoë Ångström', { tag_ids: ['tag_1'] }),
      connection('Bank', { favorite: true }),
      connection('Club', { state: 'ended' }),
    ],
    guests: [guest('mum'), guest('Gone', { state: 'revoked' })],
    cards: [card('Bank', { note: 'met in Bern' })],
    tags: [{ id: 'tag_1', name: 'Family' }],
  })
  const found = (search: string, filter: PeopleFilter = 'all', tag = '') =>
    foundRows(rows, { search, filter, tag }).map(({ name }) => name)

  it('has the starred people first, and is sorted by name', () => {
    assert.deepEqual(found(''), ['Bank', 'Club', 'mum', 'Zoë Ångström'])
  })
  it('is searched without regard to accents, case and order, also by tag and note', () => {
    assert.deepEqual(found('angstrom ZOE'), ['Zoë Ångström'])
    assert.deepEqual(found('family'), ['Zoë Ångström'])
    assert.deepEqual(found('bern'), ['Bank'])
    assert.deepEqual(found('bern zoe'), [])
  })
  it('is filtered by kind, state and tag', () => {
    assert.deepEqual(found('', 'favorites'), ['Bank'])
    assert.deepEqual(found('', 'guests'), ['mum'])
    assert.deepEqual(found('', 'connections'), ['Bank', 'Zoë Ångström'])
    assert.deepEqual(found('', 'ended'), ['Club', 'Gone'])
    assert.deepEqual(found('', 'all', 'tag_1'), ['Zoë Ångström'])
  })
})
