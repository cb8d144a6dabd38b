/** Invitations and members of connections, as far as an account server knows them. For every engine. */
import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Details } from '../../src/errors.ts'
import { newId } from '../../src/crypto/id.ts'
import { approved, connected, make, takeIn } from './connecting.ts'
import { openServiceDatabase, type ServiceDatabase } from './database.ts'
import {
  addressOf,
  arrived,
  connect,
  enrol,
  enrolByMail,
  newAddress,
  opening,
  type Person,
  type Server,
} from './person.ts'
import { openSubject, type LocalSubject, type Place } from './subject.ts'

const DAY = 24 * 3_600_000
const HOUR = 3_600_000

interface Fault extends Error {
  readonly code?: unknown
  readonly details?: Details
  readonly headers?: Readonly<Record<string, string>>
}

/** Rejects with this code, and this state where one is given. */
export const fails = (code: string, promise: Promise<unknown>, state?: string) =>
  assert.rejects(promise, (error: Fault) => {
    assert.equal(error.code, code, error.message)
    assert.equal(error.details?.state, state)
    return true
  })

const invite = ({ account }: Person, id: string, to: Person | string) =>
  account.members.add({ id, body: typeof to === 'string' ? { email: to } : { user_id: to.id } })
const members = async ({ account }: Person, id: string) =>
  (await account.connections.read({ id })).members
const received = async ({ account }: Person, connection: string) =>
  (await account.invitations.list({})).received.filter((one) => one.connection_id === connection)
const sent = async ({ account }: Person, connection: string) =>
  (await account.invitations.list({})).sent.filter((one) => one.connection_id === connection)

