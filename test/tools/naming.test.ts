/**
 * Names in the arguments of tools: which id a name becomes, what is refused, and which lists are
 * read.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { converter } from '../../src/api/openapi/document.ts'
import { rest } from '../../src/api/rest/index.ts'
import { type Ask, newCaller } from '../../src/api/tools/call.ts'
import { idsOf } from '../../src/api/tools/parameters.ts'
import type { ToolName } from '../../src/api/tools/tool.ts'
import { AppError } from '../../src/errors.ts'
import { type Json, TOOLS } from './calling.ts'

const call = newCaller(rest)

const id = (prefix: string, body: string) => `${prefix}_${body.padEnd(26, '0')}`

const member = (body: string, display_name: string, name_source: string) => ({
  id: id('acc', body),
  user_id: id('acc', body),
  display_name,
  name_source,
  name_marks: [],
})
const ME = member('01me', 'Ada', 'own')
const MUM = member('01mam1', 'Mum', 'given')
const BOB = member('01bob', 'Bob', 'given')
const EVE = member('01eve', 'Mum', 'self')
const DAN = member('01dan', 'Dan', 'self')

const connection = (body: string, name: string, kind: string, ...others: object[]) => ({
  id: id('con', body),
  name,
  kind,
  state: 'active',
  members: [ME, ...others],
})
const FAMILY = connection('01fam', 'Family', 'group', MUM, BOB, DAN)

const guest = (body: string, label: string, state = 'active') => ({
  id: id('gst', body),
  label,
  state,
  external_member: null,
})

const party = (display_name: string, name_source: string, email: string) => ({
  display_name,
  name_source,
  email,
})
const invitation = (body: string, direction: string, name: string, from: object, to: object) => ({
  id: id('inv', body),
  direction,
  connection_name: name,
  state: 'pending',
  from,
  to,
})
const SELF = party('Ada', 'own', 'ada@example.org')
const CARL = party('Carl', 'self', 'carl@example.org')

const named = (prefix: string, ...names: string[]) =>
  names.map((name, at) => ({ id: id(prefix, `01${at}`), name, state: 'active' }))

/** The lists of one account, by path. */
const LISTS: Readonly<Record<string, readonly object[]>> = {
  connections: [
    FAMILY,
    connection('01bank', 'Bank', 'direct', member('01ann', 'Ann', 'given')),
    connection('01eve', 'Lunch', 'direct', EVE),
  ],
  'guest-codes': [
    guest('01plum', 'Plumber'),
    guest('01old', 'Roofer', 'expired'),
    guest('01two1', 'Twin'),
    guest('01two2', 'twin'),
  ],
  'external-members': [{ id: id('ext', '01kim'), display_name: 'Kim', email: 'kim@example.org' }],
  'trust-cards': [{ ...BOB, own_name: 'Bobby' }],
  'open-links': [
    { id: id('lnk', '01'), title: 'Ask me', slug: 'ask', url: 'https://a.example/ask' },
  ],
  'open-links/requests': [
    {
      id: id('req', '01'),
      state: 'pending',
      requester: { display_name: 'Rita', email: 'rita@example.org' },
    },
  ],
  devices: named('dev', 'Laptop', 'Phone'),
  sessions: [{ id: id('ses', '01'), device_id: id('dev', '010') }],
  tags: named('tag', 'Work', 'Home'),
  presets: named('pre', 'Trade', 'default'),
  'api-tokens': named('tok', 'script'),
  exports: [{ id: id('exp', '01abc') }],
  notifications: [{ id: id('ntf', '01abc') }, { id: id('ntf', '01xyz') }],
  'org/members': [{ id: id('acc', '01o'), display_name: 'Olga', email: 'olga@example.org' }],
  'org/groups': named('grp', 'Board'),
  'org/alerts': named('alr', 'Many stamps'),
}
const INVITATIONS = {
  received: [invitation('01in', 'received', 'Carl and I', CARL, SELF)],
  sent: [invitation('01out', 'sent', 'Club', SELF, party('Carl', 'given', 'carl@example.org'))],
}
const HANDLES: Readonly<Record<string, object>> = {
  dora: { id: id('acc', '01dora'), display_name: 'Dora' },
}

