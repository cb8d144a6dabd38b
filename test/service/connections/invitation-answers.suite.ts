/**
 * Answers to invitations at an account server: the state that follows each, and how long it
 * lasts. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { entryHash } from '../../../src/crypto/jose/jws.ts'
import { malformedConsents } from '../../crypto/malformed.ts'
import { approveInvitation, approved, consentBy, make, joinMember } from './connecting.ts'
import { DAY, invite, members, received, sent, type Clubs } from './connections-subject.ts'
import { isInvalid } from '../../account/subject.ts'
import { addressOf, enrolByMail, newAddress, type Person } from '../person.ts'
import { rejects } from '../../rejects.ts'
import { until } from '../../until.ts'

/** Approves, declines or withdraws an invitation as a person. */
const answerBy = (person: Person, verb: 'approve' | 'decline' | 'withdraw', id: string) =>
  verb === 'approve' ? approveInvitation(person, { id }) : person.account.invitations[verb]({ id })

export function invitationAnswersSuite(clubs: () => Clubs): void {
  let { server, hand, ada, bob, carl, owner, later, letters, club } = {} as Clubs
  before(() => {
    ;({ server, hand, ada, bob, carl, owner, later, letters, club } = clubs())
  })

  describe('answers to invitations', () => {
    /** Makes an invitation of Ada’s to Carl’s mailbox and brings it to a step. */
    async function invited(step: string) {
      const id = await club()
      const { id: invitation } = await invite(ada, id, await addressOf(carl))
      const steps: Record<string, () => Promise<unknown>> = {
        pending: async () => undefined,
        expired: async () => later(14 * DAY),
        approved: () => approveInvitation(carl, { id: invitation }),
        declined: () => carl.account.invitations.decline({ id: invitation }),
        withdrawn: () => ada.account.invitations.withdraw({ id: invitation }),
        'approved, a member': async () => {
          await approveInvitation(carl, { id: invitation })
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

    /**
     * The result of each answer: the state that follows, or the state that the rejection names.
     */
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
          const answer = () => answerBy(by, verb, invitation)
          const [, refusal] = /^409 (.*)/.exec(outcomes[i]!) ?? []
          const before = await sent(ada, id)
          if (refusal !== undefined) {
            await rejects('invalid_state', answer(), { state: refusal })
            assert.deepEqual(await sent(ada, id), before)
            continue
          }
          const result = await answer()
          assert.equal(result.state, outcomes[i])
          assert.equal(result.direction, verb === 'withdraw' ? 'sent' : 'received')
          // A repetition has the same result.
          assert.deepEqual(await answer(), result)
          const [sentByAda] = await sent(ada, id)
          assert.deepEqual({ ...sentByAda, direction: result.direction }, result)
        }
      })

    test('an approval needs a consent to this invitation, signed by the approving device', async () => {
      const { id, invitation } = await invited('pending')
      await rejects('no_device', carl.account.invitations.approve({ id: invitation }))
      const other = await club()
      const wrong = [
        await consentBy(carl, invitation, { connection: other }),
        await consentBy(carl, invitation, { inviter: bob.id }),
        await consentBy({ ...carl, keys: bob.keys }, invitation),
        await consentBy({ ...carl, device: bob.device }, invitation),
        ...malformedConsents(await consentBy(carl, invitation), carl.keys.sign.secret).map(
          ([, consent]) => consent,
        ),
      ]
      for (const consent of wrong)
        await rejects(
          'validation_failed',
          carl.account.consents.give({ body: { invitation, consent } }),
        )
      assert.deepEqual((await sent(ada, id))[0]?.state, 'pending')
      await approveInvitation(carl, { id: invitation })
      assert.deepEqual((await sent(ada, id))[0]?.state, 'approved')
    })

    /** Carl, invited by Ada, approves with a consent for this roster entry. */
    async function approvesFor(id: string, rosterHead: Uint8Array) {
      const { id: invitation } = await invite(ada, id, await addressOf(carl))
      const consent = await consentBy(carl, invitation, { rosterHead })
      return carl.account.consents.give({ body: { invitation, consent } })
    }
    const headsOf = async (id: string) =>
      (await ada.account.rosters.read({ connection: id })).entries.map(entryHash)

    test('an approval has to name an entry of the roster', async () => {
      const id = await club()
      const [opened] = await headsOf(id)
      const [elsewhere] = await headsOf(await club())
      for (const unknown of [elsewhere!, new Uint8Array(32)])
        await isInvalid('consent', 'consent_stale', approvesFor(id, unknown))
      assert.deepEqual((await sent(ada, id))[0]?.state, 'pending')
      await make(ada, id, { op: 'rotate' })
      assert.equal((await approvesFor(id, opened!)).state, 'approved')
    })

    for (const [what, go] of [
      ['was removed', (id: string) => make(ada, id, { op: 'remove', member: carl.id })],
      ['left', (id: string) => make(carl, id, { op: 'leave' })],
    ] as const)
      test(`an approval by an account that ${what} has to name that entry or a later one`, async () => {
        const id = await club()
        await joinMember(ada, id, carl)
        await go(id)
        const heads = await headsOf(id)
        for (const before of heads.slice(0, -1))
          await isInvalid('consent', 'consent_stale', approvesFor(id, before))
        if (what === 'left') await make(ada, id, { op: 'rotate' })
        assert.equal((await approvesFor(id, heads.at(-1)!)).state, 'approved')
      })

    test('only the invitee approves or declines, and only the inviter withdraws', async () => {
      const address = newAddress()
      const dora = await enrolByMail(server, address)
      const connection = await club()
      const { id } = await invite(ada, connection, address)
      for (const verb of ['approve', 'decline'] as const)
        for (const person of [ada, bob]) await rejects('not_found', answerBy(person, verb, id))
      for (const { account } of [bob, dora])
        await rejects('not_found', account.invitations.withdraw({ id }))
      for (const bad of ['x', newId('inv_', Date.now()), ada.id])
        for (const verb of ['approve', 'decline', 'withdraw'] as const)
          await rejects('not_found', answerBy(ada, verb, bad))
      assert.deepEqual(await received(bob, connection), [])
      // Another account that has the mailbox after the answer cannot approve it, either.
      await approveInvitation(dora, { id })
      await hand.db
        .updateTable('emails')
        .set({ account_id: bob.id })
        .where('address', '=', address)
        .execute()
      await rejects('not_found', approveInvitation(bob, { id }))
      assert.deepEqual(await received(bob, connection), [])
    })

    const waiting = async (id: string) =>
      (await ada.account.duties.read({})).joins.filter(({ connection }) => connection === id)

    test('an invitation to the mailbox of a member cannot be answered after the member is gone, until it is sent again', async () => {
      for (const change of ['remove', 'leave'] as const) {
        const id = await club()
        const address = await addressOf(carl)
        await joinMember(ada, id, carl)
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
          await rejects('invalid_state', answerBy(carl, verb, made.id), { state: 'withdrawn' })
        assert.deepEqual(await waiting(id), [])
        // The sender gets nothing that distinguishes this mailbox from any other.
        assert.deepEqual((await sent(ada, id))[0], made)
        const listed = await members(ada, id)
        assert.deepEqual(
          listed.map(({ user_id, display_name }) => user_id ?? display_name),
          [ada.id, address],
        )
        later(13 * DAY)
        const before = (await letters(address)).length
        const again = await invite(ada, id, address)
        assert.equal(again.id, made.id)
        assert.equal(Date.parse(again.expires_at) - Date.parse(made.expires_at), 13 * DAY)
        // The server sends a mail after the answer; for the first invitation it sent none.
        await until('another letter', async () => (await letters(address)).length > before)
        const [anew] = (await carl.account.invitations.pending({})).received
        assert.deepEqual(anew, { ...again, direction: 'received' })
        await approveInvitation(carl, made)
        await make(ada, id, { op: 'rotate' })
        await make(ada, id, { op: 'add', member: carl.id })
        assert.equal((await members(ada, id))[1]?.state, 'active')
      }
    })

    test('an approval that no owner acts on expires a day after the invitation', async () => {
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
        await rejects('invalid_state', answerBy(carl, verb, invitation), { state: 'expired' })
      await rejects('invalid_state', make(ada, id, { op: 'add', member: carl.id }), {
        state: 'not_approved',
      })
      const anew = await invite(ada, id, await addressOf(carl))
      assert.deepEqual([anew.state, anew.to.user_id], ['pending', null])
      await approveInvitation(carl, anew)
      await make(ada, id, { op: 'add', member: carl.id })
    })

    test('after the invitee declined or the inviter withdrew, the invitee cannot be added', async () => {
      for (const step of ['declined', 'withdrawn'] as const) {
        const { id, invitation } = await invited('approved')
        if (step === 'declined') await carl.account.invitations.decline({ id: invitation })
        else await ada.account.invitations.withdraw({ id: invitation })
        assert.deepEqual(await waiting(id), [])
        await rejects('invalid_state', make(ada, id, { op: 'add', member: carl.id }), {
          state: 'not_approved',
        })
        assert.equal((await members(ada, id)).length, 1)
        // Another invitation may be approved.
        await approved(ada, id, carl)
        await make(ada, id, { op: 'add', member: carl.id })
      }
    })

    test('invitations of an owner end when the owner loses that role', async () => {
      for (const change of ['remove', 'role', 'leave'] as const) {
        const id = await club()
        await joinMember(ada, id, owner, 'owner')
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
        await rejects(
          'invalid_state',
          approveInvitation(carl, { id: (await received(carl, id))[0]!.id }),
          { state: 'withdrawn' },
        )
        assert.deepEqual(await waiting(id), [])
        assert.equal(waits.state, 'approved')
      }
    })
  })
}