export function connectionsSuite(
  name: string,
  { newPlace }: { newPlace: () => Promise<Place> },
): void {
  describe(`connections: ${name}`, () => {
    let subject: LocalSubject
    let server: Server
    let hand: ServiceDatabase
    /** Everybody is in many connections here. Ada has a mailbox, and so has Carl. */
    let [ada, bob, carl, owner] = [] as unknown as [Person, Person, Person, Person]
    before(async () => {
      const place = await newPlace()
      subject = await openSubject(place)
      server = subject.server
      hand = await openServiceDatabase(place)
      ada = inside(await enrolByMail(server, newAddress(), 'Ada'))
      bob = inside(await enrol(server, 'Bob'))
      carl = inside(await enrolByMail(server, newAddress(), 'Carl'))
      owner = inside(await enrol(server, 'Owner'))
    })
    after(async () => {
      await hand.close()
      await subject.close()
    })

    const later = (ms: number) => {
      subject.clock.ms += ms
    }
    const time = (ms = 0) => new Date(subject.clock.ms + ms).toISOString()
    const letters = async (address: string) =>
      (await server.letters(address)).filter(({ subject: about }) => /invitation/.test(about))
    /** A person whose session does not end with the clock. */
    const inside = (person: Person): Person => {
      const { session_id } = person.enrolment.session
      const who = { account: person.id, device: person.device, session: session_id, token: null }
      return { ...person, account: subject.service.as(who) }
    }
    /** A new connection of Ada's. */
    const club = async () => (await connect(ada, 'Club')).id

    describe('an invitation', () => {
      test('to an account is seen by both sides, and is no membership yet', async () => {
        const id = await club()
        const made = await invite(ada, id, bob)
        const email = (await ada.account.context.read({})).user.email
        assert.deepEqual(made, {
          id: made.id,
          direction: 'sent',
          connection_id: id,
          connection_name: 'Club',
          from: { user_id: ada.id, display_name: 'Ada', email },
          to: { user_id: bob.id, display_name: 'Bob', email: null },
          state: 'pending',
          created_at: time(),
          expires_at: time(14 * DAY),
        })
        const theirs = { ...made, direction: 'received' as const }
        assert.deepEqual(await ada.account.invitations.list({}), { received: [], sent: [made] })
        assert.deepEqual(await bob.account.invitations.pending({}), {
          received: [theirs],
          sent: [],
        })
        await fails('not_found', bob.account.connections.read({ id }))
        const { kind, state, members: all } = await ada.account.connections.read({ id })
        assert.deepEqual([kind, state], ['direct', 'pending'])
        assert.deepEqual(all[1], {
          user_id: bob.id,
          display_name: 'Bob',
          role: 'member',
          state: 'invited',
        })
      })

      test('to a mailbox waits for whoever proves it', async () => {
        const id = await club()
        const address = newAddress()
        const made = await invite(ada, id, address.toUpperCase().replace('EXAMPLE', 'Example'))
        assert.deepEqual(made.to, { user_id: null, display_name: null, email: address })
        assert.deepEqual((await members(ada, id))[1], {
          user_id: null,
          display_name: address,
          role: 'member',
          state: 'invited',
        })
        const dora = await enrolByMail(server, address, 'Dora')
        const [theirs] = await received(dora, id)
        assert.deepEqual(theirs, { ...made, direction: 'received' })
        const said = await dora.account.invitations.approve({ id: made.id })
        assert.equal(said.state, 'approved')
        const [told] = await sent(ada, id)
        assert.deepEqual(told?.to, { user_id: dora.id, display_name: 'Dora', email: address })
        const [, waiting] = await members(ada, id)
        assert.deepEqual([waiting?.user_id, waiting?.state], [dora.id, 'invited'])
      })

      test('a mail says who invites and what to do, the same to a stranger and to an account', async () => {
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

      test('by account, the mail goes to its first mailbox; none to whoever wants none', async () => {
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

      test('what the inviter wrote is one short line without a link', async () => {
        const name = `Bank http://evil.example/x "${'long '.repeat(12)}"`
        const eve = await enrol(server, name)
        const { id } = await connect(eve, 'me@evil.example, <b>call</b>\u00a0now')
        const address = newAddress()
        await invite(eve, id, address)
        const { text } = await arrived(server, address, /invites/)
        assert.doesNotMatch(text, /evil\.example|:\/\/evil|@evil|<b>/)
        for (const line of text.split('\n')) assert.ok(line.length <= 80, line)
      })

      test('again is as once, and sends no second mail', async () => {
        const id = await club()
        const address = newAddress()
        const made = [await invite(ada, id, bob), await invite(ada, id, address)]
        await arrived(server, address, /invites/)
        later(HOUR)
        assert.deepEqual([await invite(ada, id, bob), await invite(ada, id, address)], made)
        assert.equal((await members(ada, id)).length, 3)
        assert.equal((await letters(address)).length, 1)
        // Whoever said yes is not asked again.
        const yes = await bob.account.invitations.approve({ id: made[0]!.id })
        assert.deepEqual(await invite(ada, id, bob), { ...yes, direction: 'sent' })
      })

      test('whom nobody may invite', async () => {
        const id = await club()
        await takeIn(ada, id, carl)
        await takeIn(ada, id, owner, 'owner')
        await invite(owner, id, bob)
        const cases: [string, Person | string, string, string | undefined][] = [
          ['oneself', ada, 'invalid_state', 'self'],
          ['the own mailbox', await addressOf(ada), 'invalid_state', 'self'],
          ['a member', carl, 'invalid_state', 'member'],
          ['whom another owner awaits', bob, 'invalid_state', 'invited'],
          ['nobody', { ...bob, id: newId('acc_', Date.now()) }, 'not_found', undefined],
        ]
        for (const [, to, code, state] of cases) await fails(code, invite(ada, id, to), state)
        await fails('forbidden', invite(carl, id, bob))
        await fails('not_found', invite(bob, id, carl))
        await fails('not_found', invite(ada, newId('con_', Date.now()), carl))
        assert.deepEqual(
          (await members(ada, id)).map(({ user_id, state }) => [user_id, state]),
          [...[ada, carl, owner].map((one) => [one.id, 'active']), [bob.id, 'invited']],
        )
        for (const name of ['', ' ', 'a\u0007b', 'a\u202eb', 'x'.repeat(201)])
          await fails('validation_failed', connect(ada, name))
      })

      test('a mailbox does not tell whether it has an account', async () => {
        const id = await club()
        const [nobody, guest, member] = [newAddress(), await addressOf(carl), newAddress()]
        const dora = await enrolByMail(server, member, 'Dora')
        await invite(ada, id, carl)
        await takeIn(ada, id, dora)
        // The invitation by which she came is mailed while nobody waits.
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
          shown.push({ ...rest, to: { ...to, email: '' }, listed: { ...listed, display_name: '' } })
        }
        assert.deepEqual(shown[1], shown[0])
        assert.deepEqual(shown[2], shown[0])
        // Whoever is a member already is not asked, and gets no mail about it.
        await arrived(server, nobody, /invites/)
        assert.equal((await letters(member)).length, mails)
        assert.deepEqual((await dora.account.invitations.pending({})).received, [])
        assert.equal((await received(carl, id)).length, 2)
        // What one person answers to the one says nothing about the other.
        const [first] = (await received(carl, id)).filter(({ to }) => to.user_id !== null)
        await carl.account.invitations.approve({ id: first!.id })
        await make(ada, id, { op: 'add', member: carl.id })
        const other = (await sent(ada, id)).find(({ to }) => to.email === guest)
        assert.deepEqual([other?.state, other?.to.user_id], ['pending', null])
      })

      test('a mailbox by which somebody came is known as that member’s', async () => {
        const id = await club()
        const address = await addressOf(carl)
        const made = await invite(ada, id, address)
        await carl.account.invitations.approve({ id: made.id })
        await make(ada, id, { op: 'add', member: carl.id })
        await fails('invalid_state', invite(ada, id, address), 'member')
        await fails('invalid_state', invite(ada, id, carl), 'member')
      })

      test('another owner asks whoever said yes already: no second answer is needed', async () => {
        const id = await club()
        await takeIn(ada, id, owner, 'owner')
        const address = await addressOf(carl)
        const made = await invite(ada, id, address)
        await carl.account.invitations.approve({ id: made.id })
        const again = [await invite(owner, id, carl), await invite(owner, id, address)]
        for (const { state, to } of again)
          assert.deepEqual([state, to.user_id], ['approved', carl.id])
        assert.equal((await members(ada, id)).length, 3)
        // Each owner's devices know whom they asked.
        const { joins } = await owner.account.duties.read({})
        assert.deepEqual(
          new Set(
            joins.map(({ connection, account, email }) => `${connection} ${account} ${email}`),
          ),
          new Set([`${id} ${carl.id} ${address}`, `${id} ${carl.id} null`]),
        )
        assert.equal(joins.length, 2)
        await make(ada, id, { op: 'add', member: carl.id })
        assert.deepEqual((await owner.account.duties.read({})).joins, [])
      })

      test('two hundred, invited ones included, and no more', async () => {
        const eve = inside(await enrol(server))
        const wanted = Array.from({ length: 199 }, () => ({ email: newAddress() }))
        const body = { ...(await opening(eve)), invite: wanted }
        const { id, kind, members: all } = await eve.account.rosters.open({ body })
        assert.deepEqual([kind, all.length], ['group', 200])
        later(HOUR)
        await fails('invalid_state', invite(eve, id, bob), 'full')
        await fails('invalid_state', invite(eve, id, newAddress()), 'full')
        const [first] = await sent(eve, id)
        await eve.account.invitations.withdraw({ id: first!.id })
        await invite(eve, id, bob)
        await fails('invalid_state', invite(eve, id, newAddress()), 'full')
        // Whoever said yes keeps the place.
        const [theirs] = await received(bob, id)
        await bob.account.invitations.approve({ id: theirs!.id })
        await fails('invalid_state', invite(eve, id, newAddress()), 'full')
        // What ran out does not.
        later(14 * DAY)
        await invite(eve, id, newAddress())
      })

      test('two hundred an hour, however many connections they were for', async () => {
        const eve = inside(await enrol(server))
        const eighty = Array.from({ length: 80 }, () => ({ email: newAddress() }))
        for (let i = 0; i < 2; i++) {
          const body = { ...(await opening(eve)), invite: eighty }
          const { id } = await eve.account.rosters.open({ body })
          await eve.account.connections.delete({ id })
        }
        later(HOUR / 2)
        const body = { ...(await opening(eve)), invite: eighty }
        await assert.rejects(eve.account.rosters.open({ body }), (error: Fault) => {
          assert.equal(error.code, 'rate_limited')
          assert.equal(error.headers?.['Retry-After'], '1800')
          return true
        })
        // Nothing of it was kept, so the same may be asked later.
        assert.deepEqual((await eve.account.connections.list({})).items, [])
        later(HOUR / 2)
        await eve.account.rosters.open({ body })
      })

      test('of many at the same moment as many as are left', async () => {
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

      test('one mailbox gets no more than ten mails an hour', async () => {
        const address = newAddress()
        const clubs = []
        for (let i = 0; i < 12; i++) clubs.push(await club())
        for (const id of clubs) await invite(ada, id, address)
        const last = newAddress()
        await invite(ada, clubs[0]!, last)
        while ((await letters(address)).length < 10) await setImmediate()
        await arrived(server, last, /invites/)
        assert.equal((await letters(address)).length, 10)
        const dora = await enrolByMail(server, address)
        assert.equal((await dora.account.invitations.pending({})).received.length, 12)
      })
    })

    describe('an answer', () => {
      /** An invitation of Ada's to Bob, as far as it has come. */
      async function invited(step: string) {
        const id = await club()
        const { id: invitation } = await invite(ada, id, await addressOf(carl))
        const steps: Record<string, () => Promise<unknown>> = {
          pending: async () => undefined,
          expired: async () => later(14 * DAY),
          approved: () => carl.account.invitations.approve({ id: invitation }),
          declined: () => carl.account.invitations.decline({ id: invitation }),
          withdrawn: () => ada.account.invitations.withdraw({ id: invitation }),
          'approved, a member': async () => {
            await carl.account.invitations.approve({ id: invitation })
            await make(ada, id, { op: 'add', member: carl.id })
          },
          'approved, removed': async () => {
            await steps['approved, a member']!()
            await make(ada, id, { op: 'remove', member: carl.id })
          },
          'approved, left': async () => {
            await steps['approved, a member']!()
            await make(carl, id, { op: 'leave' })
          },
        }
        await steps[step]!()
        return { id, invitation }
      }

      /** What comes of each answer: the state that follows, or that the refusal tells. */
      const cases: [step: string, approve: string, decline: string, withdraw: string][] = [
        ['pending', 'approved', 'declined', 'withdrawn'],
        ['expired', '409 expired', '409 expired', '409 expired'],
        ['approved', 'approved', 'declined', 'withdrawn'],
        ['declined', '409 declined', 'declined', '409 declined'],
        ['withdrawn', '409 withdrawn', '409 withdrawn', 'withdrawn'],
        ['approved, a member', 'approved', '409 approved', '409 approved'],
        ['approved, removed', '409 approved', 'declined', 'withdrawn'],
        ['approved, left', '409 approved', 'declined', 'withdrawn'],
      ]
      for (const [step, ...outcomes] of cases)
        test(`to one that is ${step}`, async () => {
          for (const [i, verb] of (['approve', 'decline', 'withdraw'] as const).entries()) {
            const { id, invitation } = await invited(step)
            const by = verb === 'withdraw' ? ada : carl
            const answer = () => by.account.invitations[verb]({ id: invitation })
            const [, refusal] = /^409 (.*)/.exec(outcomes[i]!) ?? []
            const before = await sent(ada, id)
            if (refusal !== undefined) {
              await fails('invalid_state', answer(), refusal)
              assert.deepEqual(await sent(ada, id), before)
              continue
            }
            const said = await answer()
            assert.equal(said.state, outcomes[i])
            assert.equal(said.direction, verb === 'withdraw' ? 'sent' : 'received')
            // Again is as once.
            assert.deepEqual(await answer(), said)
            const [told] = await sent(ada, id)
            assert.deepEqual({ ...told, direction: said.direction }, said)
          }
        })

      test('only of whom it is for, or from', async () => {
        const address = newAddress()
        const dora = await enrolByMail(server, address)
        const connection = await club()
        const { id } = await invite(ada, connection, address)
        for (const verb of ['approve', 'decline'] as const)
          for (const { account } of [ada, bob])
            await fails('not_found', account.invitations[verb]({ id }))
        for (const { account } of [bob, dora])
          await fails('not_found', account.invitations.withdraw({ id }))
        for (const bad of ['x', newId('inv_', Date.now()), ada.id])
          for (const verb of ['approve', 'decline', 'withdraw'] as const)
            await fails('not_found', ada.account.invitations[verb]({ id: bad }))
        assert.deepEqual(await received(bob, connection), [])
        // Nor of another who has the mailbox once it is answered.
        await dora.account.invitations.approve({ id })
        await hand.db
          .updateTable('emails')
          .set({ account_id: bob.id })
          .where('address', '=', address)
          .execute()
        await fails('not_found', bob.account.invitations.approve({ id }))
        assert.deepEqual(await received(bob, connection), [])
      })

      const waiting = async (id: string) =>
        (await ada.account.duties.read({})).joins.filter(({ connection }) => connection === id)

      test('to one that came to the mailbox of a member: none once that one went, until it is sent again', async () => {
        for (const change of ['remove', 'leave'] as const) {
          const id = await club()
          const address = await addressOf(carl)
          await takeIn(ada, id, carl)
          const made = await invite(ada, id, address)
          await (change === 'leave'
            ? make(carl, id, { op: 'leave' })
            : make(ada, id, { op: 'remove', member: carl.id }))
          for (const list of ['list', 'pending'] as const) {
            const { received: all } = await carl.account.invitations[list]({})
            assert.deepEqual(
              all.filter(({ state, connection_id }) => state === 'pending' && connection_id === id),
              [],
            )
          }
          for (const verb of ['approve', 'decline'] as const)
            await fails('invalid_state', carl.account.invitations[verb](made), 'withdrawn')
          assert.deepEqual(await waiting(id), [])
          // It might be anybody's mailbox, for all that the sender is told.
          assert.deepEqual((await sent(ada, id))[0], made)
          const listed = await members(ada, id)
          assert.deepEqual(
            listed.map(({ user_id, display_name }) => user_id ?? display_name),
            [ada.id, address],
          )
          assert.deepEqual(await invite(ada, id, address), made)
          const [anew] = (await carl.account.invitations.pending({})).received
          assert.deepEqual(anew, { ...made, direction: 'received' })
          await carl.account.invitations.approve(made)
          await make(ada, id, { op: 'rotate' })
          await make(ada, id, { op: 'add', member: carl.id })
          assert.equal((await members(ada, id))[1]?.state, 'active')
        }
      })

      test('an approval ends too, where nobody takes in whoever gave it: a day after the invitation', async () => {
        const { id, invitation } = await invited('approved')
        later(15 * DAY - 1)
        const state = async () => (await sent(ada, id))[0]?.state
        assert.equal(await state(), 'approved')
        assert.equal((await members(ada, id)).length, 2)
        assert.equal((await waiting(id)).length, 1)
        later(1)
        assert.equal(await state(), 'expired')
        assert.deepEqual((await received(carl, id))[0]?.state, 'expired')
        assert.equal((await members(ada, id)).length, 1)
        assert.deepEqual(await waiting(id), [])
        for (const verb of ['approve', 'decline'] as const)
          await fails(
            'invalid_state',
            carl.account.invitations[verb]({ id: invitation }),
            'expired',
          )
        await fails('invalid_state', make(ada, id, { op: 'add', member: carl.id }), 'not_approved')
        const anew = await invite(ada, id, await addressOf(carl))
        assert.deepEqual([anew.state, anew.to.user_id], ['pending', null])
        await carl.account.invitations.approve(anew)
        await make(ada, id, { op: 'add', member: carl.id })
      })

      test('once declined or withdrawn, nobody is taken in', async () => {
        for (const step of ['declined', 'withdrawn'] as const) {
          const { id, invitation } = await invited('approved')
          if (step === 'declined') await carl.account.invitations.decline({ id: invitation })
          else await ada.account.invitations.withdraw({ id: invitation })
          assert.deepEqual(await waiting(id), [])
          await fails(
            'invalid_state',
            make(ada, id, { op: 'add', member: carl.id }),
            'not_approved',
          )
          assert.equal((await members(ada, id)).length, 1)
          // Another invitation may be approved.
          await approved(ada, id, carl)
          await make(ada, id, { op: 'add', member: carl.id })
        }
      })

      test('what an owner asked is asked no more once they are none', async () => {
        for (const change of ['remove', 'role', 'leave'] as const) {
          const id = await club()
          await takeIn(ada, id, owner, 'owner')
          const waits = await approved(owner, id, bob)
          await invite(owner, id, carl)
          await make(
            change === 'leave' ? owner : ada,
            id,
            change === 'leave'
              ? { op: 'leave' }
              : change === 'remove'
                ? { op: 'remove', member: owner.id }
                : { op: 'role', member: owner.id, role: 'member' },
          )
          assert.deepEqual(
            (await sent(owner, id)).map(({ state }) => state),
            ['withdrawn', 'withdrawn'],
          )
          await fails(
            'invalid_state',
            carl.account.invitations.approve({ id: (await received(carl, id))[0]!.id }),
            'withdrawn',
          )
          assert.deepEqual(await waiting(id), [])
          assert.equal(waits.state, 'approved')
        }
      })
    })

    describe('members', () => {
      test('whoever is only invited is removed without a key, by any owner', async () => {
        const id = await club()
        await takeIn(ada, id, owner, 'owner')
        for (const answer of [false, true]) {
          const { id: invitation } = await invite(ada, id, bob)
          if (answer) await bob.account.invitations.approve({ id: invitation })
          await owner.account.members.remove({ id, mid: bob.id })
          assert.deepEqual((await received(bob, id))[0]?.state, 'withdrawn')
          assert.equal((await members(ada, id)).length, 2)
          await fails('not_found', owner.account.members.remove({ id, mid: bob.id }))
        }
      })

      test('whoever is in it takes a device, and an owner', async () => {
        const id = await club()
        await takeIn(ada, id, carl)
        await fails('no_device', ada.account.members.remove({ id, mid: carl.id }))
        for (const person of [ada, carl])
          await fails('no_device', person.account.members.remove({ id, mid: person.id }))
        await fails('forbidden', carl.account.members.remove({ id, mid: ada.id }))
        await fails('not_found', bob.account.members.remove({ id, mid: ada.id }))
        for (const mid of ['x', bob.id, newId('acc_', Date.now())])
          await fails('not_found', ada.account.members.remove({ id, mid }))
      })

      test('a mailbox is no way to find out whose it is', async () => {
        const id = await club()
        await invite(ada, id, await addressOf(carl))
        await fails('not_found', ada.account.members.remove({ id, mid: carl.id }))
      })
    })

    describe('connections', () => {
      test('two are direct, with the name of the inviter; more are a group, with its name', async () => {
        const id = await club()
        await takeIn(ada, id, bob)
        const theirs = await bob.account.connections.read({ id })
        assert.deepEqual([theirs.name, theirs.kind, theirs.state], ['Ada', 'direct', 'active'])
        assert.deepEqual(
          theirs.members.map(({ user_id, role, state }) => [user_id, role, state]),
          [
            [ada.id, 'owner', 'active'],
            [bob.id, 'member', 'active'],
          ],
        )
        await invite(ada, id, carl)
        assert.equal((await bob.account.connections.read({ id })).kind, 'group')
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
        assert.equal((await carl.account.connections.read({ id })).name, 'Club')
        await bob.account.connections.update({ id, body: { name: 'Chess' } })
        assert.equal((await ada.account.connections.read({ id })).name, 'Club')
      })

      test('whoever is alone ends it, with every invitation', async () => {
        const id = await club()
        await invite(ada, id, bob)
        await invite(ada, id, newAddress())
        await fails('not_found', bob.account.connections.delete({ id }))
        await ada.account.connections.delete({ id })
        assert.deepEqual([await sent(ada, id), await received(bob, id)], [[], []])
        const tables = ['invitations', 'roster_entries', 'envelopes', 'memberships'] as const
        for (const table of tables)
          assert.deepEqual(
            await hand.db.selectFrom(table).selectAll().where('connection_id', '=', id).execute(),
            [],
          )
        await fails('not_found', ada.account.connections.delete({ id }))
      })

      test('nobody ends it for others', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob'])
        for (const { account } of people)
          await fails('no_device', account.connections.delete({ id }))
      })

      test('opened with invitations: again is as once, and one that is wrong keeps it all away', async () => {
        const eve = await enrol(server, 'Eve')
        const email = newAddress()
        const body = {
          ...(await opening(eve)),
          invite: [{ user_id: bob.id }, { email }, { user_id: bob.id }],
        }
        const made = await eve.account.rosters.open({ body })
        assert.deepEqual(
          made.members.map(({ user_id, state }) => [user_id, state]),
          [
            [eve.id, 'active'],
            [bob.id, 'invited'],
            [null, 'invited'],
          ],
        )
        assert.deepEqual(await eve.account.rosters.open({ body }), made)
        await arrived(server, email, /invites/)
        assert.equal((await letters(email)).length, 1)
        const bad = {
          ...(await opening(eve)),
          invite: [{ email: newAddress() }, { user_id: eve.id }],
        }
        await fails('invalid_state', eve.account.rosters.open({ body: bad }), 'self')
        assert.equal((await eve.account.connections.list({})).items.length, 1)
        assert.equal((await eve.account.invitations.list({})).sent.length, 2)
        assert.deepEqual(await letters(bad.invite[0]!.email!), [])
      })

      test('a stranger, and who was removed or left, finds nothing', async () => {
        const { id, people } = await connected(server, ['Ada', 'Bob', 'Carl'])
        const [ada, bob, carl] = people
        const eve = await enrol(server)
        await make(bob, id, { op: 'leave' })
        await make(ada, id, { op: 'remove', member: carl.id })
        const calls: ((of: Account) => Promise<unknown>)[] = [
          (of) => of.connections.read({ id }),
          (of) => of.connections.update({ id, body: { name: 'x' } }),
          (of) => of.connections.favorite({ id, body: {} }),
          (of) => of.connections.delete({ id }),
          (of) => of.members.add({ id, body: { user_id: ada.id } }),
          (of) => of.members.remove({ id, mid: ada.id }),
          (of) => of.rosters.read({ connection: id }),
          (of) => of.envelopes.read({ connection: id }),
        ]
        for (const person of [bob, carl, eve]) {
          for (const call of calls) await fails('not_found', call(person.account))
          const { items } = await person.account.connections.list({})
          assert.deepEqual(items, [])
          const duties = await person.account.duties.read({})
          assert.deepEqual(duties, { joins: [], unsealed: [] })
        }
      })
    })
  })
}
