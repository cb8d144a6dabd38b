/**
 * Accounts that are deleted during other operations: no internal errors, and no rows left over.
 * For every engine.
 */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { Account } from '../../src/api/port.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { AppError } from '../../src/errors.ts'
import { displayName } from '../../src/service/accounts/account-record.ts'
import { newReach } from '../../src/service/db/faults.ts'
import { approved, changeBy, joinMember } from './connections/connecting.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { connect, enrol, enrolByMail, mailedCode, newAddress, type Person } from './person.ts'
import { openSubject, type LocalSubject } from './subject.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

/** The errors of a call that comes too late; `backend_unavailable` asks for another attempt. */
const TOO_LATE = [
  'conflict',
  'forbidden',
  'invalid_state',
  'invalid_token',
  'not_found',
  'validation_failed',
  'backend_unavailable',
]

export function accountRacesSuite(name: string, { newPlace, replicas }: Engine): void {
  describe(`an account that is deleted during other operations: ${name}`, () => {
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      const place = await newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    /** Enrols a person with calls that start at once, without a check of a proof. */
    async function person(called: string): Promise<Person> {
      const made = await enrol(subject.server, called)
      const { id: account, device, enrolment } = made
      const session = enrolment.session.session_id
      const inside = subject.service.as({ account, device, session, token: null })
      return { ...made, account: inside }
    }
    const end = ({ account }: Pick<Person, 'account'>) => account.account.delete({})

    test('all members of several connections delete their accounts at once, without a retry', async () => {
      for (let round = 0; round < 3; round++) {
        const people: Person[] = []
        for (const called of ['A', 'B', 'C', 'D', 'E']) people.push(await person(called))
        const ids: string[] = []
        for (const owner of people.slice(0, 4)) {
          const { id } = await connect(owner, 'Club')
          ids.push(id)
          for (const other of people.toReversed())
            if (other !== owner) await joinMember(owner, id, other)
        }
        await Promise.all(people.map(end))
        const left = await hand.db.selectFrom('connections').select('id').execute()
        assert(ids.every((id) => left.every((one) => one.id !== id)))
      }
    })

    test('concurrent operations that name the deleted account fail with an expected code', async () => {
      for (let round = 0; round < 12; round++) {
        const [ada, bob, eve] = [await person('Ada'), await person('Bob'), await person('Eve')]
        const { id } = await connect(bob, 'Club')
        await approved(bob, id, ada)
        const add = await changeBy(bob, id, { op: 'add', member: ada.id })
        const { id: other } = await connect(eve, 'Other')
        await joinMember(eve, other, ada)
        const rotate = await changeBy(eve, other, { op: 'rotate' })
        const append = (by: Person, { connection, body }: typeof add) =>
          by.account.rosters.append({ connection, body })
        const others: (() => Promise<unknown>)[] = [
          () => append(bob, add),
          () => append(eve, rotate),
          () => bob.account.trustCards.create({ body: { user_id: ada.id } }),
          () => bob.account.members.add({ id, body: { user_id: ada.id } }),
          () => ada.account.tags.create({ body: { name: 'x' } }),
          () => ada.account.context.read({}),
          () => ada.account.profile.read({}),
          () => ada.account.exports.create({}),
        ]
        // Each round starts the deletion a little later.
        const running = Promise.allSettled(others.map((act) => act()))
        for (let turn = 0; turn < round * 20; turn++) await setImmediate()
        await end(ada)
        for (const one of await running)
          if (one.status === 'rejected') {
            assert(
              one.reason instanceof AppError,
              (one.reason as Error).stack ?? String(one.reason),
            )
            assert(TOO_LATE.includes(one.reason.code), one.reason.message)
          }
      }
    })

    test('inserting a row that refers to a deleted account is a conflict', async () => {
      const { reaching } = newReach(() => false)
      const row = { id: newId('tag_', 1), account_id: newId('acc_', 1), name: 'x', created_at: 1 }
      await rejects(
        'conflict',
        reaching(() =>
          hand.db
            .insertInto('tags')
            .values({ ...row, color: null })
            .execute(),
        ),
        { says: /has just been deleted/ },
      )
    })

    test('the name of a deleted account is a conflict', async () => {
      await rejects('conflict', displayName(hand.db, newId('acc_', 1)), {
        says: /has just been deleted/,
      })
    })

    test('a later in-process call of the deleted account is rejected as invalid_token', async () => {
      const ada = await person('Ada')
      await end(ada)
      const asks: ((account: Account) => Promise<unknown>)[] = [
        (account) => account.context.read({}),
        (account) => account.profile.read({}),
      ]
      for (const ask of asks) await rejects('invalid_token', ask(ada.account))
    })

    test('a machine account created while its organisation is deleted is deleted too', async () => {
      for (let round = 0; round < 10; round++) {
        const ada = await person('Ada')
        const { id: organisation_id } = await ada.account.organisations.create({
          body: { name: 'Example' },
        })
        const create = async (turns: number) => {
          for (let turn = 0; turn < turns; turn++) await setImmediate()
          const key = newDeviceKeys().auth.jwk
          return ada.account.machines.create({ body: { organisation_id, name: 'm', key } })
        }
        const made = [0, 20, 40, 60, 80, 100].map(create)
        await Promise.allSettled([end(ada), ...made])
      }
      const orphans = await hand.db
        .selectFrom('accounts')
        .leftJoin('machines', 'machines.account_id', 'accounts.id')
        .select('accounts.id')
        .where('kind', '=', 'machine')
        .where('machines.account_id', 'is', null)
        .execute()
      assert.deepEqual(orphans, [])
    })

    test(
      'deleting an invited account updates the connection, so that its owners fetch it again',
      { skip: !replicas },
      async () => {
        const [ada, bob] = [await person('Ada'), await person('Bob')]
        const { id } = await connect(bob, 'Club')
        await approved(bob, id, ada)
        const updated = async () => (await bob.account.connections.read({ id })).updated_at
        const before = await updated()
        /** Checks whether a query waits for a lock of another transaction. */
        const waiting = async () => {
          const { rows } = await sql`select 1 from pg_stat_activity
            where datname = current_database() and wait_event_type = 'Lock'`.execute(hand.db)
          return rows.length > 0
        }
        const ending = await hand.db.transaction().execute(async (trx) => {
          await trx
            .updateTable('invitations')
            .set({ consent: 2 })
            .where('to_account', '=', ada.id)
            .execute()
          const of = { account_id: ada.id, connection_id: id, name: 'x', favorite: 0 as const }
          await trx
            .insertInto('memberships')
            .values({ ...of, role: 'member', updated_at: 1 })
            .execute()
          const deleting = end(ada)
          await until('a query that waits for a lock', waiting)
          return { deleting }
        })
        await ending.deleting
        assert(Date.parse(await updated()) > Date.parse(before))
      },
    )
  })

  describe(`deleting the last account of a server: ${name}`, () => {
    for (const ownsMail of [false, true])
      test(`deletes ${ownsMail ? 'all letters in the daemon’s own folder' : 'only its own letters in the operator’s folder'}`, async (t) => {
        const subject = await openSubject(await newPlace(), undefined, { ownsMail })
        t.after(() => subject.close())
        const [email, stranger] = [newAddress(), newAddress()]
        const ada = await enrolByMail(subject.server, email, 'Ada')
        await mailedCode(subject.server, stranger)
        await ada.account.account.delete({})
        assert.deepEqual(await subject.server.letters(email), [])
        assert.equal((await subject.server.letters(stranger)).length, ownsMail ? 0 : 1)
      })
  })
}
