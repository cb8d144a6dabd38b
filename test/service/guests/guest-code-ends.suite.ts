/** Owners are notified once that a guest code is about to end. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { until } from '../../until.ts'
import { openServiceDatabase, type ServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { enrol, type Person } from '../person.ts'
import { openSubject, type LocalSubject, type Place } from '../subject.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

export function guestCodeEndsSuite(name: string, { newPlace, replicas }: Engine): void {
  describe(`guest codes that are about to end: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let database: ServiceDatabase
    const clock = { ms: Date.UTC(2026, 0, 1) }
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place, clock)
      database = await openServiceDatabase(place)
    })
    after(async () => {
      await database.close()
      await subject.close()
    })

    /** Enrols a person with a session that does not end with the clock. */
    async function newPerson(): Promise<Person> {
      const person = await enrol(subject.server)
      const { session_id: session } = person.enrolment.session
      const who = { account: person.id, device: person.device, session, token: null }
      return { ...person, account: subject.service.as(who) }
    }

    /** Creates a code at a time before now, which ends in `left` milliseconds. */
    async function newCode({ account }: Person, label: string, age: number, left: number) {
      const now = clock.ms
      clock.ms -= age
      const id = newId('gst_', Date.now())
      const expires_at = new Date(now + left).toISOString()
      await account.deviceGuestCodes.create({ body: { id, label, expires_at } })
      clock.ms = now
      return id
    }

    const leases = () =>
      database.db.selectFrom('leases').select('until').where('name', '=', 'ending guest codes')

    const hasBegun = async () => (await leases().executeTakeFirst()) !== undefined

    /**
     * Runs the sweep of one period, by a server that was just started. The server ends once
     * `isDone` is true and the batch is finished.
     */
    async function sweep(isDone = hasBegun): Promise<void> {
      await database.db.deleteFrom('leases').where('name', '=', 'ending guest codes').execute()
      const failures: unknown[] = []
      const server = await openSubject(place, clock, {
        sweepsAfterMs: 0,
        log: (level, ...line) => void (level === 'warn' && failures.push(line)),
      })
      await server.service.nonce()
      await until('the sweep', isDone)
      await server.close()
      assert.deepEqual(failures, [])
    }

    const notesOf = async ({ account }: Person) =>
      (await every((query) => account.notifications.list(query))).filter(
        ({ kind }) => kind === 'guest_code_ending',
      )
    const announced = async (person: Person) =>
      (await notesOf(person)).map(({ data }) => data['guest_code_id'])

    const cases: readonly [name: string, age: number, left: number, isAnnounced: boolean][] = [
      ['that ends in a day, of the shortest validity', DAY, DAY, true],
      ['that ends in a moment', 10 * DAY, 1, true],
      ['that is valid for less than two days', DAY - 1, DAY, false],
      ['that ends later than in a day', DAY, DAY + 1, false],
      ['that has ended', 10 * DAY, 0, false],
    ]
    for (const [what, age, left, isAnnounced] of cases)
      test(`a code ${what} is ${isAnnounced ? '' : 'not '}announced`, async () => {
        const ada = await newPerson()
        const id = await newCode(ada, 'A friend', age, left)
        await sweep()
        assert.deepEqual(await announced(ada), isAnnounced ? [id] : [])
      })

    test('the notification names the code and its end', async () => {
      const ada = await newPerson()
      const at = Date.UTC(2026, 5, 1, 10, 30)
      const now = clock.ms
      clock.ms = at - HOUR
      await newCode(ada, 'A "friend"', 3 * DAY, HOUR)
      await sweep()
      const [note] = await notesOf(ada)
      clock.ms = now
      assert.match(note!.body, /The guest code "A 'friend'" ends on 2026-06-01 10:30 UTC\./)
      assert.equal(note!.read, false)
    })

    test('each code is announced once, by whichever server and sweep', async () => {
      const [ada, bob] = [await newPerson(), await newPerson()]
      const first = await newCode(ada, 'First', 3 * DAY, DAY)
      const second = await newCode(ada, 'Second', 3 * DAY, DAY + 1)
      const other = await newCode(bob, 'Other', 3 * DAY, DAY)
      // Several processes can share a database only in PostgreSQL.
      await (replicas ? Promise.all([sweep(), sweep()]) : sweep())
      await sweep()
      assert.deepEqual(await announced(ada), [first])
      clock.ms += 1
      await sweep()
      await sweep()
      assert.deepEqual(new Set(await announced(ada)), new Set([first, second]))
      assert.equal((await announced(ada)).length, 2)
      assert.deepEqual(await announced(bob), [other])
    })

    test('the notification also comes after a time without a server, but not for an ended code', async () => {
      const ada = await newPerson()
      const late = await newCode(ada, 'Late', 3 * DAY, 2 * DAY)
      await newCode(ada, 'Ended', 3 * DAY, DAY)
      clock.ms += 2 * DAY - HOUR
      await sweep()
      assert.deepEqual(await announced(ada), [late])
    })

    test('a revoked code is not announced, and its notification is deleted', async () => {
      const ada = await newPerson()
      const before = await newCode(ada, 'Revoked before', 3 * DAY, DAY)
      const later = await newCode(ada, 'Revoked later', 3 * DAY, DAY)
      const kept = await newCode(ada, 'Kept', 3 * DAY, DAY)
      await ada.account.guestCodes.delete({ id: before })
      await sweep()
      assert.deepEqual(new Set(await announced(ada)), new Set([later, kept]))
      await ada.account.guestCodes.delete({ id: later })
      assert.deepEqual(await announced(ada), [kept])
    })

    test('devices read their notifications after it', async () => {
      const ada = await newPerson()
      await ada.account.changes.read({})
      await newCode(ada, 'A friend', 3 * DAY, DAY)
      clock.ms += HOUR
      const { since } = await ada.account.changes.read({})
      assert.notEqual(since, null)
      await sweep()
      const { changed, lists } = await ada.account.changes.read({ since: since! })
      assert.deepEqual([changed, lists], [[], ['notifications']])
    })

    test('more codes than one batch are all announced', async () => {
      const people = [await newPerson(), await newPerson(), await newPerson()]
      const rows = people.flatMap(({ id: account_id }) =>
        Array.from({ length: 450 }, (_, i) => ({
          id: newId('gst_', Date.now()),
          account_id,
          label: `${i}`,
          expires_at: clock.ms + HOUR,
          revoked_at: null,
          last_opened_at: null,
          created_at: clock.ms - 3 * DAY,
          external_member_id: null,
        })),
      )
      for (let at = 0; at < rows.length; at += 150)
        await database.db
          .insertInto('guest_codes')
          .values(rows.slice(at, at + 150))
          .execute()
      const left = database.db
        .selectFrom('guest_codes')
        .select('id')
        .where(
          'account_id',
          'in',
          people.map(({ id }) => id),
        )
        .where('ending_noticed_at', 'is', null)
      await sweep(async () => (await left.executeTakeFirst()) === undefined)
      for (const person of people) assert.equal(new Set(await announced(person)).size, 450)
    })
  })
}
