/**
 * The key log of an account: the entries that the server accepts, and the keys that it returns.
 * On every server.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { malformedKeyLogEntries } from '../crypto/malformed.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { addDevice, renewSealKey, resetLog } from '../../src/crypto/logs/key-log-entries.ts'
import {
  additionBy,
  approve,
  enrol,
  enrolByMail,
  furtherOf,
  join,
  logOf,
  mailedCode,
  newAddress,
  newcomerOf,
  sealKeyOf,
  revocationBy,
  stampOf,
  tampered,
} from '../service/person.ts'
import { withNewcomer } from './newcomer.ts'
import { MINUTE, everything, isInvalid, shutOut, type Accounts } from './subject.ts'
import { rejects } from '../rejects.ts'

export function keyLogsSuite(accounts: () => Accounts): void {
  let { server, later, time } = {} as Accounts
  before(() => {
    ;({ server, later, time } = accounts())
  })

  describe('the key log', () => {
    test('another sealing key than the named one cannot enrol', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const newcomer = newcomerOf()
      const { body } = furtherOf(newcomer, await mailedCode(server, email))
      const seal_key = sealKeyOf(ada.keys)
      const further = server.door().enrolment.further({ body: { ...body, seal_key } })
      await isInvalid('seal_key', 'hash_mismatch', further)
      const { items } = await ada.account.devices.list({})
      assert.deepEqual(
        items.map(({ id }) => id),
        [ada.device],
      )
      await join(server, body.code, newcomer)
    })

    test('renew: the new sealing key is returned, and only with its entry', async () => {
      const ada = await enrol(server)
      const { seal } = newDeviceKeys()
      const log = await logOf(ada)
      const by = { by: ada.device, kid: ada.kid, seed: ada.keys.sign.secret, at: 1 }
      const entry = renewSealKey({ log, seal: sealKeyId(seal.publicKey), ...by })
      const seal_key = sealKeyOf({ seal })
      for (const wrong of [undefined, sealKeyOf(ada.keys)])
        await isInvalid(
          'entry',
          'hash_mismatch',
          ada.account.keyLogs.append({ body: { entry, seal_key: wrong } }),
        )
      await ada.account.keyLogs.append({ body: { entry, seal_key } })
      const { entries, seal_keys } = await ada.account.keyLogs.read({ account: ada.id })
      assert.deepEqual([entries, seal_keys], [[ada.entry, entry], [seal_key]])
      const [, shown] = (await ada.account.profiles.keys({ id: ada.id })).items
      assert.deepEqual([shown?.id, shown?.use], [sealKeyId(seal.publicKey), 'seal'])
    })

    test('rejects invalid entries', async () => {
      const { ada, laptop } = await withNewcomer(server)
      const { laptop: theirs } = await withNewcomer(server)
      const evil = newcomerOf(newDeviceKeys(), laptop.device)
      const stranger = newcomerOf()
      const log = await logOf(ada)
      const reset = resetLog({ log, device: stranger.device, keys: stranger.keys, at: 1 })
      const self = addDevice({
        log,
        device: { id: laptop.device, keys: publicKeys(laptop.keys) },
        by: ada.device,
        kid: ada.kid,
        seed: ada.keys.sign.secret,
        at: 1,
      })
      const forged = (of: { by?: string; kid?: string }) => {
        const payload = JSON.parse(
          Buffer.from(self.split('.')[1]!, 'base64url').toString(),
        ) as object
        const { kid = laptop.kid, ...rest } = of
        return signJws('keylog+jws', kid, { ...payload, ...rest }, laptop.keys.sign.secret)
      }
      const cases: [string, string][] = [
        ['bad_key', await additionBy(ada, evil)],
        ['unknown_device', await additionBy(ada, stranger)],
        ['unknown_device', await additionBy(ada, theirs)],
        ['unknown_signer', forged({ by: laptop.device })],
        ['kid_mismatch', forged({})],
        ['bad_signature', forged({ kid: ada.kid })],
        ['bad_signature', tampered(self)],
        ['bad_op', reset],
        ['wrong_typ', stampOf(ada).stamp],
      ]
      for (const [reason, entry] of cases)
        await isInvalid('entry', reason, ada.account.keyLogs.append({ body: { entry } }))
      const by = { by: ada.device, kid: ada.kid, seed: ada.keys.sign.secret, at: 1 }
      const { seal } = newDeviceKeys()
      const renewal = renewSealKey({ log, seal: sealKeyId(seal.publicKey), ...by })
      const seal_key = sealKeyOf({ seal })
      for (const [, entry, reason] of malformedKeyLogEntries(renewal, ada.keys.sign.secret))
        await isInvalid('entry', reason, ada.account.keyLogs.append({ body: { entry, seal_key } }))
      assert.deepEqual((await logOf(ada)).entries, [ada.entry])
      await ada.account.keyLogs.append({ body: { entry: renewal, seal_key } })
      await approve(ada, laptop)
    })

    test('a device can append its own entries, and none signed by another device', async () => {
      const { ada, laptop } = await withNewcomer(server)
      await approve(ada, laptop)
      const entry = await revocationBy({ ...laptop, id: ada.id }, ada.device)
      await isInvalid('entry', 'unknown_signer', ada.account.keyLogs.append({ body: { entry } }))
      await laptop.account.keyLogs.append({ body: { entry } })
      await shutOut(ada.account.context.read({}))
    })

    test('of two entries with one predecessor, the first is stored', async () => {
      const { email, ada, laptop } = await withNewcomer(server)
      const second = await join(server, await mailedCode(server, email))
      const entries = [await additionBy(ada, laptop), await additionBy(ada, second)]
      const all = await Promise.allSettled(
        entries.map((entry) => ada.account.keyLogs.append({ body: { entry } })),
      )
      assert.deepEqual(all.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      const stored = (await logOf(ada)).entries
      assert.equal(stored.length, 2)
      const fork = entries.find((entry) => !stored.includes(entry))!
      await rejects('conflict', ada.account.keyLogs.append({ body: { entry: fork } }))
    })
  })

  describe('keys of an account', () => {
    test('every signed-in account can read them from the log, page by page', async () => {
      const ada = await enrol(server, 'Ada')
      const at = time()
      later(MINUTE)
      const bob = await enrol(server, 'Bob')
      const of = { device_name: "Ada's laptop", created_at: at }
      const { jwk } = ada.keys.sign
      const sign = { id: thumbprint(jwk), use: 'sign', jwk, ...of }
      const { seal: id } = publicKeys(ada.keys)
      const seal = { id, use: 'seal', suite: 1, key: sealKeyOf(ada.keys), ...of }
      const { items, next_cursor } = await bob.account.profiles.keys({ id: ada.id })
      assert.deepEqual(items, [sign, seal])
      assert.equal(next_cursor, null)
      const pages = await everything(
        (page) => bob.account.profiles.keys({ id: ada.id, ...page }),
        1,
      )
      assert.deepEqual(pages, [[sign], [seal]])
      const log = await bob.account.keyLogs.read({ account: ada.id })
      assert.deepEqual(log.entries, [ada.entry])
    })
  })
}
