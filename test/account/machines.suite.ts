/** Machine accounts: they enrol with assertions. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { signAssertion } from '../../src/crypto/client-assertion.ts'
import { newDeviceKeys } from '../../src/crypto/device-keys-v1.ts'
import {
  enrol,
  enrolmentOf,
  furtherOf,
  newcomerOf,
  newMaker,
  resetMaker,
} from '../service/person.ts'
import { fails, shutOut, type Accounts } from './subject.ts'

export function machinesSuite(accounts: () => Accounts): void {
  let { subject, server } = {} as Accounts
  before(() => {
    ;({ subject, server } = accounts())
  })

  describe('machine accounts', () => {
    test('enrol with assertions: first device, further one, reset', async () => {
      const owner = await enrol(server)
      const { auth: key } = newDeviceKeys()
      const organisation = await owner.account.organisations.create({ body: { name: 'Acme' } })
      const { account_id: id } = await owner.account.machines.create({
        body: { organisation_id: organisation.id, name: 'billing', key: key.jwk },
      })
      const { public_url: audience } = await server.door().clock.read({})
      const assert_ = () =>
        signAssertion({ account: id, audience, at: Math.floor(subject.clock.ms / 1000) }, key)
      const present = async <B extends { code: string }>({ body }: { body: B }) => {
        const { code: _, ...rest } = body
        return { body: { ...rest, assertion: await assert_() } }
      }
      const { enrolment, signIns } = server.door()
      assert.deepEqual(await signIns.read({ body: { assertion: await assert_() } }), {
        account_id: id,
        key_log: [],
        email: null,
      })
      await fails('conflict', enrolment.further(await present(furtherOf(newcomerOf(), ''))))
      const maker = newMaker({ id })
      const request = await present(enrolmentOf(maker, ''))
      const made = await enrolment.create(request)
      await fails('invalid_client', enrolment.create(request))
      const account = server.account({ ...made.session, keys: maker.keys })
      const { user, organisations } = await account.context.read({})
      assert.deepEqual(user, { id, display_name: 'billing', email: null, kind: 'machine' })
      assert.deepEqual(organisations, [{ ...organisation, role: 'member' }])
      const read = await signIns.read({ body: { assertion: await assert_() } })
      assert.deepEqual(read.key_log, [maker.entry])
      await fails('conflict', enrolment.create(await present(enrolmentOf(newMaker({ id }), ''))))
      await fails('invalid_token', enrolment.create(await present(enrolmentOf(newMaker(), ''))))
      const second = newcomerOf()
      const further = await enrolment.further(await present(furtherOf(second, '')))
      assert.equal(further.approved, false)
      const reset = resetMaker(id, [maker.entry])
      const again = await enrolment.create(await present(enrolmentOf(reset, '')))
      assert.equal(again.approved, true)
      await shutOut(account.context.read({}))
    })
  })
}
