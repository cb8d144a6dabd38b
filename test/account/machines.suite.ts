/** Machine accounts: they enrol with assertions. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { signAssertion } from '../../src/crypto/jose/client-assertion.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import {
  enrol,
  enrolmentOf,
  furtherOf,
  newcomerOf,
  newMaker,
  otherFirstOf,
  resetMaker,
} from '../service/person.ts'
import { shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function machinesSuite(accounts: () => Accounts): void {
  let { subject, server } = {} as Accounts
  before(() => {
    ;({ subject, server } = accounts())
  })

  describe('machine accounts', () => {
    test('enrol with assertions: first device, further device, reset', async () => {
      const owner = await enrol(server)
      const { auth: key } = newDeviceKeys()
      const organisation = await owner.account.organisations.create({ body: { name: 'Acme' } })
      const { machine_id: machine } = await owner.account.machines.create({
        body: { organisation_id: organisation.id, name: 'billing', key: key.jwk },
      })
      const { public_url: audience } = await server.door().clock.read({})
      const assert_ = () =>
        signAssertion({ machine, audience, at: Math.floor(subject.clock.ms / 1000) }, key)
      const present = async <B extends { code: string }>({ body }: { body: B }) => {
        const { code: _, ...rest } = body
        return { body: { ...rest, assertion: await assert_() } }
      }
      const { enrolment, signIns } = server.door()
      assert.deepEqual(await signIns.read({ body: { assertion: await assert_() } }), {
        account_id: null,
        key_log: [],
        key_log_seq: null,
        email: null,
      })
      await rejects('conflict', enrolment.further(await present(furtherOf(newcomerOf(), ''))))
      const maker = newMaker()
      const { id } = maker
      const request = await present(enrolmentOf(maker, ''))
      const made = await enrolment.create(request)
      await rejects('invalid_client', enrolment.create(request))
      const account = server.account({ ...made.session, keys: maker.keys })
      const { user, organisations } = await account.context.read({})
      assert.deepEqual(user, { id, display_name: 'billing', email: null, kind: 'machine' })
      assert.deepEqual(organisations, [{ ...organisation, role: 'member' }])
      const read = await signIns.read({ body: { assertion: await assert_() } })
      assert.deepEqual(read.key_log, [maker.entry])
      const other = { ...maker, entry: otherFirstOf(maker) }
      await rejects('conflict', enrolment.create(await present(enrolmentOf(other, ''))))
      await rejects('invalid_token', enrolment.create(await present(enrolmentOf(newMaker(), ''))))
      const second = newcomerOf()
      const further = await enrolment.further(await present(furtherOf(second, '')))
      assert.equal(further.approved, false)
      const reset = resetMaker(id, [maker.entry])
      const again = await enrolment.create(await present(enrolmentOf(reset, '')))
      assert.equal(again.approved, true)
      await shutOut(account.context.read({}))
    })

    test('keep the id in their key file before and after their first device', async () => {
      const owner = await enrol(server)
      const { auth: key } = newDeviceKeys()
      const { id: organisation_id } = await owner.account.organisations.create({
        body: { name: 'Acme' },
      })
      const { context, machines, orgGroups, orgMembers } = owner.account
      await context.activeOrg({ body: { organisation_id } })
      const { machine_id: machine } = await machines.create({
        body: { organisation_id, name: 'billing', key: key.jwk },
      })
      const { id } = await orgGroups.create({ body: { name: 'Robots' } })
      const body = { member_ids: [machine] }
      assert.equal((await orgGroups.addMembers({ id, body })).member_count, 1)

      const { public_url: audience } = await server.door().clock.read({})
      const at = Math.floor(subject.clock.ms / 1000)
      const assertion = await signAssertion({ machine, audience, at }, key)
      const maker = newMaker()
      const { code: _, ...enrolment } = enrolmentOf(maker, '').body
      await server.door().enrolment.create({ body: { ...enrolment, assertion } })

      for (const member of [machine, maker.id]) {
        const { user_id, state } = await orgMembers.suspend({ id: member })
        assert.deepEqual([user_id, state], [maker.id, 'suspended'])
        await orgMembers.activate({ id: member })
      }
      assert.equal((await orgGroups.removeMembers({ id, body })).member_count, 0)
    })
  })
}
