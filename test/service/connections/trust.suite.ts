/** Trust cards: the people that an account follows, for every engine. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { every } from '../../../src/api/cursor.ts'
import type { VerificationEntry } from '../../../src/api/rest/verify.ts'
import type { KeyPair } from '../../../src/crypto/device-keys.ts'
import { formatId, newId } from '../../../src/crypto/encoding/id.ts'
import { AppError } from '../../../src/errors.ts'
import { actingAccount } from '../../../src/service/calls.ts'
import { newAct } from '../../../src/storage/idempotency.ts'
import {
  approve,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
  type Person,
  protect,
  resetOf,
} from '../person.ts'
import { openSubject, type LocalSubject } from '../subject.ts'
import type { Engine } from '../engines.ts'
import { rejects } from '../../rejects.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Checks that a call is rejected with this code and these details; returns the error. */
/** Returns an id of that time in Unix milliseconds, independent of the ids made before. */
function idAt(at: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(at, 0, 6)
  return formatId('ver_', bytes)
}

/** Returns an entry of the verification log in which these people were verified. */
const verification = (
  at: number,
  members: readonly string[],
  more: Partial<VerificationEntry> = {},
) => ({
  id: idAt(at),
  at: new Date(at).toISOString(),
  method: 'local' as const,
  outcome: 'verified' as const,
  matches: members.map((member_id) => ({
    kind: 'connection' as const,
    speaker: 'other' as const,
    connection_name: 'Bank',
    member_id,
    display_name: 'Bob',
    window: 1,
  })),
  caller: null,
  ...more,
})

