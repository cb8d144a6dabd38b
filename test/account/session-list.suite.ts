/** The sessions of an account: listed by one of them, and ended by another. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import {
  approve,
  enrol,
  enrolByMail,
  enrolled,
  join,
  mailedCode,
  newAddress,
  type Newcomer,
  type Person,
} from '../service/person.ts'
import { MINUTE, everything, shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

const sessionOf = ({ enrolment }: Pick<Person, 'enrolment'>) => enrolment.session.session_id

export function sessionListSuite(accounts: () => Accounts): void {
  let { server, later, time } = {} as Accounts
  before(() => {
    ;({ server, later, time } = accounts())
  })

  const listed = async ({ account }: Pick<Person, 'account'>) =>
    (await account.sessions.list({})).items
  const ids = async (of: Pick<Person, 'account'>) => (await listed(of)).map(({ id }) => id)
  const end = ({ account }: Pick<Person, 'account'>, id: string) => account.sessions.delete({ id })
  const renewed = ({ keys, enrolment }: Pick<Person, 'keys' | 'enrolment'>) => {
    const { refresh_token } = enrolment.session
    return server.door(keys.auth).session.renew({ body: { refresh_token } })
  }

  /** Creates a person with two approved devices. */
  async function twoDevices(): Promise<{ email: string; ada: Person; laptop: Newcomer }> {
    const email = newAddress()
    const ada = await enrolByMail(server, email)
    later(1)
    const laptop = await join(server, await mailedCode(server, email))
    await approve(ada, laptop)
    return { email, ada, laptop }
  }

  describe('sessions', () => {
    test('each device sees those of all devices, newest first, and its own one marked', async () => {
      const { ada, laptop } = await twoDevices()
      const made = time()
      later(2 * MINUTE)
      await ada.account.context.read({})
      const expected = [
        { of: laptop, last_seen_at: made, created_at: made },
        { of: ada, last_seen_at: time(), created_at: new Date(Date.parse(made) - 1).toISOString() },
      ].map(({ of, ...times }) => ({
        id: sessionOf(of),
        device_id: of.device,
        current: of === ada,
        active_organisation_id: null,
        ...times,
      }))
      assert.deepEqual(await listed(ada), expected)
      const seen = await listed(laptop)
      assert.deepEqual(
        seen.map(({ id, current }) => [id, current]),
        [
          [sessionOf(laptop), true],
          [sessionOf(ada), false],
        ],
      )
      assert.equal(seen[0]?.last_seen_at, time())
      assert.equal((await ids(await enrol(server))).length, 1)
    })

    test('an ended session stops working at once; its device can sign in again', async () => {
      const { email, ada, laptop } = await twoDevices()
      const { access_token } = await renewed(ada)
      const seen = async () =>
        (await laptop.account.devices.list({})).items.find(({ id }) => id === ada.device)
          ?.last_seen_at
      const before = await seen()
      assert.notEqual(before, null)
      await end(laptop, sessionOf(ada))
      assert.equal(await seen(), before, 'what it was seen in is gone, and not when')
      await shutOut(ada.account.context.read({}))
      await shutOut(server.account({ access_token, keys: ada.keys }).context.read({}))
      await rejects('invalid_token', renewed(ada))
      assert.deepEqual(await ids(laptop), [sessionOf(laptop)])
      const again = await enrolled(server, ada, await mailedCode(server, email))
      assert.deepEqual(await ids(again), [sessionOf(again), sessionOf(laptop)])
      assert.equal((await again.account.context.read({})).user.id, ada.id)
    })

    test('a session without a proof of its key is not listed', async () => {
      const { email, ada } = await twoDevices()
      const { enrolment } = await enrolled(server, ada, await mailedCode(server, email))
      assert(!(await ids(ada)).includes(sessionOf({ enrolment })))
      await rejects('not_found', end(ada, sessionOf({ enrolment })))
      await renewed({ ...ada, enrolment })
      assert((await ids(ada)).includes(sessionOf({ enrolment })))
    })

    test('a pending device can list sessions, and end none', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const laptop = await join(server, await mailedCode(server, email))
      assert.deepEqual(await ids(laptop), [sessionOf(laptop)])
      await ada.account.context.read({})
      await rejects('forbidden', end(laptop, sessionOf(ada)))
      await end(ada, sessionOf(laptop))
      await shutOut(laptop.account.context.read({}))
    })

    test('only a session of the own account can be ended', async () => {
      const { ada, laptop } = await twoDevices()
      const eve = await enrol(server, 'Eve')
      await eve.account.context.read({})
      await laptop.account.context.read({})
      const current = await end(ada, sessionOf(ada)).then(
        () => assert.fail('ended'),
        (error: { code: string; details?: object; message: string }) => error,
      )
      assert.deepEqual([current.code, current.details], ['invalid_state', { state: 'current' }])
      assert.match(current.message, /countersignd logout/)
      await end(ada, sessionOf(laptop))
      for (const id of [
        sessionOf(laptop),
        sessionOf(eve),
        newId('ses_', Date.now()),
        laptop.device,
        'ses_',
        '%00',
        'x'.repeat(5000),
      ])
        await rejects('not_found', end(ada, id))
      await ada.account.context.read({})
      await eve.account.context.read({})
    })

    test('the list has pages', async () => {
      const { ada, laptop } = await twoDevices()
      await ada.account.context.read({})
      const all = await listed(ada)
      const pages = await everything((page) => ada.account.sessions.list(page), 1)
      assert.deepEqual(
        pages.map((page) => page.length),
        [1, 1],
      )
      assert.deepEqual(
        pages.flat().map(({ id }) => id),
        all.map(({ id }) => id),
      )
      const { next_cursor: cursor } = await ada.account.sessions.list({ limit: 1 })
      await end(ada, sessionOf(laptop))
      const rest = await ada.account.sessions.list({ limit: 1, cursor: cursor! })
      assert.deepEqual(
        rest.items.map(({ id }) => id),
        [sessionOf(ada)],
      )
      const foreign = encodeBase64url(new TextEncoder().encode(ada.device))
      for (const bad of [foreign, 'x', ''])
        await rejects('bad_request', ada.account.sessions.list({ cursor: bad }))
      for (const limit of [-1, 0, 201, 1.5])
        await rejects('validation_failed', ada.account.sessions.list({ limit }))
    })
  })
}
