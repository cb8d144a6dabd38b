/** The values that new connections and their invitations get from presets. For every engine. */
import { approveInvitation } from './connecting.ts'
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY, HOUR, invite, openClubs, received, sent, type Clubs } from './connections-subject.ts'
import type { Engine } from '../engines.ts'
import { arrived, newAddress, opening } from '../person.ts'
import { create, newcomer, newTag, NOBODYS, open } from './presets-subject.ts'
import { rejects } from '../../rejects.ts'

export function presetUsesSuite(engine: string, { newPlace }: Engine): void {
  let clubs: Clubs
  let { server, hand, ada, bob, later, time } = {} as Clubs

  describe(`uses of presets: ${engine}`, () => {
    before(async () => {
      clubs = await openClubs(newPlace)
      ;({ server, hand, ada, bob, later, time } = clubs)
    })
    after(() => clubs.close())

    describe('a new connection', () => {
      const CASES: [wanted: 'nothing' | 'none' | 'one', has: boolean, takes: string | null][] = [
        ['nothing', false, null],
        ['nothing', true, 'the default'],
        ['none', true, null],
        ['one', false, 'that one'],
        ['one', true, 'that one'],
      ]
      for (const [wanted, has, takes] of CASES)
        test(`request names ${wanted}, ${has ? 'a' : 'no'} default exists: uses ${takes ?? 'none'}`, async () => {
          const eve = await newcomer(clubs)
          const tag = await newTag(eve)
          const usual = await create(eve, { tag_ids: [await newTag(eve)] })
          const one = await create(eve, { tag_ids: [tag, await newTag(eve)], favorite: true })
          if (has) await eve.account.presets.setDefault({ id: usual.id })
          const asked = { nothing: {}, none: { preset_id: null }, one: { preset_id: one.id } }
          const made = await open(eve, asked[wanted])
          const taken = takes === 'the default' ? usual : takes === null ? null : one
          assert.deepEqual(
            [made.preset_id, made.tag_ids, made.favorite],
            [taken?.id ?? null, taken?.tag_ids ?? [], taken?.favorite ?? false],
          )
          assert.deepEqual(await eve.account.connections.read({ id: made.id }), made)
        })

      for (const [what, id] of [
        ['another account’s', async () => (await create(bob)).id],
        ['a deleted', async () => deleted()],
        ['an unknown', async () => NOBODYS],
      ] as const)
        test(`${what} preset: not_found, and no connection is opened`, async () => {
          const address = newAddress()
          const body = {
            ...(await opening(ada)),
            preset_id: await id(),
            invite: [{ email: address }],
          }
          await rejects('not_found', ada.account.rosters.open({ body }))
          await rejects('not_found', ada.account.connections.read({ id: body.connection }))
          assert.deepEqual(await sent(ada, body.connection), [])
        })

      async function deleted() {
        const { id } = await create(ada)
        await ada.account.presets.delete({ id })
        return id
      }

      test('opening again returns the same connection, also after its preset changed', async () => {
        const eve = await newcomer(clubs)
        const tag = await newTag(eve)
        const { id } = await create(eve, { tag_ids: [tag], favorite: true })
        await eve.account.presets.setDefault({ id })
        const body = await opening(eve)
        const first = await eve.account.rosters.open({ body })
        await eve.account.presets.update({ id, body: { tag_ids: [], favorite: false } })
        await eve.account.presets.setDefault({ id: (await create(eve)).id })
        assert.deepEqual(await eve.account.rosters.open({ body }), first)
        assert.deepEqual([first.preset_id, first.tag_ids, first.favorite], [id, [tag], true])
      })

      test('a connection keeps its values when the preset changes, and other members never see the preset', async () => {
        const preset = await create(ada, { tag_ids: [await newTag(ada)], favorite: true })
        const made = await open(ada, { preset_id: preset.id, invite: [{ user_id: bob.id }] })
        const [asked] = await received(bob, made.id)
        for (const text of [preset.id, ...preset.tag_ids])
          assert(!JSON.stringify(asked).includes(text))
        await ada.account.presets.update({ id: preset.id, body: { tag_ids: [], favorite: false } })
        assert.deepEqual(await ada.account.connections.read({ id: made.id }), made)
        await ada.account.presets.delete({ id: preset.id })
        assert.deepEqual(await ada.account.connections.read({ id: made.id }), {
          ...made,
          preset_id: null,
        })
      })
    })

    describe('invitations to a connection', () => {
      const invite_message = 'Dear all,\n\n<b>it</b> is me.'

      test('take message and expiry of the preset as it is now, until the preset is deleted', async () => {
        const preset = await create(ada, { invite_message, invitation_expires_in: 5 * 3600 })
        const made = await open(ada, { preset_id: preset.id, invite: [{ user_id: bob.id }] })
        const [first] = await received(bob, made.id)
        assert.deepEqual([first!.message, first!.expires_at], [invite_message, time(5 * HOUR)])
        const address = newAddress()
        const second = await invite(ada, made.id, address)
        assert.deepEqual([second.message, second.expires_at], [invite_message, time(5 * HOUR)])
        const body = { invite_message: 'Other', invitation_expires_in: 30 * 24 * 3600 }
        await ada.account.presets.update({ id: preset.id, body })
        const third = await invite(ada, made.id, newAddress())
        assert.deepEqual([third.message, third.expires_at], ['Other', time(30 * DAY)])
        await ada.account.presets.delete({ id: preset.id })
        const fourth = await invite(ada, made.id, newAddress())
        assert.deepEqual([fourth.message, fourth.expires_at], [null, time(14 * DAY)])
      })

      test('sending one again uses the current message, and never shortens the expiry', async () => {
        const preset = await create(ada, { invite_message, invitation_expires_in: 10 * 24 * 3600 })
        const made = await open(ada, { preset_id: preset.id, invite: [{ user_id: bob.id }] })
        const until = time(10 * DAY)
        const body = { invite_message: 'Shorter', invitation_expires_in: 3600 }
        await ada.account.presets.update({ id: preset.id, body })
        const again = await invite(ada, made.id, bob)
        assert.deepEqual([again.message, again.expires_at], ['Shorter', until])
      })

      test('of another owner do not use the preset', async () => {
        const { id } = await open(ada, { preset_id: (await create(ada, { invite_message })).id })
        await hand.db
          .insertInto('memberships')
          .values({
            account_id: bob.id,
            connection_id: id,
            role: 'owner',
            name: 'Bank',
            favorite: 0,
            updated_at: 0,
          })
          .execute()
        const theirs = await invite(bob, id, newAddress())
        assert.deepEqual([theirs.message, theirs.expires_at], [null, time(14 * DAY)])
      })

      for (const [days, state] of [
        [29, 'approved'],
        [31, 'expired'],
      ] as const)
        test(`valid for a month, answered after ${days} days: ${state}`, async () => {
          const { id: preset_id } = await create(ada, { invitation_expires_in: 2_592_000 })
          const { id } = await open(ada, { preset_id, invite: [{ user_id: bob.id }] })
          const [asked] = await received(bob, id)
          later(days * DAY)
          const answer = approveInvitation(bob, { id: asked!.id })
          if (state === 'approved') assert.equal((await answer).state, state)
          else await rejects('invalid_state', answer, { state })
        })

      const MAILS: [what: string, message: string, seconds: number | null, says: RegExp[]][] = [
        [
          'each line is marked',
          'Hello Bob,\r\n\r\nit is me.',
          null,
          [
            /Their message:\n {4}\| Hello Bob,\n {4}\| it is me\.\n\nCountersign is/,
            /valid for 14 days/,
          ],
        ],
        [
          'without links, tags or direction marks',
          'see https://evil.example/x or me@evil.example\nwww.evil.example evil\u3002example \u200f<a href="x">',
          3600,
          [
            /\| see https: \/ \/ evil\. example\/ x or me@ evil\. example\n/,
            /\| www\. evil\. example evil\u3002 example 'a href='x''\n/,
            /valid for 1 hour\./,
          ],
        ],
        [
          'no more than 20 lines',
          'line\n'.repeat(200),
          90_000,
          [/(?: {4}\| line\n){20} {4}\| …\n\nCountersign/, /valid for 25 hours/],
        ],
        [
          'long words are split, other words are kept whole',
          `${'a'.repeat(100)} ${'word '.repeat(40)}`,
          2_592_000,
          [/ {4}\| a{68}\n {4}\| a{32} word/, /valid for 30 days/],
        ],
      ]
      for (const [what, message, seconds, says] of MAILS)
        test(`the mail quotes the message: ${what}`, async () => {
          const preset = await create(ada, {
            invite_message: message,
            invitation_expires_in: seconds,
          })
          const address = newAddress()
          await open(ada, { preset_id: preset.id, invite: [{ email: address }] })
          const { text, subject } = await arrived(server, address, /invites/)
          for (const expected of says) assert.match(text, expected)
          assert.doesNotMatch(text, /evil\.example|\/\/evil|@evil|<a|\u200f/)
          assert(!subject.includes('Hello'))
          for (const line of text.split('\n')) assert(line.length <= 80, line)
        })

      test('the mail has no quotation if there is no message', async () => {
        const address = newAddress()
        await open(ada, { preset_id: null, invite: [{ email: address }] })
        const { text } = await arrived(server, address, /invites/)
        assert.doesNotMatch(text, /Their message|null/)
      })
    })
  })
}
