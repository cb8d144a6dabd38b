/** Connections that replace a forked one, at an account server. For every engine. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { approveInvitation, connected, entryBy, knownBy, make } from './connecting.ts'
import { enrol, opening, type Person } from '../person.ts'
import { isInvalid, read, type Rosters } from './rosters-subject.ts'

export function replacementsSuite(rosters: () => Rosters): void {
  let { server, hand } = {} as Rosters
  before(() => {
    ;({ server, hand } = rosters())
  })

  const replacing = async (by: Person, replaces: string, invite: readonly Person[]) => ({
    ...(await opening(by, 'Bank', { entryOf: { replaces } })),
    invite: invite.map(({ id: user_id }) => ({ user_id })),
  })

  /** Returns two entries for the newest position of a connection’s roster. */
  async function forkOf(by: Person, id: string): Promise<[string, string]> {
    const known = await knownBy(by, id)
    const one = await entryBy(by, known, { op: 'rotate' })
    return [one, await entryBy(by, known, { op: 'leave' })]
  }

  const hints = async ({ account }: Person) => (await account.duties.read({})).replacements ?? []

  describe('a connection that replaces a forked one', () => {
    test('is shown only to the invited members of the other connection', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
      const [ada, bob, carl] = people
      const dora = await enrol(server)
      const body = { ...(await replacing(ada, id, [bob, dora])), fork: await forkOf(bob, id) }
      const made = await ada.account.rosters.open({ body })
      assert.deepEqual([made.replaces, made.replaced_by], [id, null])
      assert.deepEqual(
        (await hints(bob)).map(({ entry, fork }) => ({ entry, fork })),
        [{ entry: body.entry, fork: body.fork }],
      )
      for (const other of [ada, carl, dora]) assert.deepEqual(await hints(other), [])
      // Members get the fork with the roster.
      const { fork } = await ada.account.rosters.read({ connection: made.id })
      assert.deepEqual(fork, body.fork)
      assert(!('fork' in (await ada.account.rosters.read({ connection: id }))))
      await approveInvitation(bob, { id: (await hints(bob))[0]!.invitation })
      assert.deepEqual(await hints(bob), [], 'once it was answered')
    })

    test('is not shown if its opener is no member of the other connection', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const eve = await enrol(server)
      await eve.account.rosters.open({ body: await replacing(eve, id, [people[1]]) })
      assert.deepEqual(await hints(people[1]), [])
    })

    test('the newest of each inviter is shown, however many another member opened', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob', 'Eve'])
      const [ada, bob, eve] = people
      const first = await replacing(ada, id, [bob])
      await ada.account.rosters.open({ body: first })
      let newest = first
      for (let i = 0; i < 21; i++) {
        newest = await replacing(eve, id, [bob])
        await eve.account.rosters.open({ body: newest })
      }
      const shown = (await hints(bob)).map(({ entry }) => entry)
      assert.deepEqual(shown, [newest.entry, first.entry])
    })

    test('keeps the name, the favourite and the tags that each member gave the other connection', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const tagOf = async ({ account }: Person, name: string) => {
        const tag = await account.tags.create({ body: { name } })
        await account.tags.assign({ id: tag.id, cid: id })
        return tag.id
      }
      const own = { ada: await tagOf(ada, 'money'), bob: await tagOf(bob, 'family') }
      await ada.account.connections.update({ id, body: { name: 'My bank' } })
      await bob.account.connections.update({ id, body: { name: 'Ada at the bank' } })
      await bob.account.connections.favorite({ id, body: { favorite: true } })
      const made = await ada.account.rosters.open({ body: await replacing(ada, id, [bob]) })
      await approveInvitation(bob, { id: (await hints(bob))[0]!.invitation })
      await make(ada, made.id, { op: 'add', member: bob.id })
      const chosen = async (person: Person) => {
        const { name, favorite, tag_ids } = await read(person, made.id)
        return { name, favorite, tag_ids }
      }
      assert.deepEqual(await chosen(ada), { name: 'My bank', favorite: false, tag_ids: [own.ada] })
      assert.deepEqual(await chosen(bob), {
        name: 'Ada at the bank',
        favorite: true,
        tag_ids: [own.bob],
      })
    })

    test('is rejected with an invalid fork, and nothing is stored', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const other = await connected(server, ['Carl', 'Dora'])
      const [one, two] = await forkOf(bob, id)
      const foreign = await forkOf(other.people[1], other.id)
      const { entries } = await ada.account.rosters.read({ connection: id })
      const count = async () =>
        (await hand.db.selectFrom('replacements').selectAll().execute()).length
      const stored = await count()
      for (const [what, fork, reason] of [
        ['a repeated entry', [one, one], 'bad_value'],
        ['entries of two seqs', [one, entries[0]!], 'bad_value'],
        ['of another connection', foreign, 'wrong_connection'],
      ] as const) {
        const body = { ...(await replacing(ada, id, [bob])), fork: [...fork] as [string, string] }
        await isInvalid('fork', reason, ada.account.rosters.open({ body }), what)
        assert(
          !(await ada.account.connections.list({ limit: 50 })).items.some(
            (c) => c.id === body.connection,
          ),
        )
      }
      const body = { ...(await opening(ada)), fork: [one, two] as [string, string] }
      await isInvalid(
        'fork',
        'superfluous_member',
        ada.account.rosters.open({ body }),
        'replaces none',
      )
      assert.equal(await count(), stored)
      const connection = newId('con_', Date.now())
      const itself = opening(ada, 'Bank', { connection, entryOf: { replaces: connection } })
      await assert.rejects(itself, { reason: 'bad_value' })
    })

    test('deleting it deletes its stored fork', async () => {
      const { id, people } = await connected(server, ['Ada', 'Bob'])
      const body = await replacing(people[0], id, [])
      await people[0].account.rosters.open({ body })
      await people[0].account.connections.delete({ id: body.connection })
      const rows = await hand.db
        .selectFrom('replacements')
        .selectAll()
        .where('connection_id', '=', body.connection)
        .execute()
      assert.deepEqual(rows, [])
    })
  })
}