/** Returns the routes of an account, which note what reaches them besides the lists. */
function account(lists = LISTS) {
  const effects: Json[] = []
  const read: string[] = []
  const ask: Ask = async ({ method, segments, query, body }) => {
    const path = segments.slice(2).join('/')
    const answer = (value: unknown) => {
      read.push(path)
      return { value, media: false }
    }
    if (method === 'GET' && query === 'limit=200') {
      const items = lists[path]
      if (items !== undefined) return answer({ items, next_cursor: null })
    }
    if (method === 'GET' && path === 'invitations') return answer(INVITATIONS)
    if (method === 'GET' && path === 'context')
      return answer({ organisations: named('org', 'Example Ltd') })
    const known = lists['connections']?.find(
      (one) => path === `connections/${(one as typeof FAMILY).id}`,
    )
    if (method === 'GET' && known !== undefined && effects.length === 0) return answer(known)
    if (method === 'GET' && /^profiles\/[a-z]+$/.test(path)) {
      const profile = HANDLES[path.slice('profiles/'.length)]
      if (profile === undefined) throw new AppError('not_found', 'Nothing has this handle.')
      return answer(profile)
    }
    effects.push({
      request: `${method} ${path}${query === '' ? '' : `?${query}`}`,
      ...(body === undefined || JSON.stringify(body) === '{}' ? {} : { body }),
    })
    return { value: {}, media: false }
  }
  return { ask, effects, read }
}

const requestOf = async (tool: string, args: Json) => {
  const { ask, effects } = account()
  await call(ask, tool, args)
  return JSON.parse(JSON.stringify(effects)) as Json[]
}

