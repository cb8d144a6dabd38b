/** Feedback, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BAD_TEXTS, asMachine } from './asking.ts'
import { type ServiceDatabase, openServiceDatabase } from './database.ts'
import type { Engine } from './engines.ts'
import { type Person, arrived, enrol, enrolByMail, newAddress } from './person.ts'
import { type LocalSubject, PUBLIC_URL, openSubject } from './subject.ts'
import { rejects } from '../rejects.ts'

const HOUR = 3_600_000
const OPERATOR = 'countersign@countersign.test'

export function feedbackSuite(name: string, { newPlace }: Engine): void {
  describe(`feedback: ${name}`, () => {
    let subject: LocalSubject
    let database: ServiceDatabase
    before(async () => {
      const place = await newPlace()
      subject = await openSubject(place)
      database = await openServiceDatabase(place)
    })
    after(async () => {
      await subject.close()
      await database.close()
    })
    const stored = ({ id }: Person) =>
      database.db.selectFrom('feedback').selectAll().where('account_id', '=', id).execute()

    test('is stored, and mailed to the operator with the confirmed address', async () => {
      const address = newAddress()
      const ada = await enrolByMail(subject.server, address)
      const message =
        'It <b>works</b>.\r\nBcc: eve@example.org\r\n\r\n.\r\n> Mailbox: eve@example.org'
      const sent = await ada.account.feedback.send({ body: { message, category: 'praise' } })
      assert.match(sent.id, /^fdb_\w{26}$/)
      const created_at = new Date(subject.clock.ms).toISOString()
      assert.deepEqual(sent, {
        id: sent.id,
        message,
        category: 'praise',
        mailed: false,
        created_at,
      })
      assert.deepEqual(
        (await stored(ada)).map((row) => ({ ...row })),
        [
          {
            id: sent.id,
            message,
            category: 'praise',
            account_id: ada.id,
            created_at: subject.clock.ms,
          },
        ],
      )
      const {
        subject: line,
        text,
        headers,
        to,
      } = await arrived(subject.server, OPERATOR, new RegExp(ada.id))
      assert.equal(to, OPERATOR)
      assert.equal(line, 'Feedback (praise) at countersign.test')
      assert.deepEqual(text.match(/^Mailbox: .*$/gm), [`Mailbox: ${address}`])
      assert(text.includes(PUBLIC_URL))
      assert.match(text, /\n> It <b>works<\/b>\.\n> Bcc: eve@example\.org\n> \n> \.\n> > Mailbox: /)
      assert.equal(headers.has('bcc'), false)
    })

    test('works without an address and without a category', async () => {
      const ada = await enrol(subject.server)
      const { category } = await ada.account.feedback.send({ body: { message: 'Hello' } })
      assert.equal(category, null)
      const { text, subject: line } = await arrived(subject.server, OPERATOR, new RegExp(ada.id))
      assert.match(text, /^Mailbox: none$/m)
      assert.equal(line, 'Feedback at countersign.test')
    })

    test('invalid feedback is rejected, and nothing is stored', async () => {
      const ada = await enrol(subject.server)
      for (const [what, message] of BAD_TEXTS)
        await assert.rejects(
          ada.account.feedback.send({ body: { message } as never }),
          { code: 'validation_failed' },
          what,
        )
      for (const more of [{ category: 'rant' }, { category: 1 }, { to: 'eve@example.org' }])
        await rejects(
          'validation_failed',
          ada.account.feedback.send({ body: { message: 'x', ...more } as never }),
        )
      assert.deepEqual(await stored(ada), [])
    })

    test('accepts twenty an hour', async () => {
      const [ada, eve] = [await enrol(subject.server), await enrol(subject.server)]
      const send = (by: Person) => asMachine(subject, by).feedback.send({ body: { message: 'x' } })
      for (let i = 0; i < 20; i++) await send(ada)
      await rejects('rate_limited', send(ada), { says: /Thank you .* Try again in 3600 s/ })
      await send(eve)
      assert.equal((await stored(ada)).length, 20)
      subject.clock.ms += HOUR
      await send(ada)
    })
  })
}