export function trustSuite(name: string, { newPlace }: Engine): void {
  describe(`trust cards: ${name}`, () => {
    let subject: LocalSubject
    let ada: Person
    before(async () => {
      subject = await openSubject(await newPlace())
    })
    after(() => subject.close())

    /**
     * Returns the same person with a session that does not end when the test advances the clock.
     */
    function lasting(person: Person): Person {
      const { id: account, device, enrolment } = person
      const session = { account, device, session: enrolment.session.session_id, token: null }
      return { ...person, account: subject.service.as(session) }
    }
    const newPerson = async (called: string) => lasting(await enrol(subject.server, called))

    /** Enrols Ada, a person with a mailbox, and others without one. */
    async function people(...names: string[]) {
      ada = await newPerson('Ada')
      const address = newAddress()
      const bob = lasting(await enrolByMail(subject.server, address, 'Bob'))
      const others: Person[] = []
      for (const other of names) others.push(await newPerson(other))
      return { bob, address, others }
    }
    const follow = (who: Person, user_id: string, note?: string) =>
      who.account.trustCards.create({ body: { user_id, ...(note === undefined ? {} : { note }) } })
    const byMail = (who: Person, email: string) =>
      who.account.trustCards.create({ body: { email } })
    const listed = async ({ account }: Person) =>
      every((query) => account.trustCards.list({ ...query, limit: 2 }))
    const card = async (who: Person, id: string) =>
      (await listed(who)).find(({ user_id }) => user_id === id) ?? assert.fail('not followed')
    const events = async ({ account }: Person, id: string) =>
      (await every((query) => account.trustCards.history({ id, ...query, limit: 2 }))).map(
        ({ event }) => event,
      )

    test('an account is followed by its id or by its mailbox in any letter case', async () => {
      const { bob, address, others } = await people('Carol')
      const [carol] = others as [Person]
      const created_at = new Date(subject.clock.ms).toISOString()
      const expected = {
        user_id: bob.id,
        display_name: 'Bob',
        own_name: null,
        name_source: 'server',
        name_marks: [],
        name_changed: false,
        note: null,
        key_status: 'unchanged',
        recovered_at: null,
        recovery_key_unused: false,
        safety_number: null,
        last_verified_at: null,
        created_at,
      }
      assert.deepEqual(await byMail(ada, address.toUpperCase()), expected)
      const noted = await follow(ada, carol.id, 'from school')
      assert.deepEqual([noted.user_id, noted.note], [carol.id, 'from school'])
      assert.deepEqual(await card(ada, bob.id), expected)
      assert.deepEqual(await listed(bob), [])
    })

    test('an unknown account, the own account and a followed account are rejected', async () => {
      const { bob, address } = await people()
      const own = newAddress()
      const eve = await enrolByMail(subject.server, own, 'Eve')
      await rejects('not_found', follow(ada, newId('acc_', 1)))
      await rejects('not_found', byMail(ada, newAddress()))
      await rejects('invalid_state', follow(ada, ada.id), { state: 'self' })
      await rejects('invalid_state', byMail(eve, own), { state: 'self' })
      await follow(ada, bob.id)
      await rejects('invalid_state', follow(ada, bob.id), { state: 'followed' })
      await rejects('invalid_state', byMail(ada, address), { state: 'followed' })
      assert.equal((await listed(ada)).length, 1)
    })

    test('looks up thirty mailboxes an hour, found or not', async () => {
      const { bob, address } = await people()
      const at = subject.clock.ms
      await byMail(ada, address)
      const asked = await Promise.allSettled(
        Array.from({ length: 40 }, () => byMail(ada, newAddress())),
      )
      const codes = asked.map((one) => (one as { reason: AppError }).reason.code)
      assert.equal(codes.filter((code) => code === 'not_found').length, 29)
      assert.equal(codes.filter((code) => code === 'rate_limited').length, 11)
      subject.clock.ms += 10 * MINUTE
      const { headers } = await rejects('rate_limited', byMail(ada, address))
      assert.deepEqual(headers, { 'Retry-After': String(50 * 60) })
      // Following by account reveals no mailbox, and other accounts have attempts of their own.
      await rejects('not_found', follow(ada, newId('acc_', 1)))
      assert.equal((await byMail(await enrol(subject.server), address)).user_id, bob.id)
      subject.clock.ms = at + HOUR
      await rejects('not_found', byMail(ada, newAddress()))
    })

    test('attempts with an operation id count towards the limit', async () => {
      await people()
      const { id: account, device, enrolment } = ada
      const session = { account, device, session: enrolment.session.session_id, token: null }
      const acting = () => actingAccount(subject.service, session).acting(newAct(1)).trustCards
      for (let i = 0; i < 30; i++)
        await rejects('not_found', acting().create({ body: { email: newAddress() } }))
      await rejects('rate_limited', acting().create({ body: { email: newAddress() } }))
    })

    test('the list is ordered by the time of following, newest first, in pages', async () => {
      const { others } = await people('a', 'b', 'c', 'd', 'e')
      const ids = others.map(({ id }) => id)
      await follow(ada, ids[0] as string)
      subject.clock.ms += 1
      // At the same moment: these are sorted by account.
      for (const id of ids.slice(1, 4)) await follow(ada, id)
      subject.clock.ms += 1
      await follow(ada, ids[4] as string)
      const expected = [ids[4], ...ids.slice(1, 4).toSorted().reverse(), ids[0]]
      assert.deepEqual(
        (await listed(ada)).map(({ user_id }) => user_id),
        expected,
      )
      const { items, next_cursor } = await ada.account.trustCards.list({ limit: 5 })
      assert.deepEqual([items.length, next_cursor], [5, null])
      for (const cursor of ['x', 'MQ', Buffer.from(`1 ${ids[0]} x`).toString('base64url')])
        await rejects('bad_request', ada.account.trustCards.list({ cursor }))
    })

    test('the newest entries of the key logs of followed accounts are listed, in pages', async () => {
      const { bob, address, others } = await people('a', 'b', 'not followed')
      const reader = await newPerson('reader')
      const followed = [bob, ...others.slice(0, 2)]
      for (const { id } of followed) await follow(reader, id)
      await approve(bob, await join(subject.server, await mailedCode(subject.server, address)))
      const heads = await every((query) =>
        reader.account.followedKeyLogs.list({ ...query, limit: 2 }),
      )
      const expected = await Promise.all(
        followed.map(async ({ id }) => {
          const { entries, seq } = await reader.account.keyLogs.read({ account: id })
          const head = createHash('sha256').update(entries.at(-1) as string)
          return { account: id, seq, head: head.digest('base64url'), profile: null }
        }),
      )
      assert.deepEqual(
        heads,
        expected.toSorted((a, b) => (a.account > b.account ? -1 : 1)),
      )
      assert.deepEqual(
        heads.map(({ account, seq }) => [account, seq > 0]).filter(([, isLonger]) => isLonger),
        [[bob.id, true]],
      )
      await rejects('bad_request', reader.account.followedKeyLogs.list({ cursor: 'MQ' }))
    })

    test('a changed note or confirmation adds an event, an unchanged one does not', async () => {
      const { bob, others } = await people('Carol')
      const [carol] = others as [Person]
      await follow(ada, bob.id, 'a note')
      const update = (body: object) => ada.account.trustCards.update({ id: bob.id, body })
      for (const [body, note, key_status, more] of [
        [{}, 'a note', 'unchanged', []],
        [{ note: 'a note' }, 'a note', 'unchanged', []],
        [{ note: 'another' }, 'another', 'unchanged', ['note_changed']],
        [{ confirmed: true }, 'another', 'confirmed', ['confirmed']],
        [{ confirmed: true }, 'another', 'confirmed', []],
        [{ note: null }, null, 'confirmed', ['note_changed']],
      ] as const) {
        subject.clock.ms += 1
        const known = await events(ada, bob.id)
        const changed = await update(body)
        assert.deepEqual([changed.note, changed.key_status], [note, key_status])
        assert.deepEqual(await card(ada, bob.id), changed)
        assert.deepEqual(await events(ada, bob.id), [...more, ...known])
      }
      await rejects('not_found', carol.account.trustCards.update({ id: bob.id, body: {} }))
      await rejects('not_found', ada.account.trustCards.update({ id: 'acc_x', body: {} }))
      await rejects('validation_failed', update({ confirmed: false }))
      await rejects('validation_failed', update({ note: 'x'.repeat(2001) }))
    })

    test('repeated changes of a note are one event, the last', async () => {
      const { bob, others } = await people('Carol')
      const [carol] = others as [Person]
      const { clock } = subject
      const at = clock.ms
      const note = async (who: Person, text: string) => {
        clock.ms += 1
        await who.account.trustCards.update({ id: bob.id, body: { note: text } })
      }
      for (const who of [ada, carol]) {
        await follow(who, bob.id)
        for (const text of ['a', 'b', 'c']) await note(who, text)
      }
      const { items } = await ada.account.trustCards.history({ id: bob.id })
      assert.deepEqual(
        items.map(({ event, at: when }) => [event, Date.parse(when) - at]),
        [
          ['note_changed', 3],
          ['followed', 0],
        ],
      )
      await Promise.all(['d', 'e', 'f'].map((text) => note(ada, text)))
      assert.deepEqual(await events(ada, bob.id), ['note_changed', 'followed'])
      await ada.account.trustCards.update({ id: bob.id, body: { confirmed: true, note: 'g' } })
      await note(ada, 'h')
      assert.deepEqual(await events(ada, bob.id), [
        'note_changed',
        'confirmed',
        'note_changed',
        'followed',
      ])
      assert.deepEqual(await events(carol, bob.id), ['note_changed', 'followed'])
    })

    test('an account that lost all devices has changed keys until confirmed; a further device changes nothing', async () => {
      const { bob, address } = await people()
      const { server, clock } = subject
      await follow(ada, bob.id)
      clock.ms += MINUTE
      const statuses: string[] = []
      const statusNow = async () => statuses.push((await card(ada, bob.id)).key_status)
      const confirm = () => ada.account.trustCards.update({ id: bob.id, body: { confirmed: true } })
      await approve(bob, await join(server, await mailedCode(server, address)))
      await statusNow()
      const lost = async () => {
        clock.ms += MINUTE
        await resetOf(server, bob.id, await mailedCode(server, address))
        await statusNow()
      }
      await lost()
      clock.ms += MINUTE
      assert.equal((await confirm()).key_status, 'confirmed')
      await statusNow()
      await lost()
      assert.deepEqual(statuses, [
        'unchanged',
        'changed_unverified',
        'confirmed',
        'changed_unverified',
      ])
      assert.equal((await ada.account.trust.metrics({})).keys_changed_30d, 2)
      clock.ms += 30 * DAY
      assert.equal((await ada.account.trust.metrics({})).keys_changed_30d, 0)
    })

    test('devices replaced by the recovery key do not count as changed keys; followers are notified', async () => {
      const { bob, address } = await people()
      const { server, clock } = subject
      await follow(ada, bob.id)
      const paper = await protect(bob)
      const reset = async (by?: KeyPair) => {
        clock.ms += MINUTE
        return resetOf(server, bob.id, await mailedCode(server, address), undefined, by)
      }
      const status = async () => (await card(ada, bob.id)).key_status
      await reset(paper)
      assert.equal(await status(), 'unchanged')
      // A thief resets the account, and its owner reverses that.
      await reset()
      assert.equal(await status(), 'changed_unverified')
      await reset(paper)
      assert.equal(await status(), 'unchanged')
      const notes = await every((query) => ada.account.notifications.list(query))
      assert.deepEqual(
        notes
          .filter(({ kind, data }) => kind === 'keys_changed' && data['user_id'] === bob.id)
          .map(({ body }) => /with the words of a recovery key/.test(body)),
        [true, false, true],
      )
    })

    test('keys confirmed after a reset without the recovery key count as changed after a later reset with it', async () => {
      const { bob, address } = await people()
      const { server, clock } = subject
      await follow(ada, bob.id)
      const paper = await protect(bob)
      clock.ms += MINUTE
      await resetOf(server, bob.id, await mailedCode(server, address))
      clock.ms += MINUTE
      await ada.account.trustCards.update({ id: bob.id, body: { confirmed: true } })
      clock.ms += MINUTE
      await resetOf(server, bob.id, await mailedCode(server, address), undefined, paper)
      assert.equal((await card(ada, bob.id)).key_status, 'changed_unverified')
    })

    test('unfollowing deletes the card and its history', async () => {
      const { bob, others } = await people('Carol')
      const [carol] = others as [Person]
      await follow(ada, bob.id, 'a note')
      await follow(carol, bob.id)
      await ada.account.trustCards.update({ id: bob.id, body: { confirmed: true } })
      const { trustCards } = ada.account
      await trustCards.delete({ id: bob.id })
      await rejects('not_found', trustCards.delete({ id: bob.id }))
      await rejects('not_found', trustCards.history({ id: bob.id }))
      assert.deepEqual(await listed(ada), [])
      const again = await follow(ada, bob.id)
      assert.deepEqual([again.note, again.key_status], [null, 'unchanged'])
      assert.deepEqual(await events(ada, bob.id), ['followed'])
      assert.deepEqual(await events(carol, bob.id), ['followed'])
    })

    test('a verification is added once to the cards of the verified members, with its own time', async () => {
      const { bob, others } = await people('Carol', 'Dan')
      const [carol, dan] = others as [Person, Person]
      const { clock } = subject
      for (const { id } of [bob, carol]) await follow(ada, id)
      const at = clock.ms
      clock.ms += HOUR
      const push = (...items: VerificationEntry[]) =>
        ada.account.verifications.push({ body: { items } })
      const late = verification(at + 3 * MINUTE, [bob.id, bob.id])
      await push(late, verification(at + MINUTE, [bob.id, dan.id]))
      await push(late)
      await push(verification(at + 2 * MINUTE, [bob.id]))
      for (const outcome of ['not_verified', 'inconclusive', 'echo'] as const)
        await push(verification(at + 5 * MINUTE, [carol.id], { outcome }))
      const echo = verification(at, [carol.id])
      await push({ ...echo, matches: echo.matches.map((one) => ({ ...one, speaker: 'self' })) })
      await bob.account.verifications.push({ body: { items: [verification(at, [ada.id])] } })
      assert.equal((await card(ada, carol.id)).last_verified_at, null)
      const last = new Date(at + 3 * MINUTE).toISOString()
      assert.equal((await card(ada, bob.id)).last_verified_at, last)
      const { items } = await ada.account.trustCards.history({ id: bob.id })
      assert.deepEqual(
        items.map(({ event, at: when, detail }) => [event, Date.parse(when) - at, detail]),
        [
          ['verified', 3 * MINUTE, 'Bank'],
          ['verified', 2 * MINUTE, 'Bank'],
          ['verified', MINUTE, 'Bank'],
          ['followed', 0, null],
        ],
      )
      // A clock that is years ahead.
      await push(verification(at + 900 * DAY, [bob.id]))
      const now = new Date(clock.ms).toISOString()
      assert.equal((await card(ada, bob.id)).last_verified_at, now)
    })

    test('the metrics count only the account’s own data', async () => {
      const { bob, others } = await people('Carol')
      const [carol] = others as [Person]
      const none = {
        following: 0,
        followers: 0,
        confirmed: 0,
        keys_changed_30d: 0,
        verifications_30d: 0,
        inconclusive_30d: 0,
      }
      const metrics = ({ account }: Person) => account.trust.metrics({})
      assert.deepEqual(await metrics(ada), none)
      await follow(ada, bob.id)
      await follow(ada, carol.id)
      await follow(carol, ada.id)
      await ada.account.trustCards.update({ id: bob.id, body: { confirmed: true } })
      const { ms } = subject.clock
      const tricky = 'x "outcome":"inconclusive" y'
      const named = verification(ms, [bob.id])
      const items: VerificationEntry[] = [
        verification(ms - 31 * DAY, [bob.id]),
        verification(ms - 29 * DAY, [bob.id]),
        verification(ms, [], { outcome: 'inconclusive' }),
        { ...named, matches: named.matches.map((one) => ({ ...one, display_name: tricky })) },
      ]
      await ada.account.verifications.push({ body: { items } })
      assert.deepEqual(await metrics(ada), {
        following: 2,
        followers: 1,
        confirmed: 1,
        keys_changed_30d: 0,
        verifications_30d: 3,
        inconclusive_30d: 1,
      })
      assert.deepEqual(await metrics(bob), { ...none, followers: 1 })
    })
  })
}
