/** Exports of an account. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { exported, newest } from '../service/exports/exports-subject.ts'
import { enrol } from '../service/person.ts'
import { type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function exportsSuite(accounts: () => Accounts): void {
  let { server } = {} as Accounts
  before(() => {
    ;({ server } = accounts())
  })

  describe('exports', () => {
    test('requested, built, linked, deleted; those of another account are not found', async () => {
      const [ada, bob] = [await enrol(server), await enrol(server)]
      const { id, size_bytes } = await exported(ada.account)
      assert.ok(size_bytes! > 1000)
      assert.equal((await newest(ada.account)).id, id)
      const { url } = await ada.account.exports.download({ id })
      assert.match(
        url,
        new RegExp(`^https?://[^/]+/exports/${id}\\?expires=\\d+&signature=[\\w-]{43}$`),
      )

      await rejects('not_found', bob.account.exports.download({ id }))
      await rejects('not_found', ada.account.exports.download({ id: newId('exp_', 1) }))
      await rejects('not_found', ada.account.exports.download({ id: 'x' }))
      assert.deepEqual(await bob.account.exports.list({}), { items: [], next_cursor: null })
      assert.deepEqual(await bob.account.exports.clear({}), { deleted: 0 })

      assert.deepEqual(await ada.account.exports.clear({}), { deleted: 1 })
      await rejects('not_found', ada.account.exports.download({ id }))
    })
  })
}
