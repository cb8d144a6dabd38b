/** Limits of addresses and mails, and invalid addresses, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { everything } from '../account/subject.ts'
import { DAY, ENDED, HOUR, type Mailboxes, openMailboxes } from './emails-subject.ts'
import type { Engine } from './engines.ts'
import { addressOf, newAddress, type Person } from './person.ts'
import { rejects } from '../rejects.ts'

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

  describe(`limits and validation of addresses: ${name}`, () => {
    test('an account sends three mails an hour to one address; the answer stays the same', async () => {
      const address = newAddress()
      const ada = await byMail()
      for (let i = 0; i < 3; i++) await claimed(ada, address)
      const again = await add(ada, address)
      assert.deepEqual(await add(ada, address), again)
      assert.equal((await links(address)).length, 3)
      // The last link is still valid; a mail that may be sent would have replaced it.
      const token = (await mailed(address, 3)).at(-1)!
      later(HOUR - 1)
      await add(ada, address)
      assert.match(await page(token), /Confirm your address/)
      later(1)
      const { token: newest } = await claimed(ada, address)
      assert.equal((await links(address)).length, 4)
      assert.match(await confirm(newest), /is confirmed/)
    })

    test('requests of strangers for an address do not stop its owner from confirming it', async () => {
      const address = newAddress()
      const strangers = [await byMail(), await byMail(), await byMail(), await byMail()]
      const owner = await byMail(newAddress(), 'Owner')
      later(DAY)
      for (let i = 0; i < 4; i++) for (const one of strangers) await add(one, address)
      await mailed(address, 12)
      const { token } = await claimed(owner, address)
      assert.match(await page(token), /Owner/)
      assert.match(await confirm(token), /is confirmed/)
      assert.deepEqual(await addresses(owner), [address, await addressOf(owner)])
    })

    test('each stranger has one mail an hour sent to an address, and all together nine more', async () => {
      const address = newAddress()
      const strangers: Person[] = []
      for (let i = 0; i < 12; i++) strangers.push(await byMail())
      later(DAY)
      for (const one of strangers) {
        for (let ask = 0; ask < 4; ask++) await add(one, address)
      }
      const last = newAddress()
      await claimed(await byMail(), last)
      assert.equal((await links(address)).length, 12 + 9)
    })

    test('accounts in their first day send three mails an hour to one mailbox, all together', async () => {
      const [local, domain] = newAddress().split('@')
      const address = `${local}@${domain}`
      const owner = await byMail(newAddress(), 'Owner')
      later(DAY)
      const strangers: Person[] = []
      for (let i = 0; i < 12; i++) strangers.push(await byMail())
      const all = [address, ...strangers.map((_, i) => `${local}+${i}@${domain}`)]
      const sent = async () => (await Promise.all(all.map((one) => links(one)))).flat().length
      for (const [i, one] of strangers.entries()) await add(one, all[i]!)
      await claimed(await byMail(), newAddress())
      assert.equal(await sent(), 3)
      // They do not prevent an older account from confirming the address.
      const { token } = await claimed(owner, address)
      later(HOUR)
      for (const one of strangers) await add(one, address)
      await claimed(await byMail(), newAddress())
      assert.equal(await sent(), 3 + 1 + 3)
      assert.match(await confirm(token), /is confirmed/)
    })

    test('tagged addresses of one mailbox share a limit', async () => {
      const ada = await byMail()
      const [local, domain] = newAddress().split('@')
      for (let i = 0; i < 9; i++) await add(ada, `${local}+${i}@${domain}`)
      await claimed(ada, newAddress())
      const out = await Promise.all(
        Array.from({ length: 9 }, (_, i) => links(`${local}+${i}@${domain}`)),
      )
      assert.equal(out.flat().length, 3)
    })

    test('of concurrent requests of one account three mails are sent, also with several replicas', async () => {
      const address = newAddress()
      const ada = await byMail()
      const there = inside(ada, replica)
      await Promise.all(
        Array.from({ length: 6 }, (_, i) => add(i % 2 === 0 ? ada : there, address)),
      )
      // Once the mail of a later request has arrived, all mails of earlier requests have been
      // sent.
      for (const one of [ada, there]) {
        const later = newAddress()
        await add(one, later)
        await mailed(later)
      }
      assert.equal((await links(address)).length, 3)
    })

    test('an account adds ten an hour, and twenty in all', async () => {
      const ada = await byMail()
      const ten = async () => {
        for (let i = 0; i < 10; i++) await add(ada, newAddress())
      }
      await ten()
      const refused = await rejects('rate_limited', add(ada, newAddress()))
      assert.equal(refused.headers['Retry-After'], '3600')
      later(HOUR)
      for (let i = 0; i < 9; i++) await add(ada, newAddress())
      assert.match((await rejects('conflict', add(ada, newAddress()))).message, /at most 20/)
      const [newest] = await listed(ada)
      assert.equal((await add(ada, newest!.address)).id, newest!.id, 'one of them, asked again')
      later(DAY)
      await ten()
      const bob = await byMail()
      await add(bob, newAddress())
    })

    test('rejects invalid addresses and unknown fields', async () => {
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
        await rejects('validation_failed', ada.account.emails.create({ body: body as never }))
      assert.equal((await listed(ada)).length, 1)
    })

    test('the list has pages, with pending and confirmed addresses in one order', async () => {
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
        await rejects('bad_request', ada.account.emails.list({ cursor: wrong }))
      for (const limit of [-1, 0, 201])
        await rejects('validation_failed', ada.account.emails.list({ limit }))
      assert.deepEqual(await addresses(await person('Bob')), [])
    })

    test('rejects an unknown token', async () => {
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
