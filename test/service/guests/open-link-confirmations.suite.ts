/**
 * The link that the form of an open link mails: its effect, which happens once, and its end. For
 * every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { addressOf, arrived, newAddress } from '../person.ts'
import { HOUR, textOf, type Links } from './open-links-subject.ts'
import { until } from '../../until.ts'

export function openLinkConfirmationsSuite(links: () => Links): void {
  let { ada, hand, newPerson, post, mailed, confirmationPage, follow } = {} as Links
  let { link, rows, later, confirmationsTo, server, newReader, asked } = {} as Links
  before(() => {
    ;({ ada, hand, newPerson, post, mailed, confirmationPage, follow } = links())
    ;({ link, rows, later, confirmationsTo, server, newReader, asked } = links())
  })

  const requests = async (id: string) =>
    (await ada.account.openLinkRequests.list({ limit: 200 })).items.filter(
      ({ open_link_id }) => open_link_id === id,
    )

  describe('the confirmation link in the mail', () => {
    test('stands alone in a mail without text of others, and its token is not in the database', async () => {
      const eve = await newPerson('Bank http://evil.example')
      const { id, slug } = await link(eve)
      const email = newAddress()
      const message = 'see http://evil.example/secret'
      await post(slug, { email, display_name: 'Gus <b> www.evil.example', message })
      const token = await mailed(email)
      const [letter] = await server.letters(email)
      assert.doesNotMatch(letter!.text, /evil\.example|<b>|secret/)
      assert.doesNotMatch(letter!.subject, /evil|Gus/)
      assert(!JSON.stringify(await rows(id)).includes(token))
    })

    test('opening it changes nothing; confirming it once shows the request to the owner and notifies them', async () => {
      const { id, slug } = await link(ada)
      const email = newAddress()
      await post(slug, { email, display_name: '<i>Gus', message: 'Hello' })
      const token = await mailed(email)
      for (let i = 0; i < 2; i++) {
        const shown = await confirmationPage(token)
        assert.equal(shown.status ?? 200, 200)
        assert.match(
          textOf(shown),
          new RegExp(`<form[^>]* method="post" action="/confirm/${token}"`),
        )
        assert(textOf(shown).includes('&lt;i&gt;Gus') && textOf(shown).includes(email))
        assert(textOf(shown).includes('Hello'))
        assert.deepEqual(await requests(id), [])
      }
      const notes = async () =>
        hand.db
          .selectFrom('notifications')
          .selectAll()
          .where('account_id', '=', ada.id)
          .where('data', 'like', `%${id}%`)
          .execute()
      assert.deepEqual(await notes(), [])
      const done = await follow(token)
      assert.equal(done.status ?? 200, 200)
      assert.doesNotMatch(textOf(done), /<form/)
      const [request, ...more] = await requests(id)
      assert.deepEqual([request?.state, more], ['pending', []])
      const [note, ...others] = await notes()
      assert.deepEqual([note?.kind, others], ['open_link_request', []])
      assert.deepEqual(JSON.parse(note!.data), {
        open_link_id: id,
        open_link_request_id: request!.id,
      })
      assert(note!.body.includes(email))
      const ended = await confirmationPage('A'.repeat(43))
      assert.equal(ended.status, 404)
      for (const again of [
        await confirmationPage(token),
        await follow(token),
        await follow('x'),
        await confirmationPage('\0'),
      ])
        assert.deepEqual(again, ended)
      assert.equal((await requests(id)).length, 1)
    })

    describe('the mail to the owner', () => {
      const ABOUT = /asks to connect with you/
      const lettersTo = async (address: string) =>
        (await server.letters(address)).filter(({ text }) => ABOUT.test(text))

      test('quotes the requester, and has no message, no link and no text of others in the subject', async () => {
        const owner = await newReader('Owner')
        const { slug } = await link(owner, { title: 'Help http://evil.example' })
        const email = newAddress()
        const message = 'see secret'
        await post(slug, { email, display_name: 'Gus www.evil.example', message })
        await follow(await mailed(email))
        const letter = await arrived(server, await addressOf(owner), ABOUT)
        assert.equal(letter.subject, 'A request to connect at countersign.test')
        assert(letter.text.includes('    "Gus www. evil. example"\n'))
        assert(letter.text.includes(`    ${email}\n`))
        assert(letter.text.includes('    "Help http: / / evil. example"\n'))
        assert(letter.text.includes('1 request waits for your answer'))
        assert(letter.text.includes('countersignd link requests'))
        assert.doesNotMatch(letter.text, /secret|evil\.example|\/confirm\/|\/o\//)
      })

      test('is sent at most once an hour, for all links; a later one counts the requests that wait', async () => {
        const owner = await newReader('Owner')
        const address = await addressOf(owner)
        const [{ slug }, { slug: other }] = [await link(owner), await link(owner)]
        await asked(owner, slug)
        await arrived(server, address, ABOUT)
        later(HOUR - 1)
        for (const used of [slug, other]) await asked(owner, used)
        later(1)
        await asked(owner, other)
        const { text } = await arrived(server, address, /4 requests wait for your answer/)
        assert.match(text, ABOUT)
        assert.equal((await lettersTo(address)).length, 2)
      })

      test('is not sent to an owner who turned mails off', async () => {
        const owner = await newReader('Owner')
        const { slug } = await link(owner)
        await owner.account.preferences.update({ body: { email_notifications: false } })
        await asked(owner, slug)
        await owner.account.preferences.update({ body: { email_notifications: true } })
        await asked(owner, slug)
        await arrived(server, await addressOf(owner), /2 requests wait/)
        assert.equal((await lettersTo(await addressOf(owner))).length, 1)
      })

      test('is not sent for a request that is not confirmed', async () => {
        const owner = await newReader('Owner')
        const { slug } = await link(owner)
        const email = newAddress()
        await post(slug, { email })
        await confirmationPage(await mailed(email))
        await asked(owner, slug)
        await arrived(server, await addressOf(owner), /1 request waits/)
        assert.equal((await lettersTo(await addressOf(owner))).length, 1)
      })
    })

    test('of many concurrent confirmations, one succeeds', async () => {
      const { id, slug } = await link(ada)
      const email = newAddress()
      await post(slug, { email })
      const token = await mailed(email)
      const all = await Promise.all([1, 2, 3, 4].map(() => follow(token)))
      assert.deepEqual(
        all.map(({ status = 200 }) => status).sort((a, b) => a - b),
        [200, 404, 404, 404],
      )
      assert.equal((await requests(id)).length, 1)
    })

    test('two submissions send two mails; confirming both makes one request', async () => {
      const { id, slug } = await link(ada)
      const email = newAddress()
      for (let i = 0; i < 2; i++) await post(slug, { email })
      await until('two letters', async () => (await confirmationsTo(email)).length >= 2)
      const statuses = []
      for (const token of await confirmationsTo(email))
        statuses.push((await follow(token)).status ?? 200)
      assert.deepEqual(statuses, [200, 404])
      assert.equal((await requests(id)).length, 1)
      // After the answer the requester may ask again.
      await ada.account.openLinkRequests.decline({ id: (await requests(id))[0]!.id })
      await post(slug, { email })
      await until('a third letter', async () => (await confirmationsTo(email)).length >= 3)
      await follow((await confirmationsTo(email)).at(-1)!)
      assert.deepEqual(
        (await requests(id)).map(({ state }) => state),
        ['pending', 'declined'],
      )
    })

    test('is valid for a day, also while the open link is paused', async () => {
      const { id, slug } = await link(ada)
      const [quick, slow] = [newAddress(), newAddress()]
      for (const email of [quick, slow]) await post(slug, { email })
      const [first, second] = [await mailed(quick), await mailed(slow)]
      await ada.account.openLinks.pause({ id })
      later(24 * HOUR - 1)
      assert.equal((await follow(first)).status ?? 200, 200)
      later(1)
      assert.deepEqual(await confirmationPage(second), await confirmationPage('x'))
      assert.equal((await follow(second)).status, 404)
      assert.equal((await requests(id)).length, 1)
      // The next request deletes the expired one.
      const { slug: other } = await link(ada)
      await post(other, { email: newAddress() })
      await until('one row', async () => (await rows(id)).length <= 1)
      assert.equal((await requests(id)).length, 1)
    })

    test('is deleted with the open link', async () => {
      const { id, slug } = await link(ada)
      const email = newAddress()
      await post(slug, { email })
      const token = await mailed(email)
      await ada.account.openLinks.delete({ id })
      assert.deepEqual(await follow(token), await confirmationPage('x'))
    })
  })
}
