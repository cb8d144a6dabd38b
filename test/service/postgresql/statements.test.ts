/** The number of statements of frequent requests: each is planned, and is a round trip. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import pg from 'pg'
import type { Account } from '../../../src/api/port.ts'
import { newPostgresPlace, withoutPostgres } from '../engines.ts'
import { connect, enrol } from '../person.ts'
import { type LocalSubject, openSubject } from '../subject.ts'

/**
 * By request, with the authentication of the device. That is one statement, which also reads the
 * marks for a sync. When the device was seen is stored in the background, for many devices
 * together.
 */
const STATEMENTS: readonly [
  request: string,
  count: number,
  call: (of: {
    account: Account
    id: string
    since: string
    renew: () => Promise<unknown>
  }) => Promise<unknown>,
][] = [
  ['a sync without news', 1, ({ account, since }) => account.changes.read({ since })],
  ['renew the session', 1, ({ renew }) => renew()],
  ['read the profile', 2, ({ account }) => account.profile.read({})],
  ['read a connection', 2, ({ account, id }) => account.connections.read({ id })],
  ['list connections', 3, ({ account }) => account.connections.list({})],
  ['list notifications', 3, ({ account }) => account.notifications.list({ unread: true })],
]

describe('statements of a request on PostgreSQL', { skip: withoutPostgres }, () => {
  let subject: LocalSubject
  let of: { account: Account; id: string; since: string; renew: () => Promise<unknown> }

  before(async () => {
    subject = await openSubject(await newPostgresPlace())
    const person = await enrol(subject.server)
    const { id } = await connect(person)
    await person.account.changes.read({})
    // From then on, the marks of the account are used.
    subject.clock.ms += 3_600_000
    const { keys, enrolment } = person
    const account = subject.deviceAccount({
      key: async () => keys.auth,
      refreshToken: () => enrolment.session.refresh_token,
    })
    const { since } = await account.changes.read({})
    const { refresh_token } = enrolment.session
    const renew = () => subject.server.door(keys.auth).session.renew({ body: { refresh_token } })
    of = { account, id, since: since!, renew }
  })
  after(() => subject.close())

  for (const [request, count, call] of STATEMENTS)
    test(`${request}: ${count}`, async (t) => {
      await call(of)
      subject.clock.ms += 60_000
      const query = t.mock.method(pg.Client.prototype, 'query')
      await call(of)
      const all = query.mock.calls.map(({ arguments: [first] }) => {
        const given = first as string | { text: string }
        return typeof given === 'string' ? given : given.text
      })
      // A replica begins a sweep once a minute, in the background.
      const inBackground =
        /"leases"|^delete from "used_proofs"|^update "sessions" set "last_seen_at"/
      const texts = all.filter((text) => !inBackground.test(text))
      assert.equal(texts.length, count, texts.join('\n'))
    })

  test('the marks that are read with the session are the newest', async () => {
    const { account, id } = of
    const { since } = await account.changes.read({ since: of.since })
    await account.connections.update({ id, body: { name: 'Renamed' } })
    const after = await account.changes.read({ since: since! })
    assert.deepEqual(after.changed, ['connections'])
    assert.deepEqual((await account.changes.read({ since: after.since! })).changed, [])
  })
})
