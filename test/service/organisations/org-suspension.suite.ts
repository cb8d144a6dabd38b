/**
 * The effects of the suspension of a member. An organisation has to keep some members. For every
 * engine.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { signAssertion } from '../../../src/crypto/jose/client-assertion.ts'
import { newDeviceKeys } from '../../crypto/keys.ts'
import { stampIndices, verifyStamp } from '../../../src/crypto/stamp.ts'
import { mintMachineToken } from '../../../src/service/devices/machine-tokens.ts'
import type { Engine } from '../engines.ts'
import {
  type Organisations,
  activate,
  activeOf,
  listed,
  openOrganisation,
  suspend,
  use,
} from './org-members-subject.ts'
import { connect, enrolmentOf, newMaker, type Person, stampOf } from '../person.ts'
import { PUBLIC_URL } from '../subject.ts'
import { rejects } from '../../rejects.ts'

export function orgSuspensionSuite(name: string, engine: Engine): void {
  describe(`suspension: ${name}`, () => {
    let orgs: Organisations
    before(async () => {
      orgs = await openOrganisation(engine)
    })
    after(() => orgs.close())

    test('a person loses the organisation in every session at once, and nothing else', async () => {
      const ada = await orgs.owner()
      const bob = await orgs.member(ada, 'admin')
      const { id: connection } = await connect(bob)
      const there = orgs.inside(bob, orgs.replica)
      await suspend(ada, bob.id)
      for (const session of [bob, there]) {
        assert.equal(await activeOf(session), undefined)
        assert.deepEqual((await session.account.context.read({})).organisations, [])
        await rejects('no_active_organisation', listed(session))
        await rejects('not_found', use(session, ada.organisation))
        assert.equal((await session.account.connections.read({ id: connection })).id, connection)
      }
      await orgs.renew(bob)
      await activate(ada, bob.id)
      for (const session of [bob, there]) {
        assert.equal((await activeOf(session))?.id, ada.organisation, 'as it was chosen')
        assert.equal((await listed(session)).length, 2)
      }
    })

    describe('a machine account', () => {
      /**
       * Creates a machine account with a signed-in device and a token; both send requests over
       * the wire.
       */
      async function machine(ada: Person & { organisation: string }) {
        const { auth: key } = newDeviceKeys()
        const { machine_id: machine } = await ada.account.machines.create({
          body: { organisation_id: ada.organisation, name: 'Backup', key: key.jwk },
        })
        const at = () => Math.floor(orgs.subject.clock.ms / 1000)
        const assertion = () => signAssertion({ machine, audience: PUBLIC_URL, at: at() }, key)
        const maker = newMaker()
        const { id } = maker
        const { server, service, clock } = orgs.subject
        const enrol = async () => {
          const { code: _, ...body } = enrolmentOf(maker, '').body
          return server.door().enrolment.create({ body: { ...body, assertion: await assertion() } })
        }
        const { session } = await enrol()
        const ground = { db: orgs.hand.db, now: () => clock.ms }
        const of = { name: 'nightly', label: null, scope: 'full', granted: 0 } as const
        const { token } = await mintMachineToken(ground, id, { ...of, expires_in: null })
        const authenticated = async () =>
          service.as(await service.authenticate({ token, proof: null }))
        return {
          id,
          enrol,
          ask: {
            session: server.account({ ...session, keys: maker.keys }).context.read,
            token: async () => (await authenticated()).context.read({}),
            bearer: async () => (await authenticated()).bearer.read({}),
            renewal: () =>
              server
                .door(maker.keys.auth)
                .session.renew({ body: { refresh_token: session.refresh_token } }),
          } as Readonly<Record<string, (input: object) => Promise<unknown>>>,
        }
      }

      test('loses tokens, sessions and sign-in until it is activated, and then has the same again', async () => {
        const ada = await orgs.owner()
        const { id, ask, enrol } = await machine(ada)
        for (const call of Object.values(ask)) await call({})
        assert.equal((await suspend(ada, id)).state, 'suspended')
        for (const [what, call] of Object.entries(ask))
          // The session is valid: its device need not sign in again.
          await rejects(
            ['session', 'renewal'].includes(what) ? 'forbidden' : 'invalid_token',
            call({}),
          )
        await rejects('invalid_client', enrol())
        assert.equal((await activate(ada, id)).state, 'active')
        for (const call of Object.values(ask)) await call({})
        await enrol()
      })

      test('cannot suspend or activate members as a plain member, and can as an admin', async () => {
        const ada = await orgs.owner()
        const { id } = await machine(ada)
        const bob = await orgs.member(ada)
        const account: Account = orgs.subject.service.as({
          account: id,
          device: null,
          session: null,
          token: 'tok',
        })
        assert.equal((await listed({ account })).length, 3)
        await rejects('forbidden', suspend({ account }, bob.id))
        await orgs.hand.db
          .updateTable('organisation_members')
          .set({ role: 'admin' })
          .where('account_id', '=', id)
          .execute()
        assert.equal((await suspend({ account }, bob.id)).state, 'suspended')
        assert.deepEqual((await orgs.events(ada.organisation)).at(-1), {
          event: 'member_suspended',
          actor: id,
          target: bob.id,
        })
      })
    })

    describe('the last owner', () => {
      test('cannot be suspended; with another owner, can leave and come back', async () => {
        const ada = await orgs.owner()
        await orgs.member(ada, 'admin')
        const lost = await orgs.member(ada, 'owner')
        await suspend(ada, lost.id)
        await rejects('invalid_state', suspend(ada, ada.id), { state: 'last_owner' })
        assert.equal((await listed(ada)).at(-1)?.state, 'active')
        await activate(ada, lost.id)
        assert.equal((await suspend(ada, ada.id)).state, 'suspended')
        await rejects('no_active_organisation', listed(ada))
        await rejects('invalid_state', suspend(lost, lost.id), { state: 'last_owner' })
        await activate(lost, ada.id)
        assert.equal((await listed(ada)).length, 3)
      })

      test('of two owners who suspend each other, or themselves, at the same moment, one stays', async () => {
        for (const whom of ['each other', 'themselves']) {
          const ada = await orgs.owner()
          const bob = orgs.inside(await orgs.member(ada, 'owner'), orgs.replica)
          const ids = whom === 'themselves' ? [ada.id, bob.id] : [bob.id, ada.id]
          const answers = await Promise.allSettled([suspend(ada, ids[0]!), suspend(bob, ids[1]!)])
          const done = answers.filter(({ status }) => status === 'fulfilled')
          assert.equal(done.length, 1, whom)
          const rows = await orgs.hand.db
            .selectFrom('organisation_members')
            .select('state')
            .where('organisation_id', '=', ada.organisation)
            .execute()
          assert.deepEqual(rows.map(({ state }) => state).toSorted(), ['active', 'suspended'], whom)
        }
      })
    })

    describe('the assurance of a stamp', () => {
      /** Returns the assurance in the receipt, which a look-up of the words returns as well. */
      async function assurance(by: Person, reader: Person) {
        const { stamp } = stampOf(by)
        const { receipt } = await by.account.stamps.create({ body: { stamp } })
        const serverKey = by.enrolment.receipt_key
        const facts = verifyStamp({ stamp, key_log: [by.entry], receipt }, { serverKey })
        const words = stampIndices(stamp)
        const { stamps } = await reader.account.lookups.create({ body: { words } })
        assert.equal(stamps[0]?.assurance, facts.receipt?.assurance)
        return facts.receipt?.assurance
      }

      test('depends on what the server knows of the signer at that moment', async () => {
        const [ada, reader] = [await orgs.owner(), await orgs.byMail()]
        const bob = await orgs.member(ada)
        const nobody = await orgs.person('Nobody')
        assert.equal(await assurance(nobody, reader), 'device')
        const { id } = await nobody.account.organisations.create({ body: { name: 'A bank' } })
        await use(nobody, id)
        assert.equal(await assurance(nobody, reader), 'device', 'anybody can make one')
        assert.equal(await assurance(bob, reader), 'organisation')
        await suspend(ada, bob.id)
        assert.equal(await assurance(bob, reader), 'verified_email')
        await activate(ada, bob.id)
        assert.equal(await assurance(bob, reader), 'organisation')
        await use(bob, null)
        assert.equal(await assurance(bob, reader), 'verified_email')
      })
    })
  })
}
