/** The verification log of an account. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { enrol, type Person } from '../service/person.ts'
import { everything, isInvalid, type Accounts } from './subject.ts'

export function verificationLogSuite(accounts: () => Accounts): void {
  let { server } = {} as Accounts
  before(() => {
    ;({ server } = accounts())
  })

  describe('verification log', () => {
    const entryOf = (id = newId('ver_', Date.now()), display_name = 'Bob') => ({
      id,
      at: new Date(Date.now()).toISOString(),
      method: 'local' as const,
      outcome: 'verified' as const,
      matches: [
        {
          kind: 'guest' as const,
          speaker: 'other' as const,
          guest_code_id: newId('gst_', Date.now()),
          external_member: { id: newId('ext_', Date.now()), display_name: 'Maria Muster' },
          display_name,
          window: 29453760,
        },
      ],
      caller: null,
    })

    test('push keeps the first entry of an id, and list returns the pushed entries', async () => {
      const [ada, bob] = [await enrol(server), await enrol(server)]
      const [a, b, c] = [entryOf(), entryOf(), entryOf()]
      const push = (person: Person, ...items: ReturnType<typeof entryOf>[]) =>
        person.account.verifications.push({ body: { items } })
      assert.deepEqual(await push(ada, b, a), { accepted: 2 })
      assert.deepEqual(await push(ada, entryOf(a.id, 'Eve'), c, b), { accepted: 1 })
      assert.deepEqual(await push(ada), { accepted: 0 })
      assert.deepEqual(await push(ada, ...Array<typeof a>(3).fill(a)), { accepted: 0 })
      const pages = await everything(ada.account.verificationLog.list, 2)
      assert.deepEqual(pages, [[c, b], [a]])
      // An id belongs to one account: another account’s entry with it is a different entry.
      assert.deepEqual(await push(bob, entryOf(a.id, 'Bert')), { accepted: 1 })
      const { items } = await bob.account.verificationLog.list({})
      assert.equal(items[0]?.matches[0]?.display_name, 'Bert')
    })

    test('push accepts 500 entries', async () => {
      const { account } = await enrol(server)
      const items = Array.from({ length: 500 }, () => entryOf())
      assert.deepEqual(await account.verifications.push({ body: { items } }), { accepted: 500 })
      await isInvalid(
        'items',
        '500',
        account.verifications.push({ body: { items: [...items, entryOf()] } }),
      )
    })
  })
}
