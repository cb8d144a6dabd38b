/**
 * Invitations at an account server: who may be invited and how, how many, and what the sender
 * learns. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { serverName } from '../../../src/api/rest/names.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import { approveInvitation, make, joinMember } from './connecting.ts'
import { DAY, HOUR, invite, members, received, sent, type Clubs } from './connections-subject.ts'
import {
  addressOf,
  arrived,
  connect,
  enrol,
  enrolByMail,
  newAddress,
  opening,
  type Person,
} from '../person.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

export function invitationsSuite(clubs: () => Clubs): void {
  let { server, ada, bob, carl, owner, later, time, letters, inside, club } = {} as Clubs
  before(() => {
    ;({ server, ada, bob, carl, owner, later, time, letters, inside, club } = clubs())
  })

  describe('invitations', () => {
    test('an invited account and its inviter see it, and the account is not yet a member', async () => {
      const id = await club()
      const made = await invite(ada, id, bob)
      const email = (await ada.account.context.read({})).user.email
      assert.deepEqual(made, {
        id: made.id,
        direction: 'sent',
        connection_id: id,
        connection_name: 'Club',
        from: { user_id: ada.id, ...serverName('Ada'), email },
        to: { user_id: bob.id, ...serverName('Bob'), email: null },
        state: 'pending',
        message: null,
        created_at: time(),
        expires_at: time(14 * DAY),
      })
      const theirs = { ...made, direction: 'received' as const }
      assert.deepEqual(await ada.account.invitations.list({}), { received: [], sent: [made] })
      assert.deepEqual(await bob.account.invitations.pending({}), {
        received: [theirs],
        sent: [],
      })
      await rejects('not_found', bob.account.connections.read({ id }))
      const { kind, state, members: all } = await ada.account.connections.read({ id })
      assert.deepEqual([kind, state], ['direct', 'pending'])
      assert.deepEqual(all[1], {
        id: bob.id,
        user_id: bob.id,
        ...serverName('Bob'),
        role: 'member',
        state: 'invited',
      })
    })

    test('an invitation to a mailbox is visible once an account confirms that mailbox', async () => {
      const id = await club()
      const address = newAddress()
      const made = await invite(ada, id, address.toUpperCase().replace('EXAMPLE', 'Example'))
      assert.deepEqual(made.to, {
        user_id: null,
        display_name: null,
        name_source: null,
        name_marks: [],
        email: address,
      })
      assert.deepEqual((await members(ada, id))[1], {
        id: made.id,
        user_id: null,
        ...serverName(address),
        role: 'member',
        state: 'invited',
      })
      const dora = await enrolByMail(server, address, 'Dora')
      const [theirs] = await received(dora, id)
      assert.deepEqual(theirs, { ...made, direction: 'received' })
      const answer = await approveInvitation(dora, { id: made.id })
      assert.equal(answer.state, 'approved')
      const [after] = await sent(ada, id)
      assert.deepEqual(after?.to, { user_id: dora.id, ...serverName('Dora'), email: address })
      const [, waiting] = await members(ada, id)
      assert.deepEqual([waiting?.user_id, waiting?.state], [dora.id, 'invited'])
    })

    test('the mail names the inviter and the next step, the same to a stranger and to an account', async () => {
      const id = await club()
      const email = await addressOf(ada)
      const texts = []
      for (const to of [newAddress(), await addressOf(carl)]) {
        await invite(ada, id, to)
        const { subject: about, text } = await arrived(server, to, /invites/)
        assert.doesNotMatch(about, /Ada|Club/)
        for (const part of ['"Ada"', email, '"Club"', 'https://countersign.test', '14 days'])
          assert.ok(text.includes(part), `${part} in ${text}`)
        texts.push(text)
      }
      assert.equal(texts[0], texts[1])
    })

    test('an invitation to an account is mailed to its first address, unless the account declines mails', async () => {
      const id = await club()
      const [at, quiet] = [newAddress(), newAddress()]
      await invite(ada, id, await enrolByMail(server, at))
      await arrived(server, at, /invites/)
      const person = await enrolByMail(server, quiet)
      const body = { email_notifications: false }
      await person.account.preferences.update({ body })
      await invite(ada, id, person)
      await invite(ada, id, quiet)
      const another = newAddress()
      await invite(ada, id, another)
      await arrived(server, another, /invites/)
      assert.deepEqual(await letters(quiet), [])
      assert.equal((await received(person, id)).length, 2)
    })

    test('the mail shows names from the inviter as one short line without a link', async () => {
      const name = `Bank http://evil.example/x "${'long '.repeat(12)}"`
      const eve = await enrol(server, name)
      const { id } = await connect(eve, 'me@evil.example, <b>call</b>\u00a0now')
      const address = newAddress()
      await invite(eve, id, address)
      const { text } = await arrived(server, address, /invites/)
      assert.doesNotMatch(text, /evil\.example|:\/\/evil|@evil|<b>/)
      for (const line of text.split('\n')) assert.ok(line.length <= 80, line)
    })

    test('inviting again renews the expiry and sends no second mail', async () => {
      const id = await club()
      const address = newAddress()
      const made = [await invite(ada, id, bob), await invite(ada, id, address)]
      await arrived(server, address, /invites/)
      later(HOUR)
      const renewed = made.map(({ expires_at, ...rest }) => ({
        ...rest,
        expires_at: new Date(Date.parse(expires_at) + HOUR).toISOString(),
      }))
      assert.deepEqual([await invite(ada, id, bob), await invite(ada, id, address)], renewed)
      assert.equal((await members(ada, id)).length, 3)
      assert.equal((await letters(address)).length, 1)
      // An account that approved is not asked again.
      const yes = await approveInvitation(bob, { id: made[0]!.id })
      assert.deepEqual(await invite(ada, id, bob), { ...yes, direction: 'sent' })
    })

    test('rejects the inviter, members, an account invited by another owner, and unknown accounts', async () => {
      const id = await club()
      await joinMember(ada, id, carl)
      await joinMember(ada, id, owner, 'owner')
      await invite(owner, id, bob)
      const cases: [string, Person | string, ErrorCode, string?][] = [
        ['oneself', ada, 'invalid_state', 'self'],
        ['the own mailbox', await addressOf(ada), 'invalid_state', 'self'],
        ['a member', carl, 'invalid_state', 'member'],
        ['invited by another', bob, 'invalid_state', 'invited'],
        ['unknown', { ...bob, id: newId('acc_', Date.now()) }, 'not_found'],
      ]
      for (const [, to, code, state] of cases) await rejects(code, invite(ada, id, to), { state })
      await rejects('forbidden', invite(carl, id, bob))
      await rejects('not_found', invite(bob, id, carl))
      await rejects('not_found', invite(ada, newId('con_', Date.now()), carl))
      assert.deepEqual(
        (await members(ada, id)).map(({ user_id, state }) => [user_id, state]),
        [
          ...[ada.id, carl.id, owner.id].sort().map((member) => [member, 'active']),
          [bob.id, 'invited'],
        ],
      )
      for (const name of ['', ' ', 'a\u0007b', 'a\u202eb', 'x'.repeat(201)])
        await rejects('validation_failed', connect(ada, name))
    })

    test('an invitation to a mailbox does not reveal whether that mailbox has an account', async () => {
      const id = await club()
      const [nobody, guest, member] = [newAddress(), await addressOf(carl), newAddress()]
      const dora = await enrolByMail(server, member, 'Dora')
      await invite(ada, id, carl)
      await joinMember(ada, id, dora)
      // The mail of the invitation that Dora approved is sent in the background.
      await arrived(server, member, /invites/)
      const mails = (await letters(member)).length
      const shown = []
      for (const address of [nobody, guest, member]) {
        const made = await invite(ada, id, address)
        assert.deepEqual(await invite(ada, id, address), made)
        const { id: _, to, ...rest } = made
        const listed = (await members(ada, id)).find((one) => one.display_name === address)
        const own = (await sent(ada, id)).find((one) => one.id === made.id)
        assert.deepEqual(own, made)
        assert.equal(listed?.id, made.id)
        const unnamed = { ...listed, id: '', display_name: '' }
        shown.push({ ...rest, to: { ...to, email: '' }, listed: unnamed })
      }
      assert.deepEqual(shown[1], shown[0])
      assert.deepEqual(shown[2], shown[0])
      // A member gets no invitation and no mail about it.
      await arrived(server, nobody, /invites/)
      assert.equal((await letters(member)).length, mails)
      assert.deepEqual((await dora.account.invitations.pending({})).received, [])
      assert.equal((await received(carl, id)).length, 2)
      // The answer to one invitation reveals nothing about the other.
      const [first] = (await received(carl, id)).filter(({ to }) => to.user_id !== null)
      await approveInvitation(carl, { id: first!.id })
      await make(ada, id, { op: 'add', member: carl.id })
      const other = (await sent(ada, id)).find(({ to }) => to.email === guest)
      assert.deepEqual([other?.state, other?.to.user_id], ['pending', null])
    })

    test('the mailbox of an approved invitation counts as the member’s', async () => {
      const id = await club()
      const address = await addressOf(carl)
      const made = await invite(ada, id, address)
      await approveInvitation(carl, { id: made.id })
      await make(ada, id, { op: 'add', member: carl.id })
      await rejects('invalid_state', invite(ada, id, address), { state: 'member' })
      await rejects('invalid_state', invite(ada, id, carl), { state: 'member' })
    })

    test('two owners can invite the same account, and each needs a consent of its own', async () => {
      const id = await club()
      await joinMember(ada, id, owner, 'owner')
      const address = await addressOf(carl)
      const made = await invite(ada, id, address)
      await approveInvitation(carl, { id: made.id })
      const again = [await invite(owner, id, carl), await invite(owner, id, address)]
      assert.deepEqual(
        again.map(({ state }) => state),
        ['pending', 'pending'],
      )
      // A mailbox without an answer is listed as a further member: no owner learns its account.
      assert.equal((await members(ada, id)).length, 4)
      const joins = async () =>
        (await owner.account.duties.read({})).joins
          .filter(({ connection }) => connection === id)
          .map(({ account, email }) => [account, email])
      assert.deepEqual(await joins(), [])
      for (const one of again) await approveInvitation(carl, one)
      assert.deepEqual(
        new Set(await joins()),
        new Set([
          [carl.id, null],
          [carl.id, address],
        ]),
      )
      await make(ada, id, { op: 'add', member: carl.id })
      assert.deepEqual((await owner.account.duties.read({})).joins, [])
    })

    test('a connection has 200 members at most, invited ones included', async () => {
      const eve = inside(await enrol(server))
      const wanted = Array.from({ length: 199 }, () => ({ email: newAddress() }))
      const body = { ...(await opening(eve)), invite: wanted }
      const { id, kind, members: all } = await eve.account.rosters.open({ body })
      assert.deepEqual([kind, all.length], ['group', 200])
      later(HOUR)
      await rejects('invalid_state', invite(eve, id, bob), { state: 'full' })
      await rejects('invalid_state', invite(eve, id, newAddress()), { state: 'full' })
      const [first] = await sent(eve, id)
      await eve.account.invitations.withdraw({ id: first!.id })
      await invite(eve, id, bob)
      await rejects('invalid_state', invite(eve, id, newAddress()), { state: 'full' })
      // An account that approved keeps its place.
      const [theirs] = await received(bob, id)
      await approveInvitation(bob, { id: theirs!.id })
      await rejects('invalid_state', invite(eve, id, newAddress()), { state: 'full' })
      // An expired invitation does not.
      later(14 * DAY)
      await invite(eve, id, newAddress())
    })

    test('an account invites 200 an hour at most, for all connections together', async () => {
      const eve = inside(await enrol(server))
      const eighty = Array.from({ length: 80 }, () => ({ email: newAddress() }))
      for (let i = 0; i < 2; i++) {
        const body = { ...(await opening(eve)), invite: eighty }
        const { id } = await eve.account.rosters.open({ body })
        await eve.account.connections.delete({ id })
      }
      later(HOUR / 2)
      const body = { ...(await opening(eve)), invite: eighty }
      const { headers } = await rejects('rate_limited', eve.account.rosters.open({ body }))
      assert.equal(headers['Retry-After'], '1800')
      // Nothing of the request was stored, so it may be repeated later.
      assert.deepEqual((await eve.account.connections.list({})).items, [])
      later(HOUR / 2)
      await eve.account.rosters.open({ body })
    })

    test('of many concurrent invitations only as many succeed as the limit allows', async () => {
      const eve = inside(await enrol(server))
      const wanted = Array.from({ length: 198 }, () => ({ email: newAddress() }))
      await eve.account.rosters.open({ body: { ...(await opening(eve)), invite: wanted } })
      const clubs = []
      for (let i = 0; i < 8; i++) clubs.push((await connect(eve)).id)
      const all = await Promise.allSettled(clubs.map((id) => invite(eve, id, newAddress())))
      const refused = all.filter((one) => one.status === 'rejected')
      assert.deepEqual(
        refused.map(({ reason }) => reason.code),
        Array(6).fill('rate_limited'),
      )
    })

    test('tagged addresses of one mailbox get ten mails an hour together at most', async () => {
      const [local, domain] = newAddress().split('@')
      const tagged = Array.from({ length: 12 }, (_, i) => `${local}+${i}@${domain}`)
      const id = await club()
      for (const address of tagged) await invite(ada, id, address)
      const last = newAddress()
      await invite(ada, id, last)
      await arrived(server, last, /invites/)
      const out = await Promise.all(tagged.map((address) => letters(address)))
      assert.equal(out.flat().length, 10)
    })

    test('one mailbox gets ten mails an hour at most', async () => {
      const address = newAddress()
      const clubs = []
      for (let i = 0; i < 12; i++) clubs.push(await club())
      for (const id of clubs) await invite(ada, id, address)
      const last = newAddress()
      await invite(ada, clubs[0]!, last)
      await until('ten letters', async () => (await letters(address)).length >= 10)
      await arrived(server, last, /invites/)
      assert.equal((await letters(address)).length, 10)
      const dora = await enrolByMail(server, address)
      assert.equal((await dora.account.invitations.pending({})).received.length, 12)
    })
  })
}