describe('an argument of a tool', () => {
  const FAM = FAMILY.id
  const cases: [tool: ToolName, args: Json, request: string, body?: Json][] = [
    ['connections_code', { id: 'bank' }, `GET connections/${id('con', '01bank')}/code`],
    ['connections_code', { id: ' BANK ' }, `GET connections/${id('con', '01bank')}/code`],
    ['connections_code', { id: 'Ann' }, `GET connections/${id('con', '01bank')}/code`],
    ['connections_code', { id: 'con_01ba' }, `GET connections/${id('con', '01bank')}/code`],
    [
      'connections_code',
      { id: 'Family', listener: 'Bob' },
      `GET connections/${FAM}/code?listener=${BOB.id}`,
    ],
    ['connections_delete', { id: 'Ann' }, `DELETE connections/${id('con', '01bank')}`],
    ['connections_list', { tag_id: 'home' }, `GET connections?tag_id=${id('tag', '011')}`],
    [
      'connections_create',
      { name: 'Club', preset_id: 'trade', invite: [{ user_id: 'Bob' }, { email: 'a@b.example' }] },
      'POST connections',
      {
        name: 'Club',
        preset_id: id('pre', '010'),
        invite: [{ user_id: BOB.id }, { email: 'a@b.example' }],
      },
    ],
    [
      'connections_create',
      { name: 'C', preset_id: null },
      'POST connections',
      { name: 'C', preset_id: null },
    ],
    [
      'members_add',
      { id: 'Family', user_id: 'Ann' },
      `POST connections/${FAM}/members`,
      { user_id: id('acc', '01ann') },
    ],
    [
      'members_add',
      { id: 'Family', user_id: 'Bank' },
      `POST connections/${FAM}/members`,
      { user_id: id('acc', '01ann') },
    ],
    [
      'members_add',
      { id: 'Family', user_id: '@Dora' },
      `POST connections/${FAM}/members`,
      { user_id: id('acc', '01dora') },
    ],
    ['members_remove', { id: 'Family', mid: 'mum' }, `DELETE connections/${FAM}/members/${MUM.id}`],
    ['invitations_approve', { id: 'Carl' }, `POST invitations/${id('inv', '01in')}/approve`],
    ['invitations_approve', { id: 'Carl and I' }, `POST invitations/${id('inv', '01in')}/approve`],
    [
      'invitations_decline',
      { id: 'carl@example.org' },
      `POST invitations/${id('inv', '01in')}/decline`,
    ],
    ['invitations_withdraw', { id: 'Carl' }, `POST invitations/${id('inv', '01out')}/withdraw`],
    ['guest_codes_delete', { id: 'plumber' }, `DELETE guest-codes/${id('gst', '01plum')}`],
    ['guest_codes_delete', { id: 'Roofer' }, `DELETE guest-codes/${id('gst', '01old')}`],
    [
      'guest_codes_create',
      { label: 'K', external_member_id: 'kim@example.org' },
      'POST guest-codes',
      { label: 'K', external_member_id: id('ext', '01kim') },
    ],
    ['external_members_delete', { id: 'Kim' }, `DELETE external-members/${id('ext', '01kim')}`],
    ['trust_cards_update', { id: 'Bob', note: 'n' }, `PATCH trust-cards/${BOB.id}`, { note: 'n' }],
    ['trust_cards_history', { id: 'Bobby' }, `GET trust-cards/${BOB.id}/history`],
    ['trust_cards_create', { user_id: 'Dan' }, 'POST trust-cards', { user_id: DAN.id }],
    ['profiles_read', { id: 'Ann' }, `GET profiles/${id('acc', '01ann')}`],
    ['open_links_pause', { id: 'ask' }, `PATCH open-links/${id('lnk', '01')}/pause`],
    [
      'open_link_requests_approve',
      { id: 'Rita' },
      `POST open-links/requests/${id('req', '01')}/approve`,
    ],
    ['tags_assign', { id: 'Work', cid: 'Family' }, `POST tags/${id('tag', '010')}/assign/${FAM}`],
    [
      'presets_create',
      { name: 'P', tag_ids: ['home', id('tag', '010')] },
      'POST presets',
      { name: 'P', tag_ids: [id('tag', '011'), id('tag', '010')] },
    ],
    ['presets_delete', { id: 'default' }, `DELETE presets/${id('pre', '011')}`],
    ['devices_delete', { id: 'phone' }, `DELETE devices/${id('dev', '011')}`],
    ['sessions_delete', { id: 'Laptop' }, `DELETE sessions/${id('ses', '01')}`],
    ['exports_download', { id: 'exp_01ab' }, `GET exports/${id('exp', '01abc')}/download`],
    ['notifications_delete', { id: ['ntf_01xy'] }, `DELETE notifications?id=${id('ntf', '01xyz')}`],
    [
      'context_active_org',
      { organisation_id: 'example ltd' },
      'POST context/active-org',
      { organisation_id: id('org', '010') },
    ],
    ['org_members_read', { id: 'Olga' }, `GET org/members/${id('acc', '01o')}`],
    [
      'org_members_suspend',
      { id: 'OLGA@example.org' },
      `POST org/members/${id('acc', '01o')}/suspend`,
    ],
    [
      'org_groups_add_members',
      { id: 'Board', member_ids: ['Olga'] },
      `POST org/groups/${id('grp', '010')}/members`,
      { member_ids: [id('acc', '01o')] },
    ],
    [
      'org_alerts_update',
      { id: 'many stamps', notify: ['olga@example.org'] },
      `PATCH org/alerts/${id('alr', '010')}`,
      { notify: [id('acc', '01o')] },
    ],
    ['api_tokens_delete', { id: 'script' }, `DELETE api-tokens/${id('tok', '010')}`],
    [
      'verify_challenge',
      { connection_id: 'Bank' },
      'POST verify/challenges',
      { connection_id: id('con', '01bank') },
    ],
  ]
  for (const [tool, args, request, body] of cases)
    it(`${tool} ${JSON.stringify(args)} becomes ${request}`, async () => {
      assert.deepEqual(await requestOf(tool, args), [{ request, ...(body && { body }) }])
    })

  const words = 'matador carload recede'
  const expected: [expect: unknown, becomes: Json][] = [
    ['Bank', { connection_id: id('con', '01bank') }],
    ['Plumber', { guest_code_id: id('gst', '01plum') }],
    ['Bob', { user_id: BOB.id }],
    // A claim counts only if the user has no such name.
    ['Mum', { user_id: MUM.id }],
    [id('con', '01x'), { connection_id: id('con', '01x') }],
    [id('acc', '01x'), { user_id: id('acc', '01x') }],
    [{ connection_id: 'bank' }, { connection_id: id('con', '01bank') }],
    [{ user_id: 'Ann' }, { user_id: id('acc', '01ann') }],
    [{ guest_code_id: 'gst_01pl' }, { guest_code_id: id('gst', '01plum') }],
  ]
  for (const [expect, becomes] of expected)
    it(`verify_words with expect ${JSON.stringify(expect)} checks ${JSON.stringify(becomes)}`, async () => {
      const [effect] = await requestOf('verify_words', { words, expect })
      assert.deepEqual(effect?.['body'], { words, expect: becomes })
    })

  it('that is a whole id reads no list, and reaches the route unchanged', async () => {
    const { ask, effects, read } = account()
    await call(ask, 'tags_assign', { id: id('tag', '09'), cid: id('pre', '09') })
    assert.deepEqual(read, [])
    assert.equal(effects[0]?.['request'], `POST tags/${id('tag', '09')}/assign/${id('pre', '09')}`)
  })

  it('with more than 200 names reads no list', async () => {
    const { ask, read } = account()
    const ids = Array<string>(201).fill('ntf_01xy')
    await assert.rejects(call(ask, 'notifications_read', { ids }), { code: 'validation_failed' })
    assert.deepEqual(read, [])
    const { ask: again, effects } = account()
    await call(again, 'notifications_read', { ids: ids.slice(1) })
    const sent = effects[0]?.['body'] as { readonly ids: readonly string[] } | undefined
    assert.equal(sent?.ids[199], id('ntf', '01xyz'))
  })

  it('with many names reads each list once, and leaves the given arguments unchanged', async () => {
    const { ask, read } = account()
    const args = { id: 'Trade', tag_ids: ['Work', 'Home', 'Work'] }
    await call(ask, 'presets_update', args)
    assert.deepEqual(read, ['presets', 'tags'])
    assert.deepEqual(args, { id: 'Trade', tag_ids: ['Work', 'Home', 'Work'] })
  })
})

