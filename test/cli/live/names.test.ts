/**
 * Names in place of ids: which item a text names, that no other person can take over or block a
 * name of the user, and what the errors show.
 */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { describe, it, test } from 'node:test'
import type { Api } from '../../../src/cli/command.ts'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { AppError, EXIT } from '../../../src/errors.ts'
import { namesAfter } from '../../../src/cli/completion/names.ts'
import { freshFolder } from '../../keychain/fresh-folder.ts'
import { daemonHere, terminal } from '../terminal.ts'
import { newCliFixture } from '../cli-fixture.ts'
import { call } from '../calling.ts'

const id = (prefix: string, body: string) => `${prefix}_${body.padEnd(26, '0')}`

const guest = (body: string, label: string, state = 'active') => ({
  id: id('gst', body),
  label,
  state,
  external_member: null,
  // The words of the tests are the id of their item.
  code: { words: id('gst', body), valid_until: '' },
  expires_at: '2026-01-01T00:00:00.000Z',
})

const member = (body: string, display_name: string, name_source: string) => ({
  id: id('acc', body),
  user_id: id('acc', body),
  display_name,
  name_source,
  name_marks: [],
  role: 'member',
  state: 'active',
})

const ME = member('01me', 'Ada', 'own')

const connection = (body: string, name: string, ...others: ReturnType<typeof member>[]) => ({
  id: id('con', body),
  name,
  kind: others.length > 1 ? 'group' : 'direct',
  state: 'active',
  members: [ME, ...others],
})

/** What one table row lists. */
interface World {
  readonly guests?: readonly ReturnType<typeof guest>[]
  readonly connections?: readonly ReturnType<typeof connection>[]
}

/** Returns an API with these lists, which notes each request. */
function apiOf({ guests = [], connections = [] }: World) {
  const requests: string[] = []
  const list = (name: string, items: readonly object[]) => async () => {
    requests.push(name)
    return { items, next_cursor: null }
  }
  const api = {
    guestCodes: {
      list: list('guests', guests),
      delete: async (one: { id: string }) => void requests.push(`revoke ${one.id}`),
    },
    connections: {
      list: list('connections', connections),
      read: async (one: { id: string }) => connections.find((some) => some.id === one.id),
      code: async (one: { id: string }) => {
        requests.push(`code ${one.id}`)
        return { connection_id: one.id, words: one.id, valid_until: '' }
      },
    },
  }
  return { api: api as unknown as Api, requests }
}

const MUM = guest('01mam1', 'Mum')
const BANK = guest('01bank', 'Bank "Zürich" (call)')

describe('the guest that a text names', () => {
  const cases: [what: string, text: string, guests: World['guests'], revoked: string | RegExp][] = [
    ['its name', 'Mum', [MUM, BANK], MUM.id],
    ['its name in another case, with spaces', ' mUM ', [MUM, BANK], MUM.id],
    ['its name without the accent', 'bank "zurich" (call)', [MUM, BANK], BANK.id],
    ['the beginning of its id', 'gst_01ma', [MUM, BANK], MUM.id],
    ['the beginning of its id in upper case', 'GST_01MA', [MUM, BANK], MUM.id],
    ['the same spelling before a look-alike', 'Mum', [MUM, guest('01x', 'Mum\u200d')], MUM.id],
    ['an active guest before an ended one', 'Mum', [guest('01x', 'Mum', 'expired'), MUM], MUM.id],
    [
      'an ended guest if there is no other',
      'Mum',
      [guest('01x', 'Mum', 'expired')],
      id('gst', '01x'),
    ],
    ['two guests with one name', 'Mum', [MUM, guest('01mam2', 'MUM')], /can mean several/],
    [
      'two look-alikes',
      'Mum',
      [guest('01a', 'Mum\u200d'), guest('01b', 'M\u00fam')],
      /can mean several/,
    ],
    ['the beginning of two ids', 'gst_01mam', [MUM, guest('01mam2', 'Dad')], /can mean several/],
    [
      'a name like the beginning of another id',
      'gst_01ba',
      [guest('01x', 'gst_01ba'), BANK],
      /can mean several/,
    ],
    ['a name like a whole id', MUM.id, [guest('01x', MUM.id), MUM], MUM.id],
    ['a part of a name', 'Mu', [MUM], /No one here is called "Mu"\. Guests: "Mum" \(gst_01ma\)\./],
    ['no name', '', [MUM, guest('01x', '\u200d')], /No one here is called ""/],
    ['only the prefix', 'gst_', [MUM], /No one here is called "gst_"/],
    ['too little of an id', 'gst_01m', [MUM], /No one here is called "gst_01m"/],
    ['the beginning of an id of another kind', 'con_01ma', [MUM], /No one here/],
    ['a name of an object', '__proto__', [MUM], /No one here is called "__proto__"/],
    ['none of none', 'Mum', [], /No one here is called "Mum"\. Guests: none\./],
  ]
  for (const [what, text, guests, expected] of cases)
    it(what, async () => {
      const { api, requests } = apiOf({ guests: guests ?? [] })
      const { code, err } = await call(api, ['guest revoke', text])
      const revoked = requests.filter((request) => request !== 'guests')
      if (typeof expected === 'string') {
        assert.deepEqual([code, revoked], [EXIT.ok, [`revoke ${expected}`]], err)
        return
      }
      assert.match(err, expected)
      assert.deepEqual(revoked, [])
      assert.equal(code, err.includes('several') ? EXIT.ambiguous : EXIT.failed)
    })
})

