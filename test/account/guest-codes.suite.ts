/** Guest codes of an account. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { arrived, enrol, newAddress } from '../service/person.ts'
import { HOUR, MINUTE, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function guestCodesSuite(accounts: () => Accounts): void {
  let { subject, server, later, time, newGuest } = {} as Accounts
  before(() => {
    ;({ subject, server, later, time, newGuest } = accounts())
  })

  describe('guest codes', () => {
    test('create answers without the secret', async () => {
      const { account } = await enrol(server)
      const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
      const made = await newGuest(account, { label: 'Plumber', expires_at })
      assert.deepEqual(made, {
        id: made.id,
        label: 'Plumber',
        state: 'active',
        expires_at,
        external_member_id: null,
        external_member: null,
        last_opened_at: null,
        secret_here: false,
        code: null,
        created_at: time(),
      })
      assert.deepEqual((await account.guestCodes.list({})).items, [made])
    })

    test('create can be repeated; another code with the id is rejected', async () => {
      const [ada, eve] = [await enrol(server), await enrol(server)]
      const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
      const made = await newGuest(ada.account, { expires_at })
      later(1000)
      assert.deepEqual(await newGuest(ada.account, { expires_at }, made.id), made)
      await rejects('conflict', newGuest(ada.account, { label: 'Baker', expires_at }, made.id))
      await rejects('conflict', newGuest(ada.account, {}, made.id))
      await rejects('conflict', newGuest(eve.account, { expires_at }, made.id))
      assert.deepEqual((await ada.account.guestCodes.list({})).items, [made])
    })

    test('delete revokes, and can be repeated; the clock decides on expiry', async () => {
      const { account } = await enrol(server)
      const state = async () => (await account.guestCodes.list({})).items.map((one) => one.state)
      const expires_at = new Date(subject.clock.ms + MINUTE).toISOString()
      await newGuest(account, { expires_at })
      const { id } = await newGuest(account, { expires_at })
      assert.equal(await account.guestCodes.delete({ id }), undefined)
      assert.equal(await account.guestCodes.delete({ id }), undefined)
      assert.deepEqual(await state(), ['revoked', 'active'])
      later(MINUTE)
      assert.deepEqual(await state(), ['revoked', 'expired'])
    })

    test('one for an external member is mailed to them, and revoked when they are deleted', async () => {
      const { account } = await enrol(server)
      const [email, secret] = [newAddress(), 'x'.repeat(43)]
      const external = await account.externalMembers.create({
        body: { display_name: 'Plumber', email },
      })
      assert.deepEqual((await account.externalMembers.list({})).items, [external])
      const expires_at = new Date(subject.clock.ms + HOUR).toISOString()
      const id = newId('gst_', Date.now())
      const body = { id, label: 'Kitchen', expires_at, external_member_id: external.id }
      const made = await account.deviceGuestCodes.create({ body })
      assert.equal(made.external_member_id, external.id)
      assert.deepEqual(made.external_member, { id: external.id, display_name: 'Plumber' })
      assert.deepEqual(await account.deviceGuestCodes.send({ id, body: { secret } }), {
        ...made,
        mailed: false,
      })
      const { text } = await arrived(server, email, /link/)
      assert.match(text, new RegExp(`/g/${id}#${secret}$`, 'm'))
      assert.equal(await account.externalMembers.delete({ id: external.id }), undefined)
      const [left] = (await account.guestCodes.list({})).items
      const ended = { state: 'revoked' as const, external_member_id: null, external_member: null }
      assert.deepEqual(left, { ...made, ...ended })
      const sent = account.deviceGuestCodes.send({ id, body: { secret } })
      await rejects('invalid_state', sent, { state: 'revoked' })
    })

    test('list: fifty a page by default', async () => {
      const { account } = await enrol(server)
      await Promise.all(Array.from({ length: 51 }, () => newGuest(account)))
      const { items, next_cursor } = await account.guestCodes.list({})
      assert.equal(items.length, 50)
      const rest = await account.guestCodes.list({ cursor: next_cursor! })
      assert.equal(rest.items.length, 1)
      const ids = [...items, ...rest.items].map(({ id }) => id)
      assert.deepEqual(ids, [...new Set(ids)].sort().reverse())
    })
  })
}
