/**
 * The time in which an account is not deleted after a reset without its recovery key. For every
 * engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { type Call, rejects } from '../rejects.ts'
import { enrolByMail, mailedCode, newAddress, protect, resetOf, type Person } from './person.ts'
import { openSubject, type LocalSubject, type Place } from './subject.ts'

const DAY = 24 * 3_600_000

/** Asserts that an account cannot be deleted yet. */
const isLeft = (call: Call) =>
  rejects('invalid_state', call, {
    state: 'reset_without_recovery_key',
    says: /can be deleted from 2026-01-15T00:00:00\.000Z on/,
  })

export function accountWaitSuite(name: string, { newPlace }: Engine): void {
  describe(`deleting an account after a reset without its recovery key: ${name}`, () => {
    let place: Place
    let subject: LocalSubject
    let hand: ServiceDatabase
    before(async () => {
      place = await newPlace()
      subject = await openSubject(place)
      hand = await openServiceDatabase(place)
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    const end = ({ account }: Person) => account.account.delete({})
    const ends = async (person: Person) => {
      await end(person)
      assert.equal((await rowsOf(person.id)).length, 0)
    }
    const rowsOf = (id: string) =>
      hand.db.selectFrom('accounts').select('id').where('id', '=', id).execute()

    async function refuses(person: Person) {
      await isLeft(end(person))
      const { device, id } = person
      const who = { account: id, device, session: person.enrolment.session.session_id, token: null }
      await isLeft(subject.service.as(who).deletion.read({}))
      assert.equal((await rowsOf(id)).length, 1)
    }

    /**
     * Moves the times at which the server stored this entry and those before it that many days
     * back.
     */
    const ago = (id: string, seq: number, days: number) =>
      hand.db
        .updateTable('key_log_entries')
        .set({ stored_at: subject.clock.ms - days * DAY })
        .where('account_id', '=', id)
        .where('seq', '<=', seq)
        .execute()

    const again = async (email: string, id: string, paper?: Parameters<typeof resetOf>[4]) =>
      resetOf(subject.server, id, await mailedCode(subject.server, email), undefined, paper)

    test('is rejected; after a reset with the key the account can be deleted at once', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      const paper = await protect(ada)
      await refuses(await again(email, ada.id))
      await ends(await again(email, ada.id, paper))
    })

    test('is rejected also after a further reset with a recovery key made since', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      await protect(ada)
      const theirs = await protect(await again(email, ada.id))
      await refuses(await again(email, ada.id, theirs))
    })

    test('works 14 days after the reset, by the clock of the server', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      await protect(ada)
      const next = await again(email, ada.id)
      await ago(ada.id, 2, 14)
      await ends(next)
    })

    test('a recovery key registered since the reset protects the account like the first key', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      await protect(ada)
      const paper = await protect(await again(email, ada.id))
      await ago(ada.id, 3, 100)
      await refuses(await again(email, ada.id))
      await ends(await again(email, ada.id, paper))
    })

    test('works at once if no recovery key was in force', async () => {
      const email = newAddress()
      const ada = await enrolByMail(subject.server, email)
      await ends(await again(email, ada.id))
    })
  })
}
