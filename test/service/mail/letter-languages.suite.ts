/** The language and the time zone of letters. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { type Mailboxes, openMailboxes } from '../emails-subject.ts'
import type { Engine } from '../engines.ts'
import { hasCode, type Letter } from '../letters.ts'
import { addressOf, arrived, newAddress, type Person } from '../person.ts'
import { until } from '../../until.ts'

const GERMAN = { locale: 'de-AT', time_zone: 'Europe/Vienna' }

export function letterLanguagesSuite(name: string, engine: Engine): void {
  describe(`the languages of letters: ${name}`, () => {
    let place: Mailboxes
    before(async () => {
      place = await openMailboxes(engine)
    })
    after(() => place.close())

    const prefers = async (person: Person, body: { locale?: string; time_zone?: string }) => {
      await person.account.preferences.update({ body })
      return person
    }
    const german = async () => prefers(await place.byMail(), GERMAN)
    const languageOf = ({ headers }: Letter) => headers.get('content-language')

    /** Requests a code, and returns the letter. */
    async function codeFor(email: string, languages?: string): Promise<Letter> {
      const { server, service } = place.subject
      const known = (await server.letters(email)).filter(hasCode).length
      await service.open.signIns.create({ body: { email } }, { key: null, languages })
      return until(`a code for ${email}`, async () =>
        (await server.letters(email)).filter(hasCode).at(known),
      )
    }

    test('a letter to an owner has the language and the time zone of the preferences', async () => {
      const owner = await german()
      const report = {
        webhook_id: newId('whk_', Date.now()),
        event_id: newId('evt_', Date.now()),
        name: 'http://evil.example „x“ "y"',
        failing_since: '2026-01-01T10:20:30.000Z',
      }
      await owner.account.webhookNotices.create({ body: report })
      const { server } = place.subject
      const letter = await arrived(server, await addressOf(owner), /Webhook/)
      assert.equal(languageOf(letter), 'de')
      assert.equal(letter.subject, 'Ein Webhook wurde aufgegeben auf countersign.test')
      assert.match(letter.text, /^Guten Tag,\n/)
      assert(letter.text.includes('seit dem 1. Januar 2026 um 11:20 MEZ'), letter.text)
      assert(letter.text.includes("\n    „http: / / evil. example 'x' 'y'“\n"), letter.text)
      // Notifications are read by programs and at the command line, which are English.
      const { items } = await owner.account.notifications.list({})
      assert.match(items[0]!.body, /since 2026-01-01 10:20 UTC/)
    })

    test('an owner without preferences gets English letters, with times in UTC', async () => {
      const owner = await place.byMail()
      const report = {
        webhook_id: newId('whk_', Date.now()),
        event_id: newId('evt_', Date.now()),
        name: 'hooks.example.org',
        failing_since: '2026-07-01T10:20:30.000Z',
      }
      await owner.account.webhookNotices.create({ body: report })
      const letter = await arrived(place.subject.server, await addressOf(owner), /webhook/)
      assert.equal(languageOf(letter), 'en')
      assert(letter.text.includes('since 1 July 2026 at 10:20 UTC'), letter.text)
    })

    test('an address without an account gets the language of the person who writes', async () => {
      const owner = await german()
      const address = newAddress()
      await place.add(owner, address)
      const letter = await arrived(place.subject.server, address, /\/confirm\//)
      assert.equal(languageOf(letter), 'de')
      assert.match(letter.text, /innerhalb von 24 Stunden/)
    })

    for (const [what, guest, wanted] of [
      ['a guest without an account', null, 'bis zum 1. August 2026 um 14:00 MESZ'],
      ['a guest who prefers English', { locale: 'en' }, 'until 1 August 2026 at 14:00 CEST'],
      [
        'a guest with another time zone',
        { locale: 'en-US', time_zone: 'America/New_York' },
        'until 1 August 2026 at 08:00 GMT-4',
      ],
      ['a guest who chose no language', {}, 'bis zum 1. August 2026 um 14:00 MESZ'],
    ] as const)
      test(`a guest code of a German owner: ${what}`, async () => {
        const owner = await german()
        const to =
          guest === null
            ? newAddress()
            : await addressOf(await prefers(await place.byMail(), guest))
        const id = newId('gst_', Date.now())
        const body = {
          id,
          label: 'Mum',
          expires_at: '2026-08-01T12:00:00.000Z',
          external_member_id: null,
        }
        await owner.account.deviceGuestCodes.create({ body })
        const secret = 'A'.repeat(43)
        await owner.account.deviceGuestCodes.send({ id, body: { secret, to } })
        const letter = await arrived(place.subject.server, to, /\/g\//)
        assert(letter.text.includes(wanted), letter.text)
      })

    test('a code follows the preferences of the account, or else the request', async () => {
      const owner = await german()
      const unknown = newAddress()
      const undecided = await place.byMail()
      const cases: [address: string, languages: string | undefined, tag: string][] = [
        [await addressOf(owner), undefined, 'de'],
        [await addressOf(owner), 'en', 'de'],
        [unknown, undefined, 'en'],
        [unknown, 'de-CH, en;q=0.5', 'de'],
        [await addressOf(undecided), 'de', 'de'],
      ]
      for (const [address, languages, tag] of cases) {
        const letter = await codeFor(address, languages)
        assert.equal(languageOf(letter), tag)
        assert.match(letter.text, tag === 'de' ? /Der Code lautet:/ : /The code is:/)
      }
    })
  })
}
