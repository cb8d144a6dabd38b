/** A device reports webhooks that it gave up; its account is notified. For every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { rejects } from '../../rejects.ts'
import { DAY, HOUR, type Mailboxes, openMailboxes } from '../emails-subject.ts'
import type { Engine } from '../engines.ts'
import { addressOf, approve, arrived, join, mailedCode } from '../person.ts'

type By = { readonly account: Account }

export function webhookNoticesSuite(name: string, engine: Engine): void {
  describe(`given-up webhooks: ${name}`, () => {
    let place: Mailboxes
    before(async () => {
      place = await openMailboxes(engine)
    })
    after(() => place.close())

    const newReport = (of: { name?: string; webhook_id?: string; event_id?: string } = {}) => ({
      webhook_id: newId('whk_', Date.now()),
      event_id: newId('evt_', Date.now()),
      name: 'hooks.example.org',
      failing_since: '2026-01-01T10:20:30.000Z',
      ...of,
    })
    type Report = ReturnType<typeof newReport>
    const send = ({ account }: By, body: Report) => account.webhookNotices.create({ body })
    const notes = async ({ account }: By) => (await account.notifications.list({})).items
    const ABOUT = /sends nothing more to the webhook/
    const lettersTo = async (address: string) => {
      const all = [place.subject, place.replica].map(({ server }) => server.letters(address))
      const letters = new Map((await Promise.all(all)).flat().map((one) => [one.text, one]))
      return [...letters.values()].filter(({ text }) => ABOUT.test(text))
    }

    test('the notification and the mail name webhook, device, time and remedy', async () => {
      const owner = await place.byMail()
      const report = newReport()
      await send(owner, report)
      const [note, ...others] = await notes(owner)
      assert.deepEqual(others, [])
      const { webhook_id, event_id } = report
      assert.deepEqual(note, {
        id: note?.id,
        kind: 'webhook_given_up',
        title: 'A webhook was given up: "hooks.example.org"',
        body: `"Ada's laptop" sends nothing more to the webhook "hooks.example.org", because it has accepted no event since 2026-01-01 10:20 UTC. When its receiver works again, run "countersignd webhook update ${webhook_id} --enable" on that device. It then continues with the first event that was not delivered.`,
        data: { device_id: owner.device, webhook_id, event_id },
        read: false,
        created_at: place.time(),
      })
      const letter = await arrived(place.subject.server, await addressOf(owner), ABOUT)
      assert.equal(letter.subject, 'A webhook was given up at countersign.test')
      for (const part of [
        '"hooks. example. org"',
        'since 1 January 2026 at 10:20 UTC',
        `countersignd webhook update ${webhook_id} --enable`,
        '--email-notifications off',
      ])
        assert(letter.text.includes(part), part)
    })

    test('the same report again changes nothing, also after the notification was read', async () => {
      const owner = await place.byMail()
      const report = newReport()
      await Promise.all([send(owner, report), send(owner, report)])
      await owner.account.notifications.read({ body: {} })
      const before = await notes(owner)
      await send(owner, report)
      assert.deepEqual(await notes(owner), before)
      assert.equal(before.length, 1)
    })

    test('a webhook that is given up again has one notification, which is new', async () => {
      const owner = await place.person()
      const report = newReport()
      await send(owner, report)
      await owner.account.notifications.read({ body: {} })
      const again = newReport({ webhook_id: report.webhook_id, name: 'other' })
      await send(owner, again)
      await send(owner, newReport({ name: 'another webhook' }))
      const all = await notes(owner)
      assert.deepEqual(
        all.map(({ title, read }) => [title, read]),
        [
          ['A webhook was given up: "another webhook"', false],
          ['A webhook was given up: "other"', false],
        ],
      )
    })

    test('a device does not replace the notification of another device', async () => {
      const owner = await place.byMail()
      const { server } = place.subject
      const newcomer = await join(server, await mailedCode(server, await addressOf(owner)))
      const report = newReport()
      await rejects('forbidden', send(newcomer, report))
      await approve(owner, newcomer)
      await send(owner, report)
      await send(newcomer, newReport({ webhook_id: report.webhook_id, name: 'false' }))
      const given = (await notes(owner)).filter(({ kind }) => kind === 'webhook_given_up')
      assert.deepEqual(
        given.map(({ data }) => data['device_id']),
        [newcomer.device, owner.device],
      )
    })

    test('a hostile name stays one quoted line', async () => {
      const owner = await place.byMail()
      const hostile = `x" was revoked. "${'www.evil.example '.repeat(14)}`
      await send(owner, newReport({ name: hostile }))
      const [note] = await notes(owner)
      assert.match(note!.title, /^A webhook was given up: "x' was revoked\. '[^"]{40,60}…"$/)
      assert.match(
        note!.body,
        /^"Ada's laptop" sends nothing more to the webhook "[^"]*…", because /,
      )
      const { text, subject } = await arrived(place.subject.server, await addressOf(owner), ABOUT)
      assert.doesNotMatch(text + subject, /evil\.example/)
    })

    test('mails come at most once an hour, and not to a person who turned them off', async () => {
      const owner = await place.byMail()
      const address = await addressOf(owner)
      await owner.account.preferences.update({ body: { email_notifications: false } })
      await send(owner, newReport({ name: 'off' }))
      await owner.account.preferences.update({ body: { email_notifications: true } })
      await send(owner, newReport({ name: 'first' }))
      await arrived(place.subject.server, address, /"first"/)
      await send(owner, newReport({ name: 'soon' }))
      place.later(HOUR)
      await send(owner, newReport({ name: 'later' }))
      await arrived(place.subject.server, address, /"later"/)
      const texts = (await lettersTo(address)).map(({ text }) => /"(\w+)"\n/.exec(text)?.[1])
      assert.deepEqual(new Set(texts), new Set(['first', 'later']))
      assert.equal((await notes(owner)).length, 4)
    })

    test('a device reports at most 100 in a day', async () => {
      const owner = await place.person()
      const first = newReport()
      await send(owner, first)
      for (let i = 1; i < 100; i++) await send(owner, newReport())
      await rejects('rate_limited', send(owner, newReport()))
      await send(owner, first)
      place.later(DAY)
      await send(owner, newReport())
      assert.equal((await notes(await place.person())).length, 0)
    })
  })
}