describe('a name that a tool refuses', () => {
  const twins = `"Twin" can mean several. Nothing was done. Call the tool again with one of these ids:
  ${id('gst', '01two1')}  "Twin" (guest code)
  ${id('gst', '01two2')}  "twin" (guest code)`
  const cases: [
    what: string,
    tool: ToolName,
    args: Json,
    error: string,
    message: string | RegExp,
  ][] = [
    ['is ambiguous', 'guest_codes_delete', { id: 'Twin' }, 'ambiguous_name', twins],
    ['begins two ids', 'guest_codes_qr', { id: 'gst_01two' }, 'ambiguous_name', /can mean several/],
    [
      'has no item',
      'connections_code',
      { id: 'Mama' },
      'not_found',
      'No one here is called "Mama". Connections: "Family" (con_01fa), "Bank" (con_01ba), "Lunch" (con_01ev).',
    ],
    [
      'is a part of a name',
      'tags_delete',
      { id: 'Wor' },
      'not_found',
      'Nothing here is called "Wor". Tags: "Work" (tag_0100), "Home" (tag_0110).',
    ],
    [
      'is a handle without @',
      'profiles_read',
      { id: 'dora' },
      'not_found',
      /their @handle or the id of their account/,
    ],
    ['is an unknown handle', 'profiles_read', { id: '@nix' }, 'not_found', /the handle "@nix"/],
    [
      'names no organisation',
      'context_active_org',
      { organisation_id: 'Nix' },
      'not_found',
      /To create one, use organisations_create\./,
    ],
    [
      'is a claim, for what cannot be undone',
      'invitations_decline',
      { id: 'Carl' },
      'claimed_name',
      `"Carl" is a name that only others claim, which is not enough for this. Nothing was done. Call the tool again with one of these ids:\n  ${id('inv', '01in')}  "carl@example.org" (invitation)`,
    ],
    [
      'is the inviter’s name of the connection, to decline',
      'invitations_decline',
      { id: 'Carl and I' },
      'claimed_name',
      /is a name that only others claim/,
    ],
    [
      'is the claim of a member, to remove it',
      'members_remove',
      { id: 'Family', mid: 'Dan' },
      'claimed_name',
      new RegExp(`${DAN.id}  calls itself "Dan" \\(member\\)$`),
    ],
    [
      'is the claim of the only other member, to leave the connection',
      'connections_delete',
      { id: 'Mum' },
      'claimed_name',
      new RegExp(`${id('con', '01eve')}  "Lunch" \\(connection\\)$`),
    ],
    [
      'is the claim of a stranger, to expect their words',
      'verify_words',
      { words: 'matador carload recede', expect: 'Dan' },
      'claimed_name',
      new RegExp(`${DAN.id}  calls itself "Dan" \\(group member\\)$`),
    ],
    [
      'is the claim of a stranger, to draw a challenge',
      'verify_challenge',
      { connection_id: 'Mum' },
      'claimed_name',
      new RegExp(`${id('con', '01eve')}  "Lunch" \\(connection\\)$`),
    ],
    [
      'is one of several',
      'presets_update',
      { id: 'Trade', tag_ids: ['Work', 'Nix'] },
      'not_found',
      /Nothing here is called "Nix"/,
    ],
    ['is empty but for spaces', 'tags_delete', { id: '  ' }, 'not_found', /is called " "/],
    ['is of an object', 'tags_delete', { id: '__proto__' }, 'not_found', /called "__proto__"/],
  ]
  for (const [what, tool, args, error, message] of cases)
    it(`${what}: ${tool} does nothing`, async () => {
      const { ask, effects } = account()
      const thrown = await call(ask, tool, args).then(
        () => assert.fail('it was accepted'),
        (cause: unknown) => cause as AppError,
      )
      assert.deepEqual([thrown.details.state ?? thrown.code, effects], [error, []], thrown.message)
      if (error !== 'not_found') assert.equal(thrown.code, 'conflict')
      if (typeof message === 'string') assert.equal(thrown.message, message)
      else assert.match(thrown.message, message)
    })
})

