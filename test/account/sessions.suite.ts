/** The session of a device, and its tokens. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newDeviceKeys } from '../crypto/keys.ts'
import {
  enrol,
  enrolByMail,
  enrolled,
  join,
  mailedCode,
  newAddress,
  newMaker,
  type Person,
} from '../service/person.ts'
import { HOUR, MINUTE, shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function sessionsSuite(accounts: () => Accounts): void {
  let { subject, server, later, time, rejected } = {} as Accounts
  before(() => {
    ;({ subject, server, later, time, rejected } = accounts())
  })

  describe('session', () => {
    const renew = ({ keys, enrolment }: Pick<Person, 'keys' | 'enrolment'>) => {
      const { refresh_token } = enrolment.session
      return server.door(keys.auth).session.renew({ body: { refresh_token } })
    }

    test('a renewal returns another access token; the old one stays valid, and the refresh token too', async () => {
      const ada = await enrol(server)
      const { access_token, refresh_token, session_id, access_expires_at } = ada.enrolment.session
      assert.equal(access_expires_at, new Date(subject.clock.ms + HOUR).toISOString())
      later(MINUTE)
      const next = await renew(ada)
      assert.deepEqual(
        { ...next, access_token: '' },
        {
          session_id,
          refresh_token,
          access_token: '',
          access_expires_at: new Date(subject.clock.ms + HOUR).toISOString(),
        },
      )
      assert.notEqual(next.access_token, access_token)
      for (const token of [access_token, next.access_token]) {
        const account = server.account({ access_token: token, keys: ada.keys })
        assert.equal((await account.context.read({})).user.id, ada.id)
      }
      await renew(ada)
    })

    test('both of two concurrent renewals succeed', async () => {
      const ada = await enrol(server)
      const all = await Promise.all([renew(ada), renew(ada)])
      for (const session of all)
        await server.account({ ...session, keys: ada.keys }).context.read({})
    })

    test('a session is renewed only with its own key', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const { refresh_token } = ada.enrolment.session
      for (const key of [undefined, eve.keys.auth, ada.keys.sign, newDeviceKeys().auth])
        await rejects('invalid_token', server.door(key).session.renew({ body: { refresh_token } }))
      await renew(ada)
    })

    test('a stolen access token is useless with another key', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const { access_token } = ada.enrolment.session
      await rejected(access_token, eve)
      await rejected(access_token, { keys: { ...ada.keys, auth: ada.keys.sign } })
      await ada.account.context.read({})
    })

    test('ending a session ends its tokens, and no other session', async () => {
      const maker = newMaker()
      const code = await server.newEnrolmentCode()
      const [one, two] = [await enrolled(server, maker, code), await enrolled(server, maker, code)]
      const other = await renew(one)
      await one.account.currentSession.delete({})
      await shutOut(one.account.context.read({}))
      await rejected(other.access_token, one)
      await rejects('invalid_token', renew(one))
      await two.account.context.read({})
    })

    test('a new device that left does not block the next one', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const laptop = await join(server, await mailedCode(server, email))
      await laptop.account.currentSession.delete({})
      await rejects('not_found', ada.account.pendingDevices.read({ id: laptop.device }))
    })

    test('an access token is valid for an hour', async () => {
      const ada = await enrol(server)
      later(HOUR - 1)
      await ada.account.context.read({})
      later(1)
      await shutOut(ada.account.context.read({}))
    })

    test('a token works only for its own purpose', async () => {
      const ada = await enrol(server)
      const { session } = ada.enrolment
      for (const text of [session.refresh_token, 'x', ada.entry]) await rejected(text, ada)
      for (const refresh_token of [session.access_token, '', 'x'])
        await rejects(
          'invalid_token',
          server.door(ada.keys.auth).session.renew({ body: { refresh_token } }),
        )
    })

    test('the server returns its clock and address', async () => {
      const { now, public_url } = await server.door().clock.read({})
      assert.equal(now, time())
      assert.match(public_url, /^https?:\/\/[^/]+$/)
    })
  })
}