describe('the connection or guest that a text names', () => {
  const stranger = member('01eve', 'Mum', 'self')
  const bob = member('01bob', 'Bob', 'confirmed')
  const cases: [what: string, text: string, world: World, shown: string | RegExp][] = [
    [
      'a connection by the name of its other member',
      'Bob',
      { connections: [connection('01c', 'Lunch', bob)] },
      id('con', '01c'),
    ],
    [
      'no connection by the own name',
      'Ada',
      { connections: [connection('01c', 'Lunch', bob)] },
      /No one here is called "Ada"/,
    ],
    [
      'no group by the name of a member',
      'Bob',
      { connections: [connection('01c', 'Team', bob, stranger)] },
      /No one here/,
    ],
    [
      'a guest with the name that a stranger claims',
      'Mum',
      { guests: [MUM], connections: [connection('01c', 'Lunch', stranger)] },
      MUM.id,
    ],
    [
      'a connection with the name that a stranger claims',
      'Mum',
      { connections: [connection('01c', 'Mum', bob), connection('01d', 'Lunch', stranger)] },
      id('con', '01c'),
    ],
    [
      'a guest and a connection with one name',
      'Mum',
      { guests: [MUM], connections: [connection('01c', 'Mum', bob)] },
      /gst_01mam1.*"Mum" \(guest code\)\n.*con_01c.*"Mum" \(connection\)/,
    ],
  ]
  for (const [what, text, world, expected] of cases)
    it(what, async () => {
      const { out, err } = await call(apiOf(world).api, ['code', text])
      if (typeof expected === 'string') assert.equal(out, `${expected}\n`)
      else assert.match(err, expected)
    })
})

it('a whole id needs no list, and a name needs one', async () => {
  for (const [text, lists] of [
    [MUM.id, 0],
    ['Mum', 1],
    ['gst_01ma', 1],
  ] as const) {
    const { api, requests } = apiOf({ guests: [MUM] })
    await call(api, ['guest revoke', text])
    assert.deepEqual(requests, [...Array<string>(lists).fill('guests'), `revoke ${MUM.id}`])
  }
})

it('names in errors and answers can neither control a terminal nor look like other items', async () => {
  const hostile = guest('01evil', '\u001b[2J\u202eMum"), Bank (gst_01bank')
  for (const [text, out] of [
    ['nobody', /Guests: "�\[2J�Mum'\), Bank \(gst_01bank" \(gst_01ev\), "Mum" \(gst_01ma\)\./],
    ['gst_01ev', /^Revoked "�\[2J�Mum'\), Bank \(gst_01bank" \(gst_01evil0{20}\)\.\n$/],
  ] as const) {
    const { err } = await call(apiOf({ guests: [hostile, MUM] }).api, ['guest revoke', text])
    assert.match(err, out)
  }
  const many = Array.from({ length: 9 }, (_, i) => guest(`0${i}`, 'x'.repeat(65_536)))
  const { err } = await call(apiOf({ guests: many }).api, ['guest revoke', 'nobody'])
  assert(err.length < 500, String(err.length))
  assert.match(err, / and 4 more \("countersignd guest list"\)\.\n$/)
})

it('every command that takes an id in its usage line takes names', async () => {
  for (const [name, { load }] of Object.entries(COMMANDS)) {
    const { usage, options = {}, takes = [] } = await load()
    if (name === 'ask') continue
    assert(!/\bID\b/.test(usage), `${name} ${usage}`)
    const words = takes.length === 0 ? [] : usage.split(' ').filter((word) => /^[A-Z]/.test(word))
    assert(words.length >= takes.filter((kind) => kind !== null).length, name)
    for (const [option, { takes: kind }] of Object.entries(options))
      if (kind !== undefined) assert.match(usage, new RegExp(`--${option} [A-Z]`), name)
  }
})

