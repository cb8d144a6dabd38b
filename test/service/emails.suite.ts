/** The addresses of an account and the links that confirm them, for every engine. */
import { approveInvitation } from './connections/connecting.ts'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { actingAccount } from '../../src/service/calls.ts'
import { emails } from '../../src/service/accounts/emails.ts'
import type { ServiceContext } from '../../src/service/context.ts'
import { newAct } from '../../src/storage/idempotency.ts'
import { DAY, ENDED, HOUR, LINK, type Mailboxes, openMailboxes } from './emails-subject.ts'
import type { Engine } from './engines.ts'
import {
  addressOf,
  approve,
  arrived,
  connect,
  enrolled,
  enrolmentOf,
  join,
  mailedCode,
  newAddress,
  newMaker,
  type Newcomer,
  type Person,
  resetOf,
  revocationBy,
} from './person.ts'
import { rejects } from '../rejects.ts'
import { until } from '../until.ts'

export function emailsSuite(name: string, engine: Engine): void {
  let {
    subject,
    hand,
    later,
    time,
    inside,
    person,
    byMail,
    add,
    listed,
    addresses,
    mailed,
    claimed,
    page,
    confirm,
    reject,
    confirmed,
    close,
  } = {} as Mailboxes
  before(async () => {
    ;({
      subject,
      hand,
      later,
      time,
      inside,
      person,
      byMail,
      add,
      listed,
      addresses,
      mailed,
      claimed,
      page,
      confirm,
      reject,
      confirmed,
      close,
    } = await openMailboxes(engine))
  })
  after(() => close())

  describe(`addresses: ${name}`, () => {
    test('an added address signs in a device that awaits approval, and cannot reset the account', async () => {
      const first = newAddress()
      const ada = await byMail(first)
      const second = newAddress()
      await confirmed(ada, second)
      const { server } = subject
      await rejects('forbidden', resetOf(server, ada.id, await mailedCode(server, second)))
      const phone = await join(server, await mailedCode(server, second))
      assert.equal(phone.enrolment.approved, false)
      assert.equal((await ada.account.context.read({})).user.email, first, 'nothing ended')
      const renewed = await resetOf(server, ada.id, await mailedCode(server, first))
      assert.equal(renewed.enrolment.account_id, ada.id)
    })

    test('an added address becomes the account’s when its link is confirmed, once', async () => {
      const first = newAddress()
      const ada = await byMail(first)
      const [primary] = await listed(ada)
      assert.deepEqual(primary, {
        id: primary!.id,
        address: first,
        primary: true,
        verified: true,
        created_at: time(),
      })
      const second = newAddress()
      const { email: answer, token } = await claimed(ada, second.toUpperCase())
      const { mailed, ...email } = answer
      assert.equal(mailed, false)
      const made = time()
      const claim = { id: email.id, address: second, primary: false, created_at: made }
      assert.deepEqual(email, { ...claim, verified: false })
      assert.deepEqual(await listed(ada), [email, primary])
      later(HOUR)
      for (let i = 0; i < 2; i++) {
        const shown = await page(token)
        assert.match(shown, /&quot;Ada&quot;/)
        assert(shown.includes(`(${first})`) && shown.includes(second), shown)
      }
      assert.deepEqual(await listed(ada), [email, primary], 'reading the page changes nothing')
      assert.match(await confirm(token), new RegExp(`${second} is now an address of that account`))
      assert.deepEqual(await listed(ada), [{ ...claim, verified: true }, primary])
      assert.equal((await ada.account.context.read({})).user.email, first)
      assert.match(await confirm(token), ENDED)
      assert.match(await page(token), ENDED)
      await rejects('conflict', add(ada, second))
      await rejects('conflict', add(ada, first.toUpperCase()))
    })

    test('a rejected claim ends, and its link with it', async () => {
      const [first, second] = [newAddress(), newAddress()]
      const ada = await byMail(first)
      const { token } = await claimed(ada, second)
      assert.deepEqual(await addresses(ada), [`${second}?`, first])
      assert.match(await reject(token), /Nothing was confirmed/)
      assert.deepEqual(await addresses(ada), [first])
      for (const answer of [page, confirm, reject]) assert.match(await answer(token), ENDED)
      const confirmedLater = await claimed(ada, second)
      await confirm(confirmedLater.token)
      assert.match(await reject(confirmedLater.token), ENDED)
      assert.deepEqual(await addresses(ada), [second, first])
    })

    test('the mail names the requester, without links from the requester’s text', async () => {
      const address = newAddress()
      const eve = await byMail(newAddress(), 'Visit https://evil.example <b>now</b>')
      await claimed(eve, address)
      const letter = await arrived(subject.server, address, LINK)
      assert.equal(letter.subject, 'Confirm your address for countersign.test')
      assert(letter.text.includes(await addressOf(eve)))
      assert.doesNotMatch(letter.text, /https:\/\/evil|<b>/)
      assert.match(letter.text, /within 24 hours/)
      const lines = letter.text.split('\n').filter((line) => !line.includes('/confirm/'))
      assert(lines.every((line) => line.length <= 78))
      const [token = ''] = await mailed(address)
      assert.doesNotMatch(await page(token), /<b>|https:\/\/evil/)
      const stored = await hand.db.selectFrom('email_claims').selectAll().execute()
      assert(!JSON.stringify(stored).includes(token), 'only its hash is kept')
    })

    test('the account and its earlier address are notified', async () => {
      const first = newAddress()
      const ada = await byMail(first)
      const second = newAddress()
      const { id } = await confirmed(ada, second)
      const { text, subject: about } = await arrived(subject.server, first, /was added/)
      assert(text.includes(second))
      assert(text.split('\n').every((line) => line.length <= 78))
      assert.match(about, /A new address of your account/)
      const notes = (await ada.account.notifications.list({})).items
      assert.deepEqual(
        notes.map(({ kind, data }) => [kind, data]),
        [['email_added', { email_id: id }]],
      )
      assert(notes[0]!.body.includes(second))
    })

    test('the first confirmed address becomes the primary one', async () => {
      const ada = await person()
      const email = async () => (await ada.account.context.read({})).user.email
      const [first, second] = [newAddress(), newAddress()]
      const { token } = await claimed(ada, first)
      assert.equal(await email(), null)
      assert.doesNotMatch(await page(token), /\(null\)|undefined/)
      await confirm(token)
      assert.equal(await email(), first)
      await confirmed(ada, second)
      assert.equal(await email(), first)
      assert.deepEqual(
        (await listed(ada)).map((one) => [one.address, one.primary, one.verified]),
        [
          [second, false, true],
          [first, true, true],
        ],
      )
    })

    test('a sign-in code mailed to any address signs in to the account', async () => {
      const ada = await byMail()
      const second = newAddress()
      const { token } = await claimed(ada, second)
      const stale = await mailedCode(subject.server, second)
      await confirm(token)
      const laptop = await join(subject.server, await mailedCode(subject.server, second))
      assert.equal(laptop.enrolment.account_id, ada.id)
      // It was sent while no account had the address, and no longer creates an account.
      const begin = subject.server.door().enrolment.create(enrolmentOf(newMaker(), stale))
      await rejects('invalid_token', begin)
    })

    test('invitations to a confirmed address reach the account', async () => {
      const [ada, bob] = [await byMail(), await person('Bob')]
      const second = newAddress()
      const { id } = await connect(bob, 'Club')
      await bob.account.members.add({ id, body: { email: second } })
      const received = async () =>
        (await ada.account.invitations.pending({})).received.map((one) => one.connection_id)
      const { token } = await claimed(ada, second)
      assert.deepEqual(await received(), [])
      await confirm(token)
      assert.deepEqual(await received(), [id])
      const [invitation] = (await ada.account.invitations.list({})).received
      const approved = await approveInvitation(ada, { id: invitation!.id })
      assert.equal(approved.state, 'approved')
    })

    test('adding an address again returns the same claim with a new link, and ends the old link', async () => {
      const ada = await byMail()
      const address = newAddress()
      const first = await claimed(ada, address)
      later(DAY - 1)
      const second = await claimed(ada, address)
      assert.deepEqual(second.email, first.email)
      assert.match(await page(first.token), ENDED)
      later(DAY - 1)
      assert.match(await confirm(second.token), /is confirmed/)
    })

    test('a claim ends after a day: the link, the list entry and the row', async () => {
      const ada = await byMail()
      const address = newAddress()
      const { email, token } = await claimed(ada, address)
      later(DAY - 1)
      assert.deepEqual(await addresses(ada), [`${address}?`, await addressOf(ada)])
      later(1)
      assert.deepEqual(await addresses(ada), [await addressOf(ada)])
      assert.match(await page(token), ENDED)
      assert.match(await confirm(token), ENDED)
      assert.notEqual((await claimed(ada, address)).email.id, email.id)
      const rows = hand.db.selectFrom('email_claims').selectAll()
      const isOver = rows.where('expires_at', '<=', subject.clock.ms)
      await until('no claim that is over', async () => (await isOver.execute()).length === 0)
    })

    test('a machine account cannot have addresses', async () => {
      const id = newId('acc_', Date.now())
      await hand.db
        .insertInto('accounts')
        .values({ id, kind: 'machine', display_name: 'billing' })
        .execute()
      const who = { account: id, device: null, session: null, token: newId('tok_', Date.now()) }
      const account = subject.service.as(who)
      await rejects('forbidden', add({ account }, newAddress()))
      assert.deepEqual(await addresses({ account }), [])
    })

    test('deleting an account deletes its claims', async () => {
      const ada = await person()
      const { token } = await claimed(ada, newAddress())
      await hand.db.deleteFrom('accounts').where('id', '=', ada.id).execute()
      assert.match(await page(token), ENDED)
      assert.match(await confirm(token), ENDED)
    })

    for (const [what, ends] of [
      [
        'a reset',
        async (ada) => {
          await resetOf(
            subject.server,
            ada.id,
            await mailedCode(subject.server, await addressOf(ada)),
          )
        },
      ],
      [
        'a revocation by another device',
        async (ada, laptop) => {
          const entry = await revocationBy(ada, laptop.device)
          await ada.account.keyLogs.append({ body: { entry } })
        },
      ],
      [
        'a device that revokes itself, as a thief may do,',
        async (ada, laptop) => {
          const entry = await revocationBy({ ...laptop, id: ada.id }, laptop.device)
          await laptop.account.keyLogs.append({ body: { entry } })
        },
      ],
    ] as [string, (ada: Person, laptop: Newcomer) => Promise<void>][])
      test(`${what} ends the pending claims of the device`, async () => {
        const ada = await byMail()
        const laptop = await join(
          subject.server,
          await mailedCode(subject.server, await addressOf(ada)),
        )
        await approve(ada, laptop)
        const { token } = await claimed(laptop, newAddress())
        const [other, address] = [await byMail(), newAddress()]
        await add(other, address)
        await ends(ada, laptop)
        assert.match(await page(token), ENDED)
        assert.match(await confirm(token), ENDED)
        // This holds also for a call that was authorised a moment before the session ended.
        const late = inside({ ...ada, ...laptop })
        await rejects('invalid_token', add(late, newAddress()))
        assert.deepEqual((await addresses(other))[0], `${address}?`, 'of this account alone')
      })

    test('deleting an account that only claimed a mailbox deletes nothing of the mailbox’s owner', async () => {
      const mailbox = newAddress()
      const [vic, eve] = [await byMail(mailbox, 'Vic'), await byMail(newAddress(), 'Eve')]
      await claimed(eve, mailbox)
      const code = await mailedCode(subject.server, mailbox)
      const before = await subject.server.letters(mailbox)
      await eve.account.account.delete({})
      assert.deepEqual(await subject.server.letters(mailbox), before)
      await enrolled(subject.server, vic, code)
    })

    test('an address that is confirmed during a listing is in the list', async () => {
      const ada = await byMail()
      const address = newAddress()
      const { token } = await claimed(ada, address)
      let read = 0
      const db = hand.db.withPlugin({
        transformQuery: ({ node }) => node,
        transformResult: async ({ result }) => {
          if (read++ === 0) await confirm(token)
          return result
        },
      })
      const ground = { db, now: () => subject.clock.ms } as unknown as ServiceContext
      const { session_id: session } = ada.enrolment.session
      const who = { account: ada.id, device: ada.device, session, token: null }
      const { items } = await emails(ground).list({ limit: 50 }, who)
      assert.equal(items.filter((one) => one.address === address).length, 1)
      assert.equal(read, 2)
    })

    test('one operation sends one mail', async () => {
      const ada = await byMail()
      const address = newAddress()
      const { id, device } = ada
      const who = { account: id, device, session: ada.enrolment.session.session_id, token: null }
      const acting = actingAccount(subject.service, who).acting(newAct(subject.clock.ms))
      const made = await acting.emails.create({ body: { address } })
      assert.deepEqual(await acting.emails.create({ body: { address } }), made)
      assert.equal((await mailed(address)).length, 1)
      await confirm((await mailed(address))[0]!)
    })
  })

  test(`signing in again with a second address: ${name}`, async () => {
    const ada = await byMail()
    const second = newAddress()
    await confirmed(ada, second)
    const again = await enrolled(subject.server, ada, await mailedCode(subject.server, second))
    assert.equal(again.enrolment.account_id, ada.id)
  })
}
