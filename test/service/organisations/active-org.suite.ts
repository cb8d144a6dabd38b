/** The active organisation of a caller, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Account } from '../../../src/api/port.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import { activeOrganisation } from '../../../src/service/accounts/active-organisation.ts'
import { mintMachineToken } from '../../../src/service/devices/machine-tokens.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import { type ServiceDatabase, openServiceDatabase } from '../database.ts'
import type { Engine } from '../engines.ts'
import { newKey } from '../machines-subject.ts'
import {
  approve,
  enrol,
  enrolByMail,
  enrolled,
  join,
  mailedCode,
  newAddress,
  type Person,
} from '../person.ts'
import { openSubject, type LocalSubject } from '../subject.ts'
import { rejects } from '../../rejects.ts'

type Membership = Pick<Schema['organisation_members'], 'role' | 'state'>

export function activeOrgSuite(name: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let hand: ServiceDatabase
  before(async () => {
    const place = await newPlace()
    subject = await openSubject(place)
    hand = await openServiceDatabase(place)
  })
  after(async () => {
    await hand.close()
    await subject.close()
  })

  const create = ({ account }: Pick<Person, 'account'>, called = 'Acme') =>
    account.organisations.create({ body: { name: called } })
  const use = ({ account }: { account: Account }, organisation_id: string | null) =>
    account.context.activeOrg({ body: { organisation_id } })
  const active = async ({ account }: { account: Account }) =>
    (await account.context.read({})).active_organisation
  const listed = async ({ account }: { account: Account }) =>
    (await account.sessions.list({})).items.map((one) => one.active_organisation_id)

  /** Stores a membership as a manager of the organisation would create it. */
  async function member({ id }: Person, organisation: string, of: Partial<Membership> = {}) {
    const row = { role: 'member', state: 'active', ...of } as const
    await hand.db
      .insertInto('organisation_members')
      .values({
        organisation_id: organisation,
        account_id: id,
        joined_at: 0,
        member_id: newId('mem_', Date.now()),
        ...row,
      })
      .onConflict((conflict) =>
        conflict.columns(['organisation_id', 'account_id']).doUpdateSet(row),
      )
      .execute()
  }

  /** Enrols a person with two devices. */
  async function twoDevices() {
    const email = newAddress()
    const ada = await enrolByMail(subject.server, email)
    const laptop = await join(subject.server, await mailedCode(subject.server, email))
    await approve(ada, laptop)
    return { email, ada, laptop }
  }

  describe(`the active organisation: ${name}`, () => {
    test('is chosen, changed and cleared for one device alone', async () => {
      const { ada, laptop } = await twoDevices()
      const [acme, club] = [await create(ada), await create(ada, 'Club')]
      assert.equal(await active(ada), undefined)
      const chosen = await use(ada, acme.id)
      assert.deepEqual(chosen, await ada.account.context.read({}))
      assert.deepEqual(chosen.active_organisation, { ...acme, role: 'owner' })
      assert.equal(chosen.organisations.length, 2)
      assert.equal(await active(laptop), undefined)
      assert.deepEqual(await listed(laptop), [null, acme.id])
      await use(laptop, club.id)
      assert.deepEqual(await use(ada, acme.id), chosen, 'once more')
      assert.deepEqual(await listed(laptop), [club.id, acme.id])
      for (let i = 0; i < 2; i++) assert(!('active_organisation' in (await use(ada, null))))
      assert.equal((await active(laptop))?.id, club.id)
    })

    test('a renewed session keeps it, a new session begins without one', async () => {
      const { email, ada } = await twoDevices()
      const { id } = await create(ada)
      await use(ada, id)
      const { refresh_token } = ada.enrolment.session
      const door = subject.server.door(ada.keys.auth)
      const renewed = await door.session.renew({ body: { refresh_token } })
      const account = subject.server.account({ ...renewed, keys: ada.keys })
      assert.equal((await active({ account }))?.id, id)
      const code = await mailedCode(subject.server, email)
      const again = await enrolled(subject.server, ada, code)
      assert.equal(await active(again), undefined)
    })

    const states: [of: Partial<Membership> | null, may: boolean][] = [
      [{ role: 'owner' }, true],
      [{ role: 'admin' }, true],
      [{ role: 'member' }, true],
      [{ state: 'invited' }, false],
      [{ state: 'suspended' }, false],
      [{ role: 'owner', state: 'suspended' }, false],
      [null, false],
    ]
    for (const [of, may] of states)
      test(`as ${of === null ? 'no member' : JSON.stringify(of)}: ${may ? 'chosen' : 'not found'}`, async () => {
        const [ada, bob] = [await enrol(subject.server), await enrol(subject.server, 'Bob')]
        const { id } = await create(ada)
        if (of !== null) await member(bob, id, of)
        if (may) assert.equal((await use(bob, id)).active_organisation?.role, of!.role)
        else await rejects('not_found', use(bob, id))
        assert.equal((await active(bob))?.id, may ? id : undefined)
      })

    test('ends with the membership, and is back when the membership is', async () => {
      const [ada, bob] = [await enrol(subject.server), await enrol(subject.server, 'Bob')]
      const { id } = await create(ada)
      await member(bob, id)
      await use(bob, id)
      await member(bob, id, { state: 'suspended' })
      assert.equal(await active(bob), undefined)
      assert.deepEqual(await listed(bob), [null])
      await member(bob, id, { role: 'admin' })
      assert.deepEqual(await active(bob), { id, name: 'Acme', role: 'admin' })
      await hand.db.deleteFrom('organisation_members').where('account_id', '=', bob.id).execute()
      assert.equal(await active(bob), undefined)
      await use(ada, id)
      await hand.db.deleteFrom('organisations').where('id', '=', id).execute()
      assert.equal(await active(ada), undefined)
      assert.deepEqual(await listed(ada), [null])
    })

    test('unknown and malformed ids are rejected', async () => {
      const ada = await enrol(subject.server)
      const { id } = await create(ada)
      await use(ada, id)
      await rejects('not_found', use(ada, newId('org_', Date.now())))
      for (const bad of ['', 'org_', ada.id, `${id}\u202e`, '<b>Acme</b>', 'x'.repeat(1 << 20)])
        await rejects('validation_failed', use(ada, bad))
      for (const body of [{}, { organisation_id: 7 }, { organisation_id: id, more: 1 }])
        await rejects('validation_failed', ada.account.context.activeOrg({ body: body as never }))
      assert.equal((await active(ada))?.id, id)
    })

    test('an ended session cannot choose one', async () => {
      const ada = await enrol(subject.server)
      const { id } = await create(ada)
      const who = { account: ada.id, device: ada.device, token: null }
      for (const session of [newId('ses_', Date.now()), null]) {
        const account = subject.service.as({ ...who, session })
        await rejects('not_signed_in', use({ account }, id))
        assert.equal(await activeOrganisation(hand.db, { ...who, session }), null)
      }
    })

    describe('a machine account', () => {
      /**
       * Creates a machine account of an organisation; returns the bearer of its token and its
       * device.
       */
      async function machine() {
        const owner = await enrol(subject.server)
        const { id } = await create(owner)
        const { machine_id: account_id } = await owner.account.machines.create({
          body: { organisation_id: id, name: 'billing', key: newKey().jwk },
        })
        const now = () => subject.clock.ms
        const of = { name: 'x', label: null, scope: 'write', granted: 0, expires_in: null } as const
        const { token } = await mintMachineToken({ db: hand.db, now }, account_id, of)
        const bearer = subject.service.as(
          await subject.service.authenticate({ token, proof: null }),
        )
        const session = newId('ses_', Date.now())
        const who = { account: account_id, device: newId('dev_', Date.now()), session, token: null }
        return { id, owner, account_id, bearer, device: subject.service.as(who) }
      }

      test('its organisation is always the active one', async () => {
        const { id, owner, bearer, device } = await machine()
        const other = await create(owner, 'Other')
        for (const account of [bearer, device]) {
          const expected = { id, name: 'Acme', role: 'member' }
          assert.deepEqual(await active({ account }), expected)
          assert.deepEqual((await use({ account }, id)).active_organisation, expected)
          await rejects('invalid_state', use({ account }, null), { state: 'machine' })
          for (const none of [other.id, newId('org_', Date.now())])
            await rejects('not_found', use({ account }, none))
          assert.deepEqual(await active({ account }), expected)
        }
        assert.equal(await active(owner), undefined)
      })

      test('has none while it is suspended', async () => {
        const { id, account_id, device } = await machine()
        await hand.db
          .updateTable('organisation_members')
          .set({ state: 'suspended' })
          .where('account_id', '=', account_id)
          .execute()
        assert.equal(await active({ account: device }), undefined)
        await rejects('not_found', use({ account: device }, id))
      })

      test('its token lists the sessions of its account, none of them as its own', async () => {
        const { id, account_id, bearer } = await machine()
        const device = newId('dev_', subject.clock.ms)
        await hand.db
          .insertInto('devices')
          .values({
            id: device,
            account_id,
            name: 'desk',
            platform: 'linux',
            auth_kid: device,
            seal_key: '',
            created_at: 0,
          })
          .execute()
        const session = newId('ses_', subject.clock.ms)
        const at = subject.clock.ms
        await hand.db
          .insertInto('sessions')
          .values({
            id: session,
            account_id,
            device_id: device,
            refresh_hash: session,
            created_at: at,
            last_seen_at: at,
            proven: 1,
          })
          .execute()
        const { items } = await bearer.sessions.list({})
        assert.deepEqual(
          items.map((one) => [one.id, one.current, one.active_organisation_id]),
          [[session, false, id]],
        )
        await bearer.sessions.delete({ id: session })
        await rejects('not_found', bearer.sessions.delete({ id: session }))
      })
    })
  })
}
