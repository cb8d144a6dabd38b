/** The deletion of an account, as its own devices and other accounts see it. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { connected, knownBy } from '../service/connections/connecting.ts'
import {
  approve,
  connect,
  enrol,
  enrolByMail,
  join,
  mailedCode,
  newAddress,
} from '../service/person.ts'
import { shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function accountEndSuite(accounts: () => Accounts): void {
  let { server, newGuest } = {} as Accounts
  before(() => {
    ;({ server, newGuest } = accounts())
  })

  describe('account deletion', () => {
    test('removes the account at once, for all its devices; its mailbox opens a new one', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const second = await join(server, await mailedCode(server, email))
      await approve(ada, second)
      await connect(ada)
      await newGuest(ada.account)
      assert.equal(await ada.account.account.delete({}), undefined)
      for (const { account, enrolment, keys } of [ada, second]) {
        await shutOut(account.context.read({}))
        await shutOut(account.account.delete({}))
        const { refresh_token } = enrolment.session
        const door = server.door(keys.auth)
        await rejects('invalid_token', door.session.renew({ body: { refresh_token } }))
      }
      const again = await enrolByMail(server, email)
      for (const list of [again.account.connections.list, again.account.guestCodes.list])
        assert.deepEqual((await list({})).items, [])
    })

    test('shows the account as deleted to others, who can check what it signed', async () => {
      const {
        id,
        people: [ada, bob, cy],
      } = await connected(server, ['Ada', 'Bob', 'Cy'])
      const before = await bob.account.connections.read({ id })
      await bob.account.trustCards.create({ body: { user_id: ada.id } })
      await ada.account.account.delete({})
      const after = await bob.account.connections.read({ id })
      assert.deepEqual(
        after.members.map(({ user_id }) => user_id ?? '').toSorted(),
        [bob.id, cy.id].toSorted(),
      )
      assert(after.updated_at > before.updated_at, 'devices fetch it again')
      assert.deepEqual((await knownBy(bob, id)).roster.members.length, 3)
      const { key_logs } = await cy.account.rosters.read({ connection: id })
      assert.equal(key_logs.find(({ account }) => account === ada.id)?.departed_epoch, 1)
      assert.deepEqual((await bob.account.trustCards.list({})).items, [])
      const stranger = await enrol(server)
      for (const call of [
        () => stranger.account.keyLogs.read({ account: ada.id }),
        () => bob.account.profiles.read({ id: ada.id }),
        () => bob.account.members.add({ id, body: { user_id: ada.id } }),
      ])
        await assert.rejects(call, ({ code }: { code?: string }) =>
          ['not_found', 'forbidden'].includes(code ?? ''),
        )
    })
  })
}