describe('hostile names', () => {
  const HOSTILE = `\u202eMum\u001b[2J"), Bank (con_01bank${'x'.repeat(65_536)}`
  const lists = {
    connections: [
      connection('01evil', HOSTILE, 'direct', member('01e', HOSTILE, 'self')),
      connection('01mum', 'Mum', 'direct', MUM),
      connection('01look', 'Lunch', 'direct', member('01z', 'M\u200dum', 'self')),
    ],
  }

  it('in an error neither change the direction of text, nor end their quotation, nor fill it', async () => {
    const { ask } = account(lists)
    for (const name of ['nobody', HOSTILE, '\ud800'])
      await assert.rejects(
        call(ask, 'connections_read', { id: `${name}?` }),
        ({ message }: Error) => {
          assert.doesNotMatch(message, /[\u202a-\u202e\u2066-\u2069\p{Cc}]/u)
          assert.match(
            message,
            /calls itself "Mum\[2J'\), Bank \(con_01bankx+…" \(con_01ev\), "Mum" \(con_01mu\)/,
          )
          return message.length < 500
        },
      )
  })

  it('that look like a name of the user do not make it ambiguous', async () => {
    for (const name of ['Mum', 'mum', 'M\u200dum']) {
      const { ask, effects } = account(lists)
      await call(ask, 'connections_favorite', { id: name })
      assert.equal(effects[0]?.['request'], `POST connections/${id('con', '01mum')}/favorite`)
    }
  })

  it('that are the beginning of an id do not make it ambiguous', async () => {
    const bank = connection('01bank', 'Bank', 'direct', MUM)
    const stranger = connection('01eve', 'Lunch', 'direct', member('01eve', 'con_01ba', 'self'))
    const { ask, effects } = account({ connections: [stranger, bank] })
    await call(ask, 'connections_favorite', { id: 'con_01ba' })
    assert.equal(effects[0]?.['request'], `POST connections/${bank.id}/favorite`)
  })

  it('are listed 20 at most if they are equal', async () => {
    const many = Array.from({ length: 300 }, (_, at) => guest(`01${at}x`, 'Twin'))
    const { ask } = account({ 'guest-codes': many })
    await assert.rejects(call(ask, 'guest_codes_delete', { id: 'twin' }), ({ message }: Error) =>
      message.endsWith('\n  and 280 more'),
    )
  })
})

describe('a connection that has the name of its inviter', () => {
  const STRANGER = connection('01eve', 'M\u200dum', 'direct', EVE)
  const words = 'matador carload recede'

  it('is not what a name of the user means', async () => {
    const { ask, effects } = account({
      ...LISTS,
      connections: [STRANGER, connection('01mum', 'Home', 'direct', MUM)],
    })
    await call(ask, 'verify_words', { words, expect: 'Mum' })
    await call(ask, 'trust_cards_create', { user_id: 'Mum' })
    assert.deepEqual(JSON.parse(JSON.stringify(effects.map(({ body }) => body))), [
      { words, expect: { connection_id: id('con', '01mum') } },
      { user_id: MUM.id },
    ])
  })

  for (const [tool, args] of [
    ['verify_words', { words, expect: 'Mum' }],
    ['verify_words', { words, expect: { user_id: 'Mum' } }],
    ['verify_challenge', { connection_id: 'Mum' }],
    ['connections_delete', { id: 'Mum' }],
  ] as const)
    it(`is only a claim: ${tool} ${JSON.stringify(args)} does nothing`, async () => {
      const { ask, effects } = account({ ...LISTS, connections: [STRANGER] })
      await assert.rejects(call(ask, tool, args), { details: { state: 'claimed_name' } })
      assert.deepEqual(effects, [])
    })

  it('has the name if the user gives the person the same one', async () => {
    const { ask, effects } = account({
      ...LISTS,
      connections: [connection('01mum', 'Mum', 'direct', MUM)],
    })
    await call(ask, 'verify_words', { words, expect: 'Mum' })
    assert.deepEqual(
      { ...(effects[0]?.['body'] as Json) },
      {
        words,
        expect: { connection_id: id('con', '01mum') },
      },
    )
  })
})

