/**
 * The form of an open link: which input it rejects and accepts. It reveals nothing about
 * mailboxes. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { addressOf, newAddress } from '../person.ts'
import { HOSTILE, HOUR, textOf, type Links } from './open-links-subject.ts'
import { until } from '../../until.ts'

export function openLinkPagesSuite(links: () => Links): void {
  let { ada, bob, hand, newPerson, page, post, mailed, follow, asked } = {} as Links
  let { link, rows, later, confirmationsTo } = {} as Links
  before(() => {
    ;({ ada, bob, hand, newPerson, page, post, mailed, follow, asked } = links())
    ;({ link, rows, later, confirmationsTo } = links())
  })

  describe('the form of an open link', () => {
    test('has a page in every state, and opening it changes nothing', async () => {
      const { id, slug } = await link(ada)
      const shown = await page(slug)
      assert.equal(shown.status ?? 200, 200)
      assert.match(textOf(shown), /<form[^>]* method="post" action="\/o\/[\w-]+"/)
      await ada.account.openLinks.pause({ id })
      const paused = await page(slug)
      assert.equal(paused.status, 200)
      assert.match(textOf(paused), /paused/)
      assert.doesNotMatch(textOf(paused), /<form/)
      for (const unknown of [newId('', 1), '-', 'x'.repeat(300), '%00', '\0'])
        assert.deepEqual(await page(unknown), await page('no-such-slug'))
      assert.equal((await page('no-such-slug')).status, 404)
      assert.equal((await post('no-such-slug', { email: newAddress() })).status, 404)
      assert.deepEqual(await rows(id), [])
    })

    const good = { display_name: 'Gus', email: 'gus@example.org', message: 'Hi' }
    const cases: [what: string, body: object, wrong: string][] = [
      ['nothing', { display_name: '', email: '', message: '' }, 'display_name email'],
      ['a name of spaces', { ...good, display_name: '  ' }, 'display_name'],
      ['a long name', { ...good, display_name: 'x'.repeat(101) }, 'display_name'],
      [
        'a name of 30,000 characters',
        { ...good, display_name: 'x'.repeat(30_000) },
        'display_name',
      ],
      ['a name with a direction override', { ...good, display_name: 'a\u202eb' }, 'display_name'],
      ['a name with a control character', { ...good, display_name: 'a\u0007b' }, 'display_name'],
      ['a name of two lines', { ...good, display_name: 'a\nb' }, 'display_name'],
      ['no mailbox', { ...good, email: 'gus' }, 'email'],
      ['two mailboxes', { ...good, email: 'a@example.org,b@example.org' }, 'email'],
      ['a mailbox and a header', { ...good, email: 'a@example.org\r\nBcc: b@c.de' }, 'email'],
      ['a mailbox in another script', { ...good, email: 'я@example.org' }, 'email'],
      [
        'a long mailbox',
        { ...good, email: `${'a'.repeat(60)}@${'b'.repeat(60)}.${'c.'.repeat(90)}de` },
        'email',
      ],
      ['a long message', { ...good, message: 'x'.repeat(1001) }, 'message'],
      ['a message with a direction override', { ...good, message: 'a\u2066b' }, 'message'],
      [
        'all',
        { display_name: '\u202e', email: 'x', message: '\u202e' },
        'display_name email message',
      ],
    ]
    for (const [what, body, wrong] of cases)
      test(`rejects ${what}`, async () => {
        const { id, slug } = await link(ada)
        const again = await post(slug, body)
        assert.equal(again.status, 422)
        const text = textOf(again)
        const marked = [...text.matchAll(/<p class="fault" id="(\w+)-fault">([^<]+)</g)]
        assert.equal(marked.map(([, field]) => field).join(' '), wrong)
        for (const [, field] of marked)
          assert.match(
            text,
            new RegExp(
              `name="${field}"[^>]*aria-describedby="${field}-fault[^>]*aria-invalid="true"`,
            ),
          )
        assert.equal(text.match(/\bautofocus\b/g)?.length, 1)
        assert.match(text, new RegExp(`name="${wrong.split(' ')[0]}"[^>]* autofocus`))
        assert.deepEqual(await rows(id), [])
      })

    test('a rejected form keeps the input, as text', async () => {
      const { slug } = await link(ada)
      const text = textOf(
        await post(slug, {
          display_name: HOSTILE,
          email: HOSTILE,
          message: `</textarea>${HOSTILE}`,
        }),
      )
      assert(!text.includes('<img') && text.match(/<\/textarea/g)?.length === 1)
      assert.equal(text.match(/&quot;&gt;&lt;img src=x onerror=alert\(1\)&gt;/g)?.length, 3)
    })

    test('names and messages are stored as written', async () => {
      const { slug } = await link(ada)
      const email = newAddress()
      await post(slug, {
        display_name: ` ${HOSTILE} `,
        email: ` ${email.toUpperCase()} `,
        message: 'a\r\nb ',
      })
      await follow(await mailed(email))
      const [request] = (await ada.account.openLinkRequests.list({ limit: 1 })).items
      assert.deepEqual(request?.requester, { display_name: HOSTILE, email })
      assert.equal(request.message, 'a\nb')
    })

    test('the answer does not depend on the mailbox', async () => {
      const { id, slug } = await link(ada)
      const [stranger, waiting, full] = [newAddress(), newAddress(), newAddress()]
      await asked(ada, slug, waiting)
      for (let i = 0; i < 3; i++) await post(slug, { email: full })
      const answers = []
      for (const email of [stranger, await addressOf(bob), waiting, full])
        answers.push(await post(slug, { email, display_name: email.slice(0, 9) }))
      for (const answer of answers) assert.deepEqual(answer, answers[0])
      await mailed(stranger)
      const counts = Object.groupBy(await rows(id), ({ email }) => email)
      assert.deepEqual([counts[waiting]?.length, counts[full]?.length], [1, 3])
      assert.equal((await confirmationsTo(waiting)).length, 1)
    })

    test('sends three mails an hour to one mailbox, for all links together', async () => {
      const email = newAddress()
      const sent = async (count: number) => {
        await until(`${count} letters`, async () => (await confirmationsTo(email)).length >= count)
        const last = newAddress()
        const { slug } = await link(bob)
        await post(slug, { email: last })
        await mailed(last)
        assert.equal((await confirmationsTo(email)).length, count)
      }
      for (const owner of [ada, bob, ada, bob, ada]) {
        const { id, slug } = await link(owner)
        assert.equal((await post(slug, { email })).status ?? 200, 200)
        await owner.account.openLinks.delete({ id })
      }
      await sent(3)
      later(HOUR)
      const { slug } = await link(ada)
      await post(slug, { email })
      await sent(4)
    })

    test('an owner’s links accept a hundred an hour together; links of other owners accept more', async () => {
      const eve = await newPerson('Eve')
      const [{ id, slug }, another] = [await link(eve), await link(eve)]
      const stranger = await link(await newPerson('Carl'))
      const at = (await rowTime(eve)) - HOUR / 2
      const values = Array.from({ length: 99 }, (_, i) => row({ eve: eve.id, link: id, at, i }))
      await hand.db.insertInto('open_link_requests').values(values).execute()
      const many = await Promise.all([1, 2, 3].map(() => post(slug, { email: newAddress() })))
      assert.deepEqual(
        many.map(({ status = 200 }) => status).sort((a, b) => a - b),
        [200, 429, 429],
      )
      const limited = many.find(({ status }) => status === 429)
      assert.match(limited?.headers?.['Retry-After'] ?? '', /^\d+$/)
      assert.equal((await post(another.slug, { email: newAddress() })).status, 429)
      assert.equal((await post(stranger.slug, { email: newAddress() })).status ?? 200, 200)
      later(HOUR)
      assert.equal((await post(slug, { email: newAddress() })).status ?? 200, 200)
    })

    test('unconfirmed requests close no link; a thousand pending ones do', async () => {
      const eve = await newPerson('Eve')
      const { id, slug } = await link(eve)
      const at = (await rowTime(eve)) - 2 * HOUR
      const of = { eve: eve.id, link: id, at }
      const values = Array.from({ length: 1000 }, (_, i) => row({ ...of, i }))
      const unconfirmed = { state: 'unconfirmed' as const, expires_at: at + 24 * HOUR }
      await hand.db
        .insertInto('open_link_requests')
        .values(values.map((one) => ({ ...one, ...unconfirmed, token_hash: one.id })))
        .execute()
      assert.equal((await post(slug, { email: newAddress() })).status ?? 200, 200)
      await hand.db
        .updateTable('open_link_requests')
        .set({ state: 'pending', expires_at: null })
        .where('open_link_id', '=', id)
        .where(
          'email',
          'in',
          values.map(({ email }) => email),
        )
        .execute()
      assert.equal((await post(slug, { email: newAddress() })).status, 429)
      const { items } = await eve.account.openLinkRequests.list({ limit: 1 })
      await eve.account.openLinkRequests.decline({ id: items[0]!.id })
      assert.equal((await post(slug, { email: newAddress() })).status ?? 200, 200)
    })

    /** Returns the server’s time, from the newest open link of an owner. */
    const rowTime = async (owner: typeof ada) =>
      Date.parse((await owner.account.openLinks.list({ limit: 1 })).items[0]!.created_at)
    const row = (of: { eve: string; link: string; at: number; i: number }) => ({
      id: newId('req_', of.at + of.i),
      open_link_id: of.link,
      account_id: of.eve,
      display_name: 'x',
      email: `${of.i}@example.org`,
      message: null,
      state: 'pending' as const,
      token_hash: null,
      connection_id: null,
      created_at: of.at,
      expires_at: null,
    })

    test('a form for a link paused or deleted meanwhile is rejected', async () => {
      const { id, slug } = await link(ada)
      await ada.account.openLinks.pause({ id })
      const paused = await post(slug, { email: newAddress() })
      assert.equal(paused.status, 409)
      assert.match(textOf(paused), /paused/)
      assert.deepEqual(await rows(id), [])
      await ada.account.openLinks.delete({ id })
      assert.equal((await post(slug, { email: newAddress() })).status, 404)
    })
  })
}
