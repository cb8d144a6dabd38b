/** How many addresses and mails there may be, and what is none, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { everything } from '../account/subject.ts'
import { DAY, ENDED, HOUR, type Mailboxes, openMailboxes } from './emails-subject.ts'
import type { Engine } from './engines.ts'
import { addressOf, newAddress, type Person } from './person.ts'
import { fails } from './trust.suite.ts'

export function emailBoundsSuite(name: string, engine: Engine): void {
  let {
    replica,
    hand,
    later,
    inside,
    person,
    byMail,
    add,
    listed,
    addresses,
    links,
    mailed,
    claimed,
    page,
    confirm,
    confirmed,
    close,
  } = {} as Mailboxes
  before(async () => {
    ;({
      replica,
      hand,
      later,
      inside,
      person,
      byMail,
      add,
      listed,
      addresses,
      links,
      mailed,
      claimed,
      page,
      confirm,
      confirmed,
      close,
    } = await openMailboxes(engine))
  })
  after(() => close())

  describe(`how many addresses, and which: ${name}`, () => {
    test('three mails an hour to one address, whoever asks; the answer stays the same', async () => {
      const address = newAddress()
      const people = [await byMail(), await byMail(newAddress(), 'Bob'), await byMail()]
      for (let i = 0; i < 3; i++) await claimed(people[i % 2]!, address)
      const [ada, bob, carl] = people as [Person, Person, Person]
      const again = await add(bob, address)
      const late = await add(carl, address)
      assert.deepEqual({ ...late, id: '' }, { ...again, id: '' })
      // What was mailed last to Bob is still good; a mail that may go out would have taken its place.
      const [, bobs = ''] = await mailed(address, 3)
      assert.match(await page(bobs), /Confirm your address/)
      later(HOUR - 1)
      await add(carl, address)
      later(1)
      const { token } = await claimed(carl, address)
      assert.equal((await links(address)).length, 4)
      assert.match(await confirm(token), /is confirmed/)
      assert.deepEqual(await addresses(ada), [`${address}?`, await addressOf(ada)])
    })

    test('three at once are three, also on several replicas', async () => {
      const address = newAddress()
      const people = await Promise.all(Array.from({ length: 6 }, () => byMail()))
      await Promise.all(
        people.map((one, i) => add(i % 2 === 0 ? one : inside(one, replica), address)),
      )
      // Whatever else there is to send has gone out when what is asked later has.
      for (const one of [people[0]!, inside(people[1]!, replica)]) {
        const later = newAddress()
        await add(one, later)
        await mailed(later)
      }
      assert.equal((await links(address)).length, 3)
    })

    test('ten an hour, and twenty in all', async () => {
      const ada = await byMail()
      const ten = async () => {
        for (let i = 0; i < 10; i++) await add(ada, newAddress())
      }
      await ten()
      const refused = await fails('rate_limited', add(ada, newAddress()))
      assert.equal(refused.headers['Retry-After'], '3600')
      later(HOUR)
      for (let i = 0; i < 9; i++) await add(ada, newAddress())
      assert.match((await fails('conflict', add(ada, newAddress()))).message, /at most 20/)
      const [newest] = await listed(ada)
      assert.equal((await add(ada, newest!.address)).id, newest!.id, 'one of them, asked again')
      later(DAY)
      await ten()
      const bob = await byMail()
      await add(bob, newAddress())
    })

    test('what could not be an address, or more than one field', async () => {
      const ada = await byMail()
      const bad = [
        '',
        'ada',
        '@example.org',
        'ada@',
        'ada@-.org',
        'ada@example.org\r\nBcc: eve@example.org',
        'Ada <ada@example.org>',
        '<b>ada</b>@example.org',
        'ada@example.org\u202e',
        'ad\u0430@example.org',
        `${'a'.repeat(65)}@example.org`,
        `ada@${'a.'.repeat(200)}org`,
        `ada@${'a'.repeat(1 << 20)}`,
      ]
      for (const address of bad)
        await assert.rejects(add(ada, address), { code: 'validation_failed' }, address)
      for (const body of [{}, { address: null }, { address: newAddress(), primary: true }])
        await assert.rejects(ada.account.emails.create({ body: body as never }), {
          code: 'validation_failed',
        })
      assert.equal((await listed(ada)).length, 1)
    })

    test('page by page, those that wait among those that are proven', async () => {
      const ada = await byMail()
      for (let i = 0; i < 5; i++) {
        later(1)
        if (i % 2 === 0) await confirmed(ada, newAddress())
        else await add(ada, newAddress())
      }
      const all = await listed(ada)
      assert.deepEqual(
        all.map(({ verified }) => verified),
        [true, false, true, false, true, true],
      )
      for (const limit of [1, 2, 4, 200]) {
        const pages = await everything((query) => ada.account.emails.list(query), limit)
        assert.deepEqual(pages.flat(), all)
      }
      const { next_cursor: cursor } = await ada.account.emails.list({ limit: 2 })
      await hand.db.deleteFrom('email_claims').where('id', '=', all[1]!.id).execute()
      const rest = await ada.account.emails.list({ cursor: cursor! })
      assert.deepEqual(rest.items, all.slice(2), 'a cursor outlives its row')
      const foreign = encodeBase64url(new TextEncoder().encode(ada.id))
      for (const wrong of [foreign, 'x', '<script>'])
        await fails('bad_request', ada.account.emails.list({ cursor: wrong }))
      for (const limit of [-1, 0, 201])
        await assert.rejects(ada.account.emails.list({ limit }), { code: 'validation_failed' })
      assert.deepEqual(await addresses(await person('Bob')), [])
    })

    test('a token that is none', async () => {
      const ada = await byMail()
      const { token } = await claimed(ada, newAddress())
      const flipped = `${token.startsWith('A') ? 'B' : 'A'}${token.slice(1)}`
      for (const none of [flipped, token.slice(1), '', 'x', '<script>', 'x'.repeat(5000)]) {
        assert.match(await page(none), ENDED)
        assert.match(await confirm(none), ENDED)
      }
      await confirm(token)
    })
  })
}
