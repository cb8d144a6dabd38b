/** The streams that report changes to devices. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { AppError } from '../../../src/errors.ts'
import { approved, connected, joinMember, make } from '../connections/connecting.ts'
import { openServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import {
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  revocationBy,
} from '../person.ts'
import { openSubject, type LocalSubject, type Place } from '../subject.ts'
import { until } from '../../until.ts'
import { follow } from './following.ts'

export function hintsSuite(name: string, { newPlace, replicas }: Engine): void {
  let place: Place
  let subject: LocalSubject
  before(async () => {
    place = await newPlace()
    subject = await openSubject(place)
  })
  after(() => subject.close())

  describe(`hints: ${name}`, () => {
    test('a change is reported to those whom it concerns, with the parts that changed', async () => {
      const { people, id } = await connected(subject.server, ['Ada', 'Bob'])
      const [ada, bob] = people
      const carl = await enrol(subject.server)
      const [hers, his, others] = [
        await follow(ada.account),
        await follow(bob.account),
        await follow(carl.account),
      ]
      await ada.account.connections.update({ id, body: { name: 'Family' } })
      assert.deepEqual(await hers.parts(), ['connections'])
      await make(ada, id, { op: 'rotate' })
      assert((await his.parts()).includes('connections'))
      // The first event of a stream is about its own account.
      await connect(carl, 'Club')
      assert.deepEqual(await others.parts(), ['connections', 'duties'])
      for (const one of [hers, his, others]) one.close()
    })

    test('an approval is reported to the member who invited, and the admission to the new one', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      const { id } = await connect(ada, 'Club')
      const hers = await follow(ada.account)
      await approved(ada, id, bob)
      let parts: readonly string[] = []
      while (!parts.includes('duties')) parts = await hers.parts()
      const his = await follow(bob.account)
      await joinMember(ada, (await connect(ada, 'Other')).id, bob)
      while (!parts.includes('connections')) parts = await his.parts()
      hers.close()
      his.close()
    })

    test('a slow reader gets what changed in one event', async () => {
      const ada = await enrol(subject.server)
      const hers = await follow(ada.account)
      const { id } = await connect(ada, 'Club')
      await ada.account.trustCards.create({ body: { user_id: (await enrol(subject.server)).id } })
      await ada.account.connections.update({ id, body: { name: 'Other' } })
      // The last of these changes has arrived when that of another stream has.
      const bob = await enrol(subject.server)
      const his = await follow(bob.account)
      await connect(bob, 'Club')
      await his.parts()
      assert.deepEqual(await hers.parts(), ['connections', 'duties', 'trust_cards'])
      hers.close()
      his.close()
    })

    test('a change that fails is not reported', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server)]
      const hers = await follow(ada.account)
      await ada.account.trustCards.create({ body: { user_id: bob.id } })
      // PostgreSQL delivers its message later than the answer.
      assert.deepEqual(await hers.parts(), ['trust_cards'])
      await assert.rejects(ada.account.trustCards.create({ body: { user_id: bob.id } }))
      await connect(ada, 'Club')
      assert.deepEqual(await hers.parts(), ['connections', 'duties'])
      hers.close()
    })

    test('a session has two streams at most, so that one can replace the other', async () => {
      const ada = await enrol(subject.server)
      const first = await follow(ada.account)
      const second = await follow(ada.account)
      await connect(ada, 'Club')
      for (const one of [first, second])
        assert.deepEqual(await one.parts(), ['connections', 'duties'])
      const third = await follow(ada.account)
      await first.ended()
      await connect(ada, 'Family')
      for (const one of [second, third]) {
        assert.deepEqual(await one.parts(), ['connections', 'duties'])
        one.close()
      }
    })

    test('a stream ends with its session: sign-out, deletion by another device, revocation', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const further = async () => {
        const newcomer = await join(subject.server, await mailedCode(subject.server, email))
        await approve(ada, newcomer)
        return { ...newcomer, stream: await follow(newcomer.account) }
      }
      const ends: readonly ((it: Awaited<ReturnType<typeof further>>) => Promise<unknown>)[] = [
        ({ account }) => account.currentSession.delete({}),
        ({ enrolment }) => ada.account.sessions.delete({ id: enrolment.session.session_id }),
        async ({ device }) =>
          ada.account.keyLogs.append({ body: { entry: await revocationBy(ada, device) } }),
      ]
      for (const end of ends) {
        const it = await further()
        const hers = await follow(ada.account)
        await end(it)
        for (;;) if ((await it.stream.next()) === null) break
        await connect(ada, 'Club')
        let parts: readonly string[] = []
        while (!parts.includes('connections')) parts = await hers.parts()
        hers.close()
      }
    })

    test('a stream ends with its account', async () => {
      const ada = await enrol(subject.server)
      const hers = await follow(ada.account)
      await ada.account.account.delete({})
      for (;;) if ((await hers.next()) === null) break
    })

    test('the server reports how it learns of changes', async () => {
      const ada = await enrol(subject.server)
      const hers = await follow(ada.account)
      const wanted = replicas ? 'messages' : 'process'
      const door = subject.server.door()
      await until(wanted, async () => (await door.clock.read({})).hints_by === wanted)
      hers.close()
    })

    test('a device that waits for approval has no stream', async () => {
      const email = newAddress()
      await enrolByMail(subject.server, email)
      const { account } = await join(subject.server, await mailedCode(subject.server, email))
      await assert.rejects(account.hints.follow({}), { code: 'forbidden' })
    })

    test('a server that shuts down ends the streams, and opens no others', async () => {
      const other = await openSubject(replicas ? place : await newPlace())
      const ada = await enrol(other.server)
      const hers = await follow(ada.account)
      other.service.drain()
      await hers.ended()
      await assert.rejects(ada.account.hints.follow({}), (error: AppError) => {
        assert.equal(error.code, 'backend_unavailable')
        return true
      })
      await other.close()
    })

    test(
      'changes at one replica are reported by another one, also while its connection is lost',
      { skip: !replicas },
      async () => {
        const lines: string[] = []
        const other = await openSubject(place, subject.clock, {
          log: (_, event) => void lines.push(event),
        })
        const ada = await enrol(subject.server)
        const there = other.server.account({ ...ada.enrolment.session, keys: ada.keys })
        const hers = await follow(there)
        await connect(ada, 'Club')
        assert.deepEqual(await hers.parts(), ['connections', 'duties'])

        const { db, close } = await openServiceDatabase(place)
        const { sql } = await import('kysely')
        await sql`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen %'`.execute(
          db,
        )
        await close()
        await connect(ada, 'Family')
        assert((await hers.parts()).includes('connections'))
        hers.close()
        await other.close()
        assert.deepEqual(lines.slice(0, 1), [
          'the database delivers no messages; changes are read every second',
        ])
      },
    )
  })
}
