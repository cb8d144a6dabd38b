/** The relay of first contacts by four words. For every engine. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { connect, enrol, type Person } from '../person.ts'
import { openRosters, type Rosters } from './rosters-subject.ts'
import type { Place } from '../subject.ts'
import { rejects } from '../../rejects.ts'

const newSid = () => randomBytes(16).toString('base64url')

export function firstContactsSuite(
  name: string,
  { newPlace }: { newPlace: () => Promise<Place> },
): void {
  describe(`first contacts on ${name}`, () => {
    let rosters = {} as Rosters
    before(async () => {
      rosters = await openRosters(newPlace)
    })
    after(() => rosters.close())

    /** Makes an invitation with an open first contact. */
    async function opened() {
      const { server } = rosters
      const [ada, bob, eve] = [await enrol(server), await enrol(server), await enrol(server)]
      const { id: connection } = await connect(ada, 'Club')
      const body = { user_id: bob.id }
      const { id: invitation } = await ada.account.members.add({ id: connection, body })
      const sid = newSid()
      await ada.account.deviceFirstContacts.open({ body: { invitation, sid } })
      return { ada, bob, eve, connection, invitation, sid }
    }
    type Opened = Awaited<ReturnType<typeof opened>>

    const send = (
      { account }: Person,
      { invitation, sid }: Pick<Opened, 'invitation' | 'sid'>,
      place: 0 | 1 | 2,
      message: string,
    ) => account.deviceFirstContacts.send({ invitation, body: { sid, place, message } })

    const messages = async ({ account }: Person) =>
      (await account.deviceFirstContacts.list({})).items.map((run) => run.messages)

    test('three messages pass, each once, between the two devices alone', async () => {
      const of = await opened()
      const { ada, bob, eve, invitation } = of
      assert.deepEqual(await messages(ada), [[]])
      assert.deepEqual(await messages(bob), [])
      const run = await bob.account.deviceFirstContacts.read({ invitation })
      assert.deepEqual(
        [run.sid, run.connection, run.inviter, run.invitee],
        [of.sid, of.connection, ada.id, null],
      )
      await rejects('conflict', send(ada, of, 1, 'early'))
      await send(bob, of, 0, 'a')
      await send(bob, of, 0, 'a')
      await rejects('conflict', send(bob, of, 0, 'other'))
      await rejects('conflict', send(bob, of, 2, 'early'))
      await send(ada, of, 1, 'b')
      await send(bob, of, 2, 'c')
      for (const person of [ada, bob]) assert.deepEqual(await messages(person), [['a', 'b', 'c']])
      for (const place of [0, 1, 2] as const) await rejects('not_found', send(eve, of, place, 'x'))
      await rejects('not_found', eve.account.deviceFirstContacts.read({ invitation }))
      assert.deepEqual(await messages(eve), [])
      await bob.account.deviceFirstContacts.end({ invitation })
      assert.deepEqual(await messages(ada), [['a', 'b', 'c']], 'not the invitee’s to end')
      await ada.account.deviceFirstContacts.end({ invitation })
      for (const person of [ada, bob]) assert.deepEqual(await messages(person), [])
      const { count } = await rosters.hand.db
        .selectFrom('first_contacts')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('invitation_id', '=', invitation)
        .executeTakeFirstOrThrow()
      assert.equal(Number(count), 0)
    })

    test('a new session with new words ends the session before it', async () => {
      const of = await opened()
      const { ada, bob, invitation } = of
      await send(bob, of, 0, 'a')
      const sid = newSid()
      await ada.account.deviceFirstContacts.open({ body: { invitation, sid } })
      assert.deepEqual(await messages(ada), [[]])
      await rejects('not_found', send(bob, of, 0, 'a'))
      await send(bob, { invitation, sid }, 0, 'a')
    })

    test('the invitee can read the roster once the first contact began; other accounts cannot', async () => {
      const of = await opened()
      const { bob, eve, connection } = of
      const read = ({ account }: Person) => account.rosters.read({ connection })
      await rejects('not_found', read(bob))
      await send(bob, of, 0, 'a')
      assert.equal((await read(bob)).entries.length, 1)
      await rejects('not_found', read(eve))
    })

    test('only the inviter opens a session, for an invitation that can be approved', async () => {
      const { ada, bob, invitation } = await opened()
      const open = ({ account }: Person) =>
        account.deviceFirstContacts.open({ body: { invitation, sid: newSid() } })
      await rejects('not_found', open(bob))
      await ada.account.invitations.withdraw({ id: invitation })
      await rejects('invalid_state', open(ada), { state: 'withdrawn' })
      await rejects('invalid_state', bob.account.deviceFirstContacts.read({ invitation }), {
        state: 'withdrawn',
      })
    })

    test('expired messages are not returned', async () => {
      const of = await opened()
      const { ada, bob, invitation } = of
      await send(bob, of, 0, 'a')
      await rosters.hand.db
        .updateTable('first_contacts')
        .set({ expires_at: 1 })
        .where('invitation_id', '=', invitation)
        .execute()
      for (const person of [ada, bob]) assert.deepEqual(await messages(person), [])
      await rejects('not_found', send(ada, of, 1, 'b'))
      // The next first contact that is opened deletes the expired one.
      await opened()
      const left = await rosters.hand.db
        .selectFrom('first_contacts')
        .select('sid')
        .where('invitation_id', '=', invitation)
        .execute()
      assert.deepEqual(left, [])
    })
  })
}