describe('a name that the user gave to an ended item', () => {
  const ENDED = { ...connection('01bank', 'Bank', 'direct', BOB), state: 'ended' }
  const STRANGER = connection('01eve', 'Lunch', 'direct', member('01eve', 'Bank', 'self'))

  it('is not taken over by a person who claims it', async () => {
    const { ask, effects } = account({ ...LISTS, connections: [ENDED, STRANGER] })
    await assert.rejects(call(ask, 'connections_code', { id: 'Bank' }), {
      details: { state: 'ambiguous_name' },
      message: `"Bank" can mean several. Nothing was done. Call the tool again with one of these ids:
  ${STRANGER.id}  "Lunch" (connection)
  ${ENDED.id}  "Bank" (connection, ended)`,
    })
    assert.deepEqual(effects, [])
  })

  it('still names it if nothing else has the name', async () => {
    const { ask, effects } = account({ ...LISTS, connections: [ENDED] })
    await call(ask, 'connections_code', { id: 'Bank' })
    assert.equal(effects[0]?.['request'], `GET connections/${ENDED.id}/code`)
  })
})

describe('a list that the caller may not read', () => {
  it('is an error of the tool, which does nothing', async () => {
    const { ask, effects } = account()
    const refused = new AppError('insufficient_scope', 'This needs full.')
    const within: Ask = async (asked) => {
      if (asked.segments.includes('api-tokens')) throw refused
      return ask(asked)
    }
    await assert.rejects(call(within, 'api_tokens_delete', { id: 'script' }), refused)
    assert.deepEqual(effects, [])
  })
})

describe('the ids in arguments', () => {
  /** Arguments that must be whole ids: they come from an answer, and nothing has a name. */
  const ID_ONLY = ['challenge_id', 'conversation_id', 'turn_id']

  /** Returns the names of the arguments with ids in a JSON Schema, as `idsOf` names them. */
  function idsIn(schema: unknown, path: readonly string[] = []): string[] {
    const { properties, items, anyOf, description } = schema as Json
    const isId = typeof description === 'string' && description.startsWith('An id: ')
    const parts = [items, ...((anyOf as unknown[]) ?? [])].filter((part) => part !== undefined)
    return [
      ...(isId ? [path.join('.')] : []),
      ...parts.flatMap((part) => idsIn(part, path)),
      ...Object.entries((properties ?? {}) as Json).flatMap(([name, inner]) =>
        idsIn(inner, [...path, name]),
      ),
    ]
  }

  it('can be names, except ids of things without one', () => {
    const convert = converter({})
    let count = 0
    for (const { name, route } of TOOLS) {
      const declared = idsOf(route).map((one) => [one.name, one.member].filter(Boolean).join('.'))
      const found = new Set([
        ...[...route.path.matchAll(/{(\w+)}/g)].map(([, key]) => key as string),
        ...[route.query, route.body].flatMap((schema) =>
          schema === undefined ? [] : idsIn(convert(schema, 'input')),
        ),
      ])
      for (const key of found)
        assert(
          declared.includes(key),
          `${name} takes the id ${key}: add it to src/api/tools/parameters.ts`,
        )
      const idOnly = idsOf(route).filter(({ argument }) => argument.takes === null)
      assert(
        idOnly.every((one) => ID_ONLY.includes(one.name)),
        name,
      )
      count += found.size
    }
    assert(count > 60, String(count))
  })

  it('say in the description that they can be names', () => {
    for (const { name, route } of TOOLS)
      for (const { argument, name: key } of idsOf(route)) {
        const { takes, description } = argument
        if (takes === null || takes === 'export' || takes === 'notification') continue
        assert.match(description, /[Nn]ames?\b|[Ee]mail address/, `${name}, ${key}`)
      }
  })
})
