/** An account whose devices are all replaced by a new one. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  addressOf,
  approve,
  arrived,
  enrolByMail,
  enrolled,
  join,
  logOf,
  mailedCode,
  newAddress,
  newMaker,
  resetMaker,
  resetOf,
} from '../service/person.ts'
import { fails, isInvalid, shutOut, type Accounts } from './subject.ts'

export function resetSuite(accounts: () => Accounts): void {
  let { server } = {} as Accounts
  before(() => {
    ;({ server } = accounts())
  })

  describe('reset', () => {
    test('one new device, and nothing of the old ones', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const [second, waiting] = [
        await join(server, await mailedCode(server, email)),
        await join(server, await mailedCode(server, email)),
      ]
      await approve(ada, second)
      const code = await mailedCode(server, email)
      const renewed = await resetOf(server, ada.id, code)
      assert.equal(renewed.enrolment.account_id, ada.id)
      assert.equal(renewed.enrolment.approved, true)
      for (const { account, enrolment, keys } of [ada, second, waiting]) {
        await shutOut(account.context.read({}))
        const { refresh_token } = enrolment.session
        const door = server.door(keys.auth)
        await fails('invalid_token', door.session.renew({ body: { refresh_token } }))
      }
      const { items } = await renewed.account.devices.list({})
      assert.deepEqual(
        items.map((device) => device.id),
        [renewed.device],
      )
      const log = await logOf(renewed)
      assert.equal(log.generation, 2)
      assert.deepEqual((await renewed.account.context.read({})).user.email, email)
      const letter = await arrived(server, email, /were replaced by a new one, "Ada's laptop"/)
      assert.match(letter.subject, /were replaced/)
    })

    test('the same entry with its code again: another session', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const code = await mailedCode(server, email)
      const renewed = await resetOf(server, ada.id, code)
      const again = await enrolled(server, renewed, code)
      await again.account.context.read({})
      await renewed.account.context.read({})
      assert.equal((await logOf(again)).seq, 1)
    })

    test('takes a credential of that account, and the newest entry', async () => {
      const email = newAddress()
      const [ada, eve] = [await enrolByMail(server, email), await enrolByMail(server, newAddress())]
      const other = await mailedCode(server, await addressOf(eve))
      await fails('invalid_token', resetOf(server, ada.id, other, [ada.entry]))
      const free = await server.newEnrolmentCode()
      await fails('conflict', resetOf(server, ada.id, free, [ada.entry]))
      const laptop = await join(server, await mailedCode(server, email))
      await approve(ada, laptop)
      const code = await mailedCode(server, email)
      await fails('conflict', resetOf(server, ada.id, code, [ada.entry]))
      const maker = newMaker()
      const nobody = resetMaker(maker.id, [maker.entry])
      await isInvalid('entry', 'bad_op|gap', enrolled(server, nobody, free))
      await ada.account.context.read({})
      await resetOf(server, ada.id, code)
    })
  })
}
