/**
 * Requests that every route of an account rejects: invalid cursors and ids, members that no row
 * defines, and resources of another account. On every server.
 */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { changeBy } from '../service/connections/connecting.ts'
import { connect, enrol, newAddress } from '../service/person.ts'
import { isInvalid, type Accounts, type Call } from './subject.ts'
import { rejects } from '../rejects.ts'

export function refusalsSuite(accounts: () => Accounts): void {
  let { server, newGuest } = {} as Accounts
  before(() => {
    ;({ server, newGuest } = accounts())
  })

  test('a foreign cursor and an invalid limit', async () => {
    const ada = await enrol(server)
    await connect(ada)
    await connect(ada)
    const { next_cursor } = await ada.account.connections.list({ limit: 1 })
    const { connections, guestCodes, verificationLog, profiles } = ada.account
    const keys: typeof connections.list = (page) =>
      profiles.keys({ id: ada.id, ...page }) as unknown as ReturnType<typeof connections.list>
    const lists = [guestCodes.list, verificationLog.list, keys]
    for (const list of [connections.list, ...lists])
      for (const cursor of ['', '*', 'a', 'Y29uX1x4', `${next_cursor}A`])
        await rejects('bad_request', list({ cursor }))
    for (const list of lists) await rejects('bad_request', list({ cursor: next_cursor! }))
    for (const limit of [0, 201, 1.5])
      await rejects('validation_failed', connections.list({ limit }))
  })

  test('a malformed id is not found', async () => {
    const { account, entry, id: account_id } = await enrol(server)
    const real = newId('con_', Date.now())
    for (const id of ['x', 'con_', `${real}0`, real.toUpperCase(), `${real.slice(0, -1)}\0`]) {
      const calls: Call[] = [
        (of) => of.connections.read({ id }),
        (of) => of.connections.update({ id, body: { name: 'x' } }),
        (of) => of.connections.favorite({ id, body: {} }),
        (of) => of.connections.delete({ id }),
        (of) => of.members.add({ id, body: { user_id: account_id } }),
        (of) => of.members.remove({ id, mid: account_id }),
        (of) => of.consents.wanted({ invitation: id }),
        (of) => of.invitations.decline({ id }),
        (of) => of.invitations.withdraw({ id }),
        (of) => of.rosters.read({ connection: id }),
        (of) => of.rosters.append({ connection: id, body: { entry, envelopes: [] } }),
        (of) => of.envelopes.read({ connection: id }),
        (of) => of.envelopes.add({ connection: id, body: { envelopes: [entry] } }),
        (of) => of.guestCodes.delete({ id }),
        (of) => of.keyLogs.read({ account: id }),
        (of) => of.profiles.keys({ id }),
        (of) => of.profiles.read({ id }),
        (of) => of.devices.delete({ id }),
      ]
      for (const call of calls) await rejects('not_found', call(account))
    }
  })

  test('an unknown field is rejected', async () => {
    const ada = await enrol(server)
    const { id } = await connect(ada)
    const extra = { name: 'x', owner: 'eve' } as { name: string }
    await isInvalid(
      'owner',
      'There is no field "owner"',
      ada.account.connections.update({ id, body: extra }),
    )
    await isInvalid('name', '', ada.account.connections.update({ id, body: { name: '' } }))
  })

  test('an account can neither see nor change data of another', async () => {
    const [ada, eve] = [await enrol(server), await enrol(server)]
    const connection = await connect(ada)
    const guest = await newGuest(ada.account)
    const { id } = connection
    const mail = { body: { email: newAddress() } }
    const asked = await ada.account.members.add({ id, ...mail })
    const rotation = (await changeBy(ada, id, { op: 'rotate' })).body
    const before = await ada.account.connections.read({ id })
    const calls: Call[] = [
      (of) => of.connections.read({ id }),
      (of) => of.connections.update({ id, body: { name: 'x' } }),
      (of) => of.connections.update({ id, body: {} }),
      (of) => of.connections.favorite({ id, body: {} }),
      (of) => of.connections.delete({ id }),
      (of) => of.members.add({ id, ...mail }),
      (of) => of.members.remove({ id, mid: ada.id }),
      (of) => of.consents.wanted({ invitation: asked.id }),
      (of) => of.invitations.decline({ id: asked.id }),
      (of) => of.invitations.withdraw({ id: asked.id }),
      (of) => of.rosters.read({ connection: id }),
      (of) => of.rosters.append({ connection: id, body: rotation }),
      (of) => of.envelopes.read({ connection: id }),
      (of) => of.envelopes.add({ connection: id, body: { envelopes: rotation.envelopes } }),
      (of) => of.guestCodes.delete({ id: guest.id }),
    ]
    for (const call of calls) await rejects('not_found', call(eve.account))
    const { connections, guestCodes, verificationLog } = eve.account
    for (const list of [connections.list, guestCodes.list, verificationLog.list])
      assert.deepEqual(await list({}), { items: [], next_cursor: null })
    assert.deepEqual(await eve.account.invitations.list({}), { received: [], sent: [] })
    assert.deepEqual(await eve.account.duties.read({}), { joins: [], unsealed: [] })
    assert.deepEqual((await ada.account.connections.list({})).items, [before])
    assert.deepEqual((await ada.account.guestCodes.list({})).items, [guest])
  })
}
