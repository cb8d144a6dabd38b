/** The reset of an account: a new device replaces all others. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { type KeyPair, publicKeys } from '../../src/crypto/device-keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { isLinked } from '../../src/crypto/logs/generations.ts'
import { vouchFor } from '../../src/crypto/logs/key-log-entries.ts'
import { newRecoverySeed, recoveryKeyOf } from '../../src/crypto/recovery-paper.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import {
  addressOf,
  approve,
  arrived,
  enrol,
  enrolByMail,
  enrolled,
  join,
  logOf,
  mailedCode,
  newAddress,
  newMaker,
  protect,
  resetMaker,
  resetOf,
} from '../service/person.ts'
import { isInvalid, shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

const MOST = 10

export function resetSuite(accounts: () => Accounts): void {
  let { server } = {} as Accounts
  before(() => {
    ;({ server } = accounts())
  })

  describe('reset', () => {
    test('leaves one new device, and nothing of the old ones', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const [second, waiting] = [
        await join(server, await mailedCode(server, email)),
        await join(server, await mailedCode(server, email)),
      ]
      await approve(ada, second)
      const code = await mailedCode(server, email)
      const renewed = await resetOf(server, ada.id, code)
      assert.equal(renewed.enrolment.account_id, ada.id)
      assert.equal(renewed.enrolment.approved, true)
      for (const { account, enrolment, keys } of [ada, second, waiting]) {
        await shutOut(account.context.read({}))
        const { refresh_token } = enrolment.session
        const door = server.door(keys.auth)
        await rejects('invalid_token', door.session.renew({ body: { refresh_token } }))
      }
      const { items } = await renewed.account.devices.list({})
      assert.deepEqual(
        items.map((device) => device.id),
        [renewed.device],
      )
      const log = await logOf(renewed)
      assert.equal(log.generation, 2)
      assert.deepEqual((await renewed.account.context.read({})).user.email, email)
      const letter = await arrived(server, email, /were replaced by a new one, "Ada's laptop"/)
      assert.match(letter.subject, /were replaced/)
    })

    test('with the recovery key: linked, and still by the code of the mailbox', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const paper = await protect(ada)
      const code = await mailedCode(server, email)
      const renewed = await resetOf(server, ada.id, code, undefined, paper)
      const log = await logOf(renewed)
      assert.deepEqual([log.generation, isLinked(log, 1, 2)], [2, true])
      await arrived(server, email, /a sign-in code and the words of a recovery key of your account/)
      await rejects('invalid_token', resetOf(server, ada.id, 'no code', log.entries, paper))
    })

    test('with another recovery key: rejected, and nothing is reset', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      await protect(ada)
      const code = await mailedCode(server, email)
      const { entries } = await logOf(ada)
      const other = recoveryKeyOf(newRecoverySeed())
      // As another client would send it.
      const keys = newDeviceKeys()
      const device = newId('dev_', Date.now())
      const at = {
        account: ada.id,
        seq: entries.length,
        prev: encodeBase64url(entryHash(entries.at(-1)!)),
      }
      const unsigned = { op: 'reset', ...at, device, keys: publicKeys(keys) } as const
      const kid = thumbprint(keys.sign.jwk)
      const payload = {
        v: 2,
        ...unsigned,
        recovery_sig: vouchFor(unsigned, other),
        by: device,
        at: 1,
      }
      const entry = signJws('keylog+jws', kid, payload, keys.sign.secret)
      const maker = { id: ada.id, device, keys, kid, entry }
      await isInvalid('entry', 'bad_recovery_sig', enrolled(server, maker, code))
      await ada.account.context.read({})
    })

    test('the same entry with its code again: another session', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const code = await mailedCode(server, email)
      const renewed = await resetOf(server, ada.id, code)
      const again = await enrolled(server, renewed, code)
      await again.account.context.read({})
      await renewed.account.context.read({})
      assert.equal((await logOf(again)).seq, 1)
    })

    test(`${MOST} a day without a recovery key, and more with one`, async () => {
      const ada = await enrol(server)
      const paper = await protect(ada)
      const again = async (key?: KeyPair) =>
        resetOf(server, ada.id, await server.newEnrolmentCode(ada.id), undefined, key)
      for (let i = 0; i < MOST; i++) await again()
      await rejects('rate_limited', again())
      const renewed = await again(paper)
      assert.equal((await logOf(renewed)).generation, 2 + MOST)
      await rejects('rate_limited', again())
    })

    test('resets by a thief’s key do not use up those of the owner', async () => {
      const ada = await enrol(server)
      const paper = await protect(ada)
      const again = async (key?: KeyPair) =>
        resetOf(server, ada.id, await server.newEnrolmentCode(ada.id), undefined, key)
      const stolen = await protect(await again())
      for (let i = 0; i < MOST; i++) await again(stolen)
      await rejects('rate_limited', again(stolen))
      const renewed = await again(paper)
      assert.equal(isLinked(await logOf(renewed), 1, 3 + MOST), true)
    })

    test('needs a credential of that account, and the newest entry', async () => {
      const email = newAddress()
      const [ada, eve] = [await enrolByMail(server, email), await enrolByMail(server, newAddress())]
      const other = await mailedCode(server, await addressOf(eve))
      await rejects('invalid_token', resetOf(server, ada.id, other, [ada.entry]))
      const free = await server.newEnrolmentCode()
      await rejects('conflict', resetOf(server, ada.id, free, [ada.entry]))
      const laptop = await join(server, await mailedCode(server, email))
      await approve(ada, laptop)
      const code = await mailedCode(server, email)
      await rejects('conflict', resetOf(server, ada.id, code, [ada.entry]))
      const maker = newMaker()
      const nobody = resetMaker(maker.id, [maker.entry])
      await isInvalid('entry', 'bad_op|gap', enrolled(server, nobody, free))
      await ada.account.context.read({})
      await resetOf(server, ada.id, code)
    })
  })
}
