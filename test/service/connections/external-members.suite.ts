/** External members, their guest codes, and mailing these codes. For every engine. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { everything, isInvalid } from '../../account/subject.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { openServiceDatabase, type ServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { addressOf, arrived, enrol, enrolByMail, newAddress, type Person } from '../person.ts'
import { type LocalSubject, openSubject, PUBLIC_URL } from '../subject.ts'
import { rejects } from '../../rejects.ts'

const HOUR = 3_600_000
const VISITOR = { key: null }

export function externalMembersSuite(name: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let hand: ServiceDatabase
  let ada: Person
  let eve: Person
  const time = (ms = 0) => new Date(subject.clock.ms + ms).toISOString()
  /** Returns a person with a session that the clock does not end. */
  const inside = (person: Person): Person => {
    const { session_id } = person.enrolment.session
    const who = { account: person.id, device: person.device, session: session_id, token: null }
    return { ...person, account: subject.service.as(who) }
  }
  const newExternal = (person: Person, body: object = {}) =>
    person.account.externalMembers.create({ body: { display_name: 'Plumber', ...body } })
  const newGuest = (person: Person, body: object = {}, id = newId('gst_', Date.now())) =>
    person.account.deviceGuestCodes.create({
      body: { id, label: 'Kitchen', expires_at: time(HOUR), ...body },
    })
  const listed = async ({ account }: Person, id: string) =>
    (await account.guestCodes.list({ limit: 200 })).items.find((one) => one.id === id)
  const newSecret = () => randomBytes(32).toString('base64url')
  const open = async () => {
    const place = await newPlace()
    subject = await openSubject(place)
    hand = await openServiceDatabase(place)
    ada = inside(await enrolByMail(subject.server, newAddress(), 'Ada'))
    eve = inside(await enrol(subject.server, 'Eve'))
  }
  const close = async () => {
    await hand.close()
    await subject.close()
  }

  describe(`external members: ${name}`, () => {
    before(open)
    after(close)

    test('are created and listed, newest first; omitted fields are null', async () => {
      const bob = inside(await enrol(subject.server))
      const one = await newExternal(bob)
      const expected = { display_name: 'Plumber', email: null, phone: null, note: null }
      assert.deepEqual(one, { id: one.id, ...expected, created_at: time() })
      const body = {
        display_name: '<b>Łukasz</b>',
        email: 'L.Ukasz@Example.org',
        phone: '+41 44 668 18 00',
        note: 'Ring twice.\n\t<script>',
      }
      const other = await newExternal(bob, body)
      const receivedFields = { ...body, email: 'l.ukasz@example.org' }
      assert.deepEqual(other, { id: other.id, ...receivedFields, created_at: time() })
      for (let i = 0; i < 3; i++) await newExternal(bob)
      const pages = await everything((page) => bob.account.externalMembers.list(page), 2)
      assert.deepEqual(
        pages.map((page) => page.length),
        [2, 2, 1],
      )
      assert.deepEqual(pages.flat().slice(-2), [other, one])
      assert.deepEqual((await eve.account.externalMembers.list({})).items, [])
    })

    for (const [what, body] of Object.entries({
      'no name': { display_name: '' },
      'an empty name': { display_name: ' ' },
      'a name with a direction override': { display_name: 'a\u202eb' },
      'a name of two lines': { display_name: 'a\nb' },
      'a name of a mebibyte': { display_name: 'x'.repeat(1024 * 1024) },
      'an invalid address': { email: 'nobody' },
      'an address with a header': { email: 'a@example.org\r\nBcc: eve@example.org' },
      'an invalid number': { phone: 'call me' },
      'a note with a direction override': { note: 'a\u2066b' },
      'a long note': { note: 'x'.repeat(2001) },
      'an unknown field': { owner: 'eve' },
    }))
      test(`rejects ${what}`, async () => {
        const before = (await ada.account.externalMembers.list({})).items
        await rejects('validation_failed', newExternal(ada, body))
        assert.deepEqual((await ada.account.externalMembers.list({})).items, before)
      })

    test('the list rejects a cursor of another list, and limits outside 1 to 200', async () => {
      const { externalMembers, guestCodes } = ada.account
      await newGuest(ada)
      await newGuest(ada)
      const { next_cursor } = await guestCodes.list({ limit: 1 })
      for (const cursor of [next_cursor!, '', '*'])
        await rejects('bad_request', externalMembers.list({ cursor }))
      for (const limit of [-1, 0, 201])
        await rejects('validation_failed', externalMembers.list({ limit }))
    })

    test('an account has 1,000 at most', async () => {
      const bob = inside(await enrol(subject.server))
      const rows = Array.from({ length: 999 }, () => ({
        id: newId('ext_', Date.now()),
        account_id: bob.id,
        display_name: 'x',
        email: null,
        phone: null,
        note: null,
        created_at: 0,
      }))
      await hand.db.insertInto('external_members').values(rows).execute()
      const made = await Promise.allSettled([newExternal(bob), newExternal(bob)])
      assert.deepEqual(made.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      await rejects('conflict', newExternal(bob))
      await bob.account.externalMembers.delete({ id: rows[0]!.id })
      await newExternal(bob)
    })

    test('a guest code refers to its external member; creating it again returns the same code', async () => {
      const { id: external_member_id } = await newExternal(ada)
      const body = { external_member_id, expires_at: time(HOUR) }
      const made = await newGuest(ada, body)
      assert.equal(made.external_member_id, external_member_id)
      assert.deepEqual(await listed(ada, made.id), made)
      assert.deepEqual(await newGuest(ada, body, made.id), made)
      const others = [null, (await newExternal(ada)).id]
      for (const other of others)
        await rejects('conflict', newGuest(ada, { ...body, external_member_id: other }, made.id))
      assert.deepEqual(await listed(ada, made.id), made)
    })

    test('a guest code contains the name of its external member until that is deleted', async () => {
      const { id, display_name } = await newExternal(ada, { display_name: 'Maria Muster' })
      const body = { external_member_id: id, expires_at: time(HOUR) }
      const made = await newGuest(ada, body)
      assert.deepEqual(made.external_member, { id, display_name })
      const again = await newGuest(ada, body, made.id)
      const mail = { to: newAddress(), secret: newSecret() }
      const sent = await ada.account.deviceGuestCodes.send({ id: made.id, body: mail })
      const other = await newGuest(ada)
      assert.deepEqual(sent, { ...made, mailed: false })
      for (const one of [again, await listed(ada, made.id)]) assert.deepEqual(one, made)
      assert.deepEqual([other.external_member, other.external_member_id], [null, null])
      assert.equal((await listed(ada, other.id))?.external_member, null)
      await ada.account.externalMembers.delete({ id })
      assert.equal((await listed(ada, made.id))?.external_member, null)
    })

    test('a guest code for an unknown external member, or for one of another account, is rejected', async () => {
      const theirs = await newExternal(eve)
      const before = (await ada.account.guestCodes.list({})).items
      for (const external_member_id of [theirs.id, newId('ext_', Date.now())])
        await rejects('not_found', newGuest(ada, { external_member_id }))
      await rejects('validation_failed', newGuest(ada, { external_member_id: 'ext_1' }))
      assert.deepEqual((await ada.account.guestCodes.list({})).items, before)
    })

    test('deleting an external member revokes only its own guest codes; they stay listed', async () => {
      const [one, other] = [await newExternal(ada), await newExternal(ada)]
      const revoked = await newGuest(ada, { external_member_id: one.id })
      await ada.account.guestCodes.delete({ id: revoked.id })
      const [at] = await hand.db
        .selectFrom('guest_codes')
        .select('revoked_at')
        .where('id', '=', revoked.id)
        .execute()
      subject.clock.ms += 1000
      const mine = await newGuest(ada, { external_member_id: one.id })
      const spared = [await newGuest(ada), await newGuest(ada, { external_member_id: other.id })]

      assert.equal(await ada.account.externalMembers.delete({ id: one.id }), undefined)
      const ended = { state: 'revoked', external_member_id: null, external_member: null }
      assert.deepEqual(await listed(ada, mine.id), { ...mine, ...ended })
      assert.deepEqual(await listed(ada, revoked.id), { ...revoked, ...ended })
      for (const guest of spared) assert.deepEqual(await listed(ada, guest.id), guest)
      const [still] = await hand.db
        .selectFrom('guest_codes')
        .select('revoked_at')
        .where('id', '=', revoked.id)
        .execute()
      assert.deepEqual(still, at, 'one that was revoked before was revoked then')
      const ids = (await ada.account.externalMembers.list({})).items.map(({ id }) => id)
      assert.ok(!ids.includes(one.id) && ids.includes(other.id))
      await rejects('not_found', ada.account.externalMembers.delete({ id: one.id }))
    })

    test('a guest code created while its external member is deleted is revoked or rejected', async () => {
      for (let i = 0; i < 5; i++) {
        const { id: external_member_id } = await newExternal(ada)
        const [made] = await Promise.allSettled([
          newGuest(ada, { external_member_id }),
          ada.account.externalMembers.delete({ id: external_member_id }),
        ])
        if (made.status === 'fulfilled')
          assert.equal((await listed(ada, made.value.id))?.state, 'revoked')
        else await rejects('not_found', Promise.reject(made.reason as Error))
      }
    })

    test('ids of another account, unknown and malformed ids are not found', async () => {
      const theirs = await newExternal(eve)
      const guest = await newGuest(eve, { external_member_id: theirs.id })
      for (const id of [
        theirs.id,
        newId('ext_', Date.now()),
        'x',
        'ext_',
        `${theirs.id}0`,
        guest.id,
      ])
        await rejects('not_found', ada.account.externalMembers.delete({ id }))
      const body = { to: newAddress(), secret: newSecret() }
      for (const id of [guest.id, newId('gst_', Date.now()), 'x', `${guest.id}0`])
        await rejects('not_found', ada.account.deviceGuestCodes.send({ id, body }))
      assert.deepEqual((await eve.account.externalMembers.list({})).items[0], theirs)
      assert.deepEqual(await listed(eve, guest.id), guest)
      assert.deepEqual(await subject.server.letters(body.to), [])
    })
  })

  describe(`mailing a guest code: ${name}`, () => {
    before(open)
    after(close)

    test('the mail contains the link and names the sender; nothing else contains the secret', async () => {
      const [at, secret] = [newAddress(), newSecret()]
      await ada.account.profile.update({ body: { display_name: 'Ada <www.evil.example>' } })
      const guest = await newGuest(ada)
      const body = { to: at.toUpperCase(), secret }
      assert.deepEqual(await ada.account.deviceGuestCodes.send({ id: guest.id, body }), {
        ...guest,
        mailed: false,
      })
      const letter = await arrived(subject.server, at, /link/)
      const link = `${PUBLIC_URL}/g/${guest.id}#${secret}`
      assert.ok(letter.text.split('\n').includes(`    ${link}`), letter.text)
      const links = letter.text.match(/https?:\S+|\bwww\.\S+/g)
      assert.deepEqual(links, [PUBLIC_URL, link])
      for (const part of [`"Ada 'www. evil. example'"`, await addressOf(ada)])
        assert.ok(letter.text.includes(part), part)
      assert.equal(letter.subject, 'A link for you at countersign.test')
      for (const value of letter.headers.values()) assert.ok(!value.includes(secret))

      const stored: string[] = []
      for (const table of ['guest_codes', 'tries', 'idempotency', 'notifications', 'accounts'])
        stored.push(
          JSON.stringify((await sql`select * from ${sql.table(table)}`.execute(hand.db)).rows),
        )
      assert.ok(stored.join().includes(guest.id), 'the search finds what is there')
      assert.ok(!stored.join().includes(secret))
      assert.ok(!stored.join().includes(at))
    })

    test('is sent to the external member by default, and needs an address', async () => {
      const email = newAddress()
      const known = await newExternal(ada, { email })
      const guest = await newGuest(ada, { external_member_id: known.id })
      const send = (id: string, to?: string) =>
        ada.account.deviceGuestCodes.send({
          id,
          body: { secret: newSecret(), ...(to === undefined ? {} : { to }) },
        })
      await send(guest.id)
      await arrived(subject.server, email, /link/)
      const other = newAddress()
      await send(guest.id, other)
      await arrived(subject.server, other, /link/)
      assert.equal((await subject.server.letters(email)).length, 1)

      const silent = await newExternal(ada)
      for (const body of [{}, { external_member_id: silent.id }]) {
        const { id } = await newGuest(ada, body)
        await isInvalid('to', 'Give an address', send(id))
      }
    })

    test('revoked and expired codes are not mailed', async () => {
      const send = (id: string) =>
        ada.account.deviceGuestCodes.send({ id, body: { to, secret: newSecret() } })
      const to = newAddress()
      const revoked = await newGuest(ada)
      await ada.account.guestCodes.delete({ id: revoked.id })
      const external = await newExternal(ada, { email: to })
      const forgotten = await newGuest(ada, { external_member_id: external.id })
      await ada.account.externalMembers.delete({ id: external.id })
      const expired = await newGuest(ada, { expires_at: time(1000) })
      subject.clock.ms += 1000
      for (const [{ id }, state] of [
        [revoked, 'revoked'],
        [forgotten, 'revoked'],
        [expired, 'expired'],
      ] as const)
        await rejects('invalid_state', send(id), { state })
      const active = await newGuest(ada)
      for (const secret of ['', 'x', 'x'.repeat(44), `${'x'.repeat(42)}.`])
        await rejects(
          'validation_failed',
          ada.account.deviceGuestCodes.send({ id: active.id, body: { to, secret } }),
        )
      assert.deepEqual(await subject.server.letters(to), [])
    })

    test('sends five an hour to one address and twenty in all; rejected requests do not count', async () => {
      const bob = inside(await enrol(subject.server, 'Bob'))
      const { id } = await newGuest(bob, { expires_at: time(9 * HOUR) })
      const send = (to: string) =>
        bob.account.deviceGuestCodes.send({ id, body: { to, secret: newSecret() } })
      const addresses = Array.from({ length: 4 }, newAddress)
      for (let i = 0; i < 5; i++) await send(addresses[0]!)
      for (let i = 0; i < 20; i++) await rejects('rate_limited', send(addresses[0]!.toUpperCase()))
      for (const to of addresses.slice(1)) for (let i = 0; i < 5; i++) await send(to)
      await rejects('rate_limited', send(newAddress()))
      const { id: another } = await newGuest(ada, { expires_at: time(9 * HOUR) })
      await ada.account.deviceGuestCodes.send({
        id: another,
        body: { to: addresses[0]!, secret: newSecret() },
      })
      subject.clock.ms += HOUR
      await send(addresses[0]!)
    })

    test('tagged addresses of one mailbox share the limit of five an hour', async () => {
      const bob = inside(await enrol(subject.server, 'Bob'))
      const { id } = await newGuest(bob, { expires_at: time(9 * HOUR) })
      const [local, domain] = newAddress().split('@')
      const send = (tag: number) =>
        bob.account.deviceGuestCodes.send({
          id,
          body: { to: `${local}+${tag}@${domain}`, secret: newSecret() },
        })
      for (let tag = 0; tag < 5; tag++) await send(tag)
      await rejects('rate_limited', send(5))
    })

    test('sends ten an hour to one address for all accounts together', async () => {
      const to = newAddress()
      const sends = await Promise.all(
        ['Cy', 'Dora', 'Eve'].map(async (called) => {
          const one = inside(await enrol(subject.server, called))
          const { id } = await newGuest(one, { expires_at: time(9 * HOUR) })
          return () => one.account.deviceGuestCodes.send({ id, body: { to, secret: newSecret() } })
        }),
      )
      for (const send of sends.slice(0, 2)) for (let i = 0; i < 5; i++) await send()
      await rejects('rate_limited', sends[2]!())
      subject.clock.ms += HOUR
      await sends[2]!()
    })
  })

  describe(`a guest code in every state, with every operation: ${name}`, () => {
    before(open)
    after(close)

    const ACTIONS = {
      delete: (id: string) => ada.account.guestCodes.delete({ id }),
      send: (id: string) =>
        ada.account.deviceGuestCodes.send({ id, body: { to: newAddress(), secret: newSecret() } }),
      opened: (id: string) => subject.service.open.guestPages.opened({ id }, VISITOR),
    }
    /**
     * The expected results by state and action: whether the server rejects it, the state after
     * it, and whether the page counts as opened.
     */
    const TABLE = {
      active: {
        delete: ['done', 'revoked', false],
        send: ['done', 'active', false],
        opened: ['done', 'active', true],
      },
      revoked: {
        delete: ['done', 'revoked', false],
        send: ['invalid_state', 'revoked', false],
        opened: ['done', 'revoked', false],
      },
      expired: {
        delete: ['done', 'revoked', false],
        send: ['invalid_state', 'expired', false],
        opened: ['done', 'expired', false],
      },
    } as const

    for (const [state, row] of Object.entries(TABLE))
      for (const [action, [outcome, after, isOpened]] of Object.entries(row))
        test(`${state}, ${action}: ${outcome}, ${after}`, async () => {
          const { id } = await newGuest(ada, { expires_at: time(1000) })
          if (state === 'revoked') await ada.account.guestCodes.delete({ id })
          if (state === 'expired') subject.clock.ms += 1000
          assert.equal((await listed(ada, id))?.state, state)
          const act = () => ACTIONS[action as keyof typeof ACTIONS](id)
          // A repetition has the same result.
          for (let i = 0; i < 2; i++)
            if (outcome === 'done') await act()
            else await rejects(outcome, act(), { state })
          const left = await listed(ada, id)
          assert.deepEqual([left?.state, left?.last_opened_at !== null], [after, isOpened])
        })
  })

  describe(`the page of a guest code: ${name}`, () => {
    before(open)
    after(close)

    test('notifies its owner of the first opening', async () => {
      const guest = await newGuest(ada, { label: 'Kitchen\u00a0sink' })
      const { guestPages } = subject.service.open
      const opened = () => guestPages.opened({ id: guest.id }, VISITOR)
      const notes = async () =>
        (await ada.account.notifications.list({})).items.map(({ kind, body, data }) => ({
          kind,
          body: body.slice(0, 74),
          data,
        }))
      await guestPages.read({ id: guest.id }, VISITOR)
      assert.deepEqual(await notes(), [], 'scanners of mails read pages too')
      await Promise.all([opened(), opened()])
      const first = {
        kind: 'guest_code_opened',
        body: 'The page of the guest code "Kitchen sink" was opened for the first time. I',
        data: { guest_code_id: guest.id },
      }
      assert.deepEqual(await notes(), [first])
      subject.clock.ms += 1000
      await opened()
      assert.deepEqual(await notes(), [first])
      assert.equal((await listed(ada, guest.id))?.last_opened_at, time())
      assert.deepEqual((await eve.account.notifications.list({})).items, [])
    })

    test('shows the recipient’s name of an active code, with HTML in the name as text', async () => {
      const read = async (id: string) => {
        const { status = 200, body } = await subject.service.open.guestPages.read({ id }, VISITOR)
        return { status, text: body as string }
      }
      const display_name = 'Maria <img src=x onerror=alert(1)>'
      const { id: external_member_id } = await newExternal(eve, { display_name })
      const [guest, revoked] = [
        await newGuest(eve, { external_member_id }),
        await newGuest(eve, { external_member_id }),
      ]
      const shown = 'Made for <bdi>Maria &lt;img src=x onerror=alert(1)&gt;</bdi>.'
      const { status, text } = await read(guest.id)
      assert.equal(status, 200)
      assert.ok(text.includes(shown), text)
      assert.ok(text.includes('Calls with <bdi>Eve</bdi>') && text.includes(eve.id))
      assert.ok(!text.includes('<img'))
      assert.ok(!(await read((await newGuest(eve)).id)).text.includes('Made for'))
      await eve.account.guestCodes.delete({ id: revoked.id })
      const expired = await newGuest(eve, { external_member_id, expires_at: time(1000) })
      subject.clock.ms += 1000
      for (const { id } of [revoked, expired]) {
        const page = await read(id)
        assert.deepEqual([page.status, page.text.includes('Maria')], [410, false])
      }
      await eve.account.externalMembers.delete({ id: external_member_id })
      const page = await read(guest.id)
      assert.deepEqual([page.status, page.text.includes('Maria')], [410, false])
    })

    test('an ended code is not recorded as opened', async () => {
      const { id } = await newGuest(eve)
      await eve.account.guestCodes.delete({ id })
      await subject.service.open.guestPages.opened({ id }, VISITOR)
      assert.equal((await listed(eve, id))?.last_opened_at, null)
      assert.deepEqual((await eve.account.notifications.list({})).items, [])
    })
  })
}
