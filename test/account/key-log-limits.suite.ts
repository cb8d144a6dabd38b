/**
 * Limits on the entries that a device may append to its account’s key log, because all contacts
 * read it. On every server.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { ed25519 } from '@noble/curves/ed25519.js'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { enrol, logOf, protect, renewSealing, revocationBy } from '../service/person.ts'
import { isInvalid, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

const MOST = 50

export function keyLogLimitsSuite(accounts: () => Accounts): void {
  let { server } = {} as Accounts
  before(() => {
    ;({ server } = accounts())
  })

  describe('a key log', () => {
    test(`accepts ${MOST} changes of keys a day, and a revocation at any time`, async () => {
      const ada = await enrol(server)
      await protect(ada)
      for (let i = 1; i < MOST; i++) await renewSealing(ada)
      await rejects('rate_limited', renewSealing(ada))
      assert.equal((await logOf(ada)).entries.length, 1 + MOST)
      const entry = await revocationBy(ada, ada.device)
      await ada.account.keyLogs.append({ body: { entry } })
    })

    test('rejects entries padded with white space', async () => {
      const ada = await enrol(server)
      const [header, payload] = (await revocationBy(ada, ada.device)).split('.')
      const text = Buffer.from(payload!, 'base64url').toString()
      const padded = Buffer.from(`${text}${' '.repeat(4096)}`).toString('base64url')
      const signed = `${header}.${padded}`
      const signature = ed25519.sign(Buffer.from(signed), ada.keys.sign.secret)
      const entry = `${signed}.${encodeBase64url(signature)}`
      await isInvalid('entry', 'too_large', ada.account.keyLogs.append({ body: { entry } }))
      assert.equal((await logOf(ada)).entries.length, 1)
    })
  })
}