test('people, tags and organisations are named in the commands of a real account', async (t) => {
  const fixture = await newCliFixture(t)
  const [ada, bob] = [await fixture.person('ada'), await fixture.person('bob')]
  const { id: bank } = await ada.json('connection', 'create', '--name', 'Bank Zürich')
  await ada.good(['tag', 'create', '--name', 'Work'])
  assert.match(
    (await ada.good(['tag', 'assign', 'work', 'bank zürich'])).err,
    /^"Bank Zürich" has the tag "Work" \(tag_\w{26}\)\.\n$/,
  )
  assert.deepEqual((await ada.json('connection', 'list', '--tag', 'WORK')).items[0].id, bank)

  await ada.good(['trust', 'follow', bob.email])
  await ada.good(['trust', 'rename', bob.id, 'My Bob'])
  await ada.good(['invite', 'bank zürich', 'my bob'])
  await bob.good(['invite', 'approve', ada.email])
  for (const one of [ada, bob, ada]) await one.good(['sync'])
  assert.match(
    (await ada.good(['connection', 'role', 'Bank Zürich', 'My Bob', 'owner'])).err,
    /owner/,
  )
  assert.match(
    (await ada.good(['trust', 'unfollow', 'my bob'])).err,
    /^You no longer follow "My Bob" \(acc_\w{26}\)\.\n$/,
  )

  for (const name of ['Acme', 'acme']) await ada.good(['org', 'create', name])
  const { code, err } = await ada.on(['org', 'use', 'ACME'])
  assert.equal(code, EXIT.ambiguous)
  assert.match(
    err,
    /can mean several\. Nothing was done\..*\n {2}org_\w{26} {2}"acme" \(organisation\)\n/i,
  )
})

describe('an account that a handle names', () => {
  const user_id = id('acc', '01ada')
  const apiWith = (followed: { user_id: string; display_name: string }[]) => {
    const bodies: object[] = []
    const cards = followed.map((one) => ({ ...one, name_source: 'confirmed', own_name: null }))
    const api = {
      profiles: {
        read: async ({ id: handle }: { id: string }) => {
          if (handle !== 'ada-bakery') throw new AppError('not_found', 'There is no such account.')
          return { id: user_id, display_name: 'Ada' }
        },
      },
      trustCards: {
        list: async () => ({ items: cards, next_cursor: null }),
        create: async ({ body }: { body: object }) => {
          bodies.push(body)
          return { user_id, display_name: 'Ada', name_source: 'self', name_marks: [] }
        },
      },
    }
    return { api: api as unknown as Api, bodies }
  }

  it('is followed, with any case of the letters', async () => {
    const { api, bodies } = apiWith([])
    await call(api, ['trust follow', '@Ada-Bakery'])
    assert.deepEqual(bodies, [{ user_id }])
  })

  it('is not meant without the @', async () => {
    const { api, bodies } = apiWith([])
    const { err } = await call(api, ['trust follow', 'ada-bakery'])
    assert.match(err, /No one here is called "ada-bakery".*@handle/)
    assert.deepEqual(bodies, [])
  })

  it('does not exist', async () => {
    const { err } = await call(apiWith([]).api, ['trust follow', '@nobody'])
    assert.match(err, /^No account has the handle "@nobody"/)
  })
})

describe('the names that completion offers', () => {
  const bob = member('01bob', 'Bob', 'confirmed')
  const world: World = {
    guests: [
      MUM,
      guest('01x', 'Dad', 'revoked'),
      guest('01y', '\u202eevil'),
      guest('01z', '--help'),
      guest('01v', 'Twin'),
      guest('01w', 'twin'),
      guest('01t', 'x'.repeat(65_536)),
    ],
    connections: [connection('01c', 'Lunch', bob)],
  }
  const odd = ['01y', '01z', '01v', '01w', '01t'].map((body) => id('gst', body))
  const cases: [words: string[], names: string[]][] = [
    [
      ['guest', 'revoke'],
      ['Mum', ...odd],
    ],
    [['guest', 'revoke', 'Mum'], []],
    [
      ['guest', 'revoke', '--json'],
      ['Mum', ...odd],
    ],
    [['code'], ['Mum', ...odd, 'Lunch']],
    [['code', '--purpose'], []],
    [
      ['code', '--purpose', 'x'],
      ['Mum', ...odd, 'Lunch'],
    ],
    [
      ['connection', 'role', 'lunch'],
      ['Ada', 'Bob'],
    ],
    [
      ['code', 'lunch', '--listener', '='],
      ['Ada', 'Bob'],
    ],
    [['connection', 'role', 'lunch', 'Bob'], []],
    [['guest'], []],
    [['nonsense'], []],
    [['__proto__'], []],
    [[], []],
  ]
  for (const [words, names] of cases)
    it(`countersignd ${words.join(' ')}`, async () => {
      const { api } = apiOf(world)
      assert.deepEqual(await namesAfter(COMMANDS, words, (work) => work(api)), names)
    })

  it('come from a running daemon, and without one nothing is opened', async (t) => {
    const dir = freshFolder(t)
    const cli = terminal(dir)
    const offered = () => cli(['complete-names', '--', 'guest', 'revoke'])
    assert.deepEqual([(await offered()).out, readdirSync(dir)], ['', []])
    const daemon = await daemonHere(dir)
    try {
      for (const label of ['Mum', "O'Neil"]) await cli(['guest', 'create', '--label', label])
      assert.deepEqual(await offered(), { code: EXIT.ok, out: "O'Neil\nMum\n", err: '' })
    } finally {
      await daemon.close()
    }
  })
})
