/** The connections of an account and their members. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newDeviceKeys } from '../crypto/keys.ts'
import { malformedOpenings } from '../crypto/malformed.ts'
import { serverName } from '../../src/api/rest/names.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import {
  approveInvitation,
  approved,
  changeBy,
  connected,
  make,
  joinMember,
} from '../service/connections/connecting.ts'
import { connect, enrol, opening, tampered } from '../service/person.ts'
import { everything, isInvalid, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function connectionsSuite(accounts: () => Accounts): void {
  let { server, later, time } = {} as Accounts
  before(() => {
    ;({ server, later, time } = accounts())
  })

  describe('connections', () => {
    test('open makes a pending connection with one owner', async () => {
      const ada = await enrol(server)
      const body = await opening(ada, 'Bob')
      const made = await ada.account.rosters.open({ body })
      assert.deepEqual(made, {
        id: body.connection,
        name: 'Bob',
        kind: 'direct',
        state: 'pending',
        favorite: false,
        tag_ids: [],
        members: [
          {
            id: ada.id,
            user_id: ada.id,
            ...serverName('Ada'),
            role: 'owner',
            state: 'active',
          },
        ],
        preset_id: null,
        replaces: null,
        replaced_by: null,
        suspended: null,
        epoch: 1,
        secret_here: false,
        created_at: time(),
        updated_at: time(),
      })
      assert.deepEqual(await ada.account.connections.read({ id: made.id }), made)
      const roster = await ada.account.rosters.read({ connection: made.id })
      assert.deepEqual(roster.entries, [body.entry])
      const { envelopes } = await ada.account.envelopes.read({ connection: made.id })
      assert.deepEqual(envelopes, body.envelopes)
    })

    test('open again: the same entry returns the connection, another is rejected', async () => {
      const ada = await enrol(server)
      const body = await opening(ada, 'Bob')
      const all = await Promise.all(
        Array.from({ length: 5 }, () => ada.account.rosters.open({ body })),
      )
      for (const one of all) assert.deepEqual(one, all[0])
      const { connection } = body
      const other = await opening(ada, 'Bob', { connection, entryOf: { at: 1 } })
      await rejects('conflict', ada.account.rosters.open({ body: other }))
      const eve = await enrol(server)
      const theirs = await opening(eve, 'Bob', { connection })
      await rejects('conflict', eve.account.rosters.open({ body: theirs }))
      const roster = await ada.account.rosters.read({ connection })
      assert.deepEqual(roster.entries, [body.entry])
    })

    test('open rejects entries that members would reject', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const strange = newDeviceKeys()
      const good = await opening(ada)
      const { connection } = good
      const of = (more: Parameters<typeof opening>[2]) =>
        opening(ada, 'Bob', { connection, ...more })
      const [envelope] = good.envelopes
      const cases: [string, string, typeof good][] = [
        ['entry', 'actor_log_mismatch', await opening(eve, 'Bob', { connection })],
        ['entry', 'wrong_connection', { ...good, connection: newId('con_', Date.now()) }],
        ['entry', 'bad_signature', { ...good, entry: tampered(good.entry) }],
        ['entry', 'unknown_signer', await of({ entryOf: { device: eve.device } })],
        ['envelopes', 'bad_json', { ...good, envelopes: [envelope!.slice(1)] }],
        ['envelopes', 'duplicate_device', { ...good, envelopes: [envelope!, envelope!] }],
        ['envelopes', 'wrong_connection', { ...good, envelopes: (await opening(ada)).envelopes }],
        ['envelopes', 'unknown_epoch', await of({ envelopeOf: { epoch: 2 } })],
        [
          'envelopes',
          'wrong_epoch_head',
          await of({ envelopeOf: { epochHead: new Uint8Array(32) } }),
        ],
        ['envelopes', 'wrong_recipient', await of({ envelopeOf: { recipient: eve.device } })],
        ['envelopes', 'at least 1', { ...good, envelopes: [] }],
      ]
      for (const [path, reason, body] of cases)
        await isInvalid(path, reason, ada.account.rosters.open({ body }))
      for (const [, entry, reason] of malformedOpenings(good.entry, ada.keys.sign.secret)) {
        const body = { ...good, entry }
        await isInvalid('entry', reason, ada.account.rosters.open({ body }))
      }
      const other = await of({ envelopeOf: { seal: strange.seal } })
      await rejects('conflict', ada.account.rosters.open({ body: other }))
      await rejects('not_found', ada.account.connections.read({ id: connection }))
      await ada.account.rosters.open({ body: good })
    })

    test('list: newest first, page by page', async () => {
      const { account, ...ada } = await enrol(server)
      const ids: string[] = []
      for (let i = 0; i < 5; i++) ids.unshift((await connect({ account, ...ada }, `No. ${i}`)).id)
      const pages = await everything(account.connections.list, 2)
      assert.deepEqual(
        pages.map((page) => page.map(({ id }) => id)),
        [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)],
      )
      const whole = await account.connections.list({ limit: 5 })
      assert.equal(whole.next_cursor, null)
      assert.deepEqual(whole.items, pages.flat())
    })

    test('list: changes between pages do not shift them', async () => {
      const ada = await enrol(server)
      for (let i = 0; i < 4; i++) await connect(ada)
      const first = await ada.account.connections.list({ limit: 2 })
      const all = (await ada.account.connections.list({})).items.map(({ id }) => id)
      await ada.account.connections.delete({ id: first.items[1]!.id })
      await connect(ada)
      const second = await ada.account.connections.list({ limit: 2, cursor: first.next_cursor! })
      assert.deepEqual(
        second.items.map(({ id }) => id),
        all.slice(2),
      )
    })

    test('update merges the given fields', async () => {
      const ada = await enrol(server)
      const { id, ...made } = await connect(ada, 'Bob')
      later(1000)
      assert.deepEqual(await ada.account.connections.update({ id, body: {} }), { id, ...made })
      const renamed = await ada.account.connections.update({ id, body: { name: 'Bert' } })
      assert.deepEqual(renamed, { id, ...made, name: 'Bert', updated_at: time() })
      later(1000)
      const starred = await ada.account.connections.update({ id, body: { favorite: true } })
      assert.deepEqual(starred, { ...renamed, favorite: true, updated_at: time() })
      assert.deepEqual(await ada.account.connections.read({ id }), starred)
    })

    test('favorite: on by default; can be repeated', async () => {
      const ada = await enrol(server)
      const { id } = await connect(ada)
      const on = await ada.account.connections.favorite({ id, body: undefined })
      assert.equal(on.favorite, true)
      later(1000)
      assert.deepEqual(await ada.account.connections.favorite({ id, body: {} }), on)
      const off = await ada.account.connections.favorite({ id, body: { favorite: false } })
      assert.equal(off.favorite, false)
    })

    test('delete removes the connection completely, once', async () => {
      const ada = await enrol(server)
      const [gone, remaining] = [await connect(ada), await connect(ada)]
      const { id } = gone
      assert.equal(await ada.account.connections.delete({ id }), undefined)
      await rejects('not_found', ada.account.connections.delete({ id }))
      await rejects('not_found', ada.account.connections.read({ id }))
      await rejects('not_found', ada.account.rosters.read({ connection: id }))
      await rejects('not_found', ada.account.envelopes.read({ connection: id }))
      const { items } = await ada.account.connections.list({})
      assert.deepEqual(items, [remaining])
    })

    test('twenty concurrent openings succeed', async () => {
      const ada = await enrol(server)
      const made = await Promise.all(Array.from({ length: 20 }, () => connect(ada)))
      const { items } = await ada.account.connections.list({})
      assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(made.map(({ id }) => id)))
    })
  })

  describe('members of a connection', () => {
    test('join by an invitation, its approval, and a signed entry', async () => {
      const [ada, bob] = [await enrol(server, 'Ada'), await enrol(server, 'Bob')]
      const { id } = await connect(ada, 'Club')
      const asked = await ada.account.members.add({ id, body: { user_id: bob.id } })
      assert.equal(asked.state, 'pending')
      const { received } = await bob.account.invitations.pending({})
      assert.deepEqual(received, [{ ...asked, direction: 'received' }])
      await approveInvitation(bob, { id: asked.id })
      const { joins } = await ada.account.duties.read({})
      assert.deepEqual(
        joins.map(({ connection, account, email }) => ({ connection, account, email })),
        [{ connection: id, account: bob.id, email: null }],
      )
      await rejects('not_found', bob.account.connections.read({ id }))
      const { seq } = await make(ada, id, { op: 'add', member: bob.id })
      assert.equal(seq, 1)
      assert.deepEqual(await ada.account.duties.read({}), { joins: [], unsealed: [] })
      const theirs = await bob.account.connections.read({ id })
      assert.deepEqual([theirs.name, theirs.state, theirs.kind], ['Ada', 'active', 'direct'])
      const { entries, key_logs } = await bob.account.rosters.read({ connection: id })
      assert.equal(entries.length, 2)
      assert.deepEqual(
        new Map(key_logs.map(({ account, seq: newest }) => [account, newest])),
        new Map([
          [ada.id, 0],
          [bob.id, 0],
        ]),
      )
      const { envelopes } = await bob.account.envelopes.read({ connection: id })
      assert.equal(envelopes.length, 1)
    })

    test('the second of two conflicting entries gets the current roster head', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const { body } = await changeBy(bob, id, { op: 'rotate' })
      const { head } = await make(ada, id, { op: 'rotate' })
      await rejects('conflict', bob.account.rosters.append({ connection: id, body }), { head })
    })

    test('have their own name for it, and cannot end it for others', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      await bob.account.connections.update({ id, body: { name: 'Ada L.', favorite: true } })
      const seen = []
      for (const { account } of people) {
        const { name, favorite } = await account.connections.read({ id })
        seen.push([name, favorite])
        await rejects('no_device', account.connections.delete({ id }))
      }
      assert.deepEqual(seen, [
        ['Club', false],
        ['Ada L.', true],
      ])
      await make(bob, id, { op: 'leave' })
      await rejects('not_found', bob.account.connections.read({ id }))
      await ada.account.connections.delete({ id })
    })

    test('a state that prevents an operation is in the error', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const carl = await enrol(server)
      const cases: [string, () => Promise<unknown>][] = [
        ['self', () => ada.account.members.add({ id, body: { user_id: ada.id } })],
        ['member', () => ada.account.members.add({ id, body: { user_id: bob.id } })],
        ['not_approved', () => make(ada, id, { op: 'add', member: carl.id })],
      ]
      for (const [state, call] of cases) await rejects('invalid_state', call(), { state })
      await approved(ada, id, carl)
      await ada.account.members.remove({ id, mid: carl.id })
      await joinMember(ada, id, carl)
    })
  })
}
