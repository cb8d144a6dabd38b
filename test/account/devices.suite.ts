/** The devices of an account and their keys: one more, one less. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { publicKeys, type DeviceKeys } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/id.ts'
import { thumbprint } from '../../src/crypto/jwk.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { signJws } from '../../src/crypto/jws-signature.ts'
import { addDevice, renewSealKey, resetLog } from '../../src/crypto/key-log-entries.ts'
import {
  additionBy,
  approve,
  arrived,
  connect,
  enrol,
  enrolByMail,
  enrolled,
  furtherOf,
  join,
  logOf,
  mailedCode,
  newAddress,
  newcomerOf,
  opening,
  resetOf,
  sealKeyOf,
  revocationBy,
  stampOf,
  tampered,
} from '../service/person.ts'
import {
  MINUTE,
  everything,
  fails,
  isInvalid,
  shutOut,
  type Accounts,
  type Call,
} from './subject.ts'

const bytes = 'A'.repeat(43)
const someAnswer = { commitment: bytes, answer: { nonce: bytes, seq: 0, head: bytes } }

export function devicesSuite(accounts: () => Accounts): void {
  let { server, later, time, newGuest } = {} as Accounts
  before(() => {
    ;({ server, later, time, newGuest } = accounts())
  })

  describe('further devices', () => {
    /** A person with a mailbox and a second device that waits. */
    async function withNewcomer() {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const laptop = await join(server, await mailedCode(server, email))
      return { email, ada, laptop }
    }

    test('waits, is added, confirms the log, and may do what a device may', async () => {
      const { email, ada, laptop } = await withNewcomer()
      assert.equal(ada.enrolment.approved, true)
      assert.equal(laptop.enrolment.approved, false)
      const waits = () => ada.account.pendingDevices.read({ id: laptop.device })
      const nothing = { commitment: null, answered_by: null, reveal: null }
      const shown = { id: laptop.device, name: 'laptop 2', platform: 'linux', ...nothing }
      assert.deepEqual(await waits(), shown)
      const entry = await additionBy(ada, laptop)
      const place = await ada.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(place, { seq: 1, head: encodeBase64url(hashOf(entry)) })
      assert.deepEqual((await logOf(ada)).entries, [ada.entry, entry])
      // In the log, and yet to compare it.
      assert.deepEqual(await waits(), shown)
      await fails('forbidden', newGuest(laptop.account))
      const { head } = await logOf({ ...laptop, id: ada.id })
      await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      await newGuest(laptop.account)
      await fails('not_found', waits())
      // Whoever did not hear the answer says it again.
      await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      const again = await ada.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(again, place)
      await arrived(server, email, /new device, "laptop 2",\s+was added/)
    })

    test('list: newest first, each with its state and keys', async () => {
      const { ada, laptop } = await withNewcomer()
      const kids = ({ sign, seal }: DeviceKeys) => [thumbprint(sign.jwk), sealKeyId(seal.publicKey)]
      const of = { platform: 'linux', last_seen_at: time(), created_at: time() } as const
      const expected = [
        {
          ...of,
          id: laptop.device,
          name: 'laptop 2',
          state: 'pending',
          current: false,
          key_ids: kids(laptop.keys),
        },
        {
          ...of,
          id: ada.device,
          name: "Ada's laptop",
          state: 'active',
          current: true,
          key_ids: kids(ada.keys),
        },
      ]
      const { devices } = ada.account
      assert.deepEqual((await devices.list({})).items, expected)
      assert.deepEqual(
        (await everything(devices.list, 1)).flat().map(({ id }) => id),
        [laptop.device, ada.device],
      )
      await approve(ada, laptop)
      const { items } = await laptop.account.devices.list({})
      assert.deepEqual(
        items.map(({ state, current, key_ids }) => [state, current, key_ids]),
        [
          ['active', true, kids(laptop.keys)],
          ['active', false, kids(ada.keys)],
        ],
      )
    })

    test('while it waits it reads, and nothing else', async () => {
      const { ada, laptop } = await withNewcomer()
      const { id } = await connect(ada)
      const guest = await newGuest(ada.account)
      const { account } = laptop
      const reads: Call[] = [
        (of) => of.context.read({}),
        (of) => of.connections.list({}),
        (of) => of.connections.read({ id }),
        (of) => of.devices.list({}),
        (of) => of.keyLogs.read({ account: ada.id }),
        (of) => of.profiles.read({ id: ada.id }),
      ]
      for (const call of reads) await call(account)
      const entry = await additionBy(ada, laptop)
      const opened = await opening(ada)
      const writes: Call[] = [
        (of) => of.connections.update({ id, body: { name: 'x' } }),
        (of) => of.connections.favorite({ id, body: {} }),
        (of) => of.connections.delete({ id }),
        (of) => of.guestCodes.delete({ id: guest.id }),
        (of) => of.devices.delete({ id: ada.device }),
        (of) => of.devices.delete({ id: laptop.device }),
        (of) => newGuest(of),
        (of) => of.rosters.open({ body: opened }),
        (of) => of.rosters.read({ connection: id }),
        (of) => of.envelopes.read({ connection: id }),
        (of) => of.stamps.create({ body: { stamp: stampOf(ada).stamp } }),
        (of) => of.verifications.push({ body: { items: [] } }),
        (of) => of.pendingDevices.read({ id: laptop.device }),
        (of) => of.pendingDevices.answer({ id: laptop.device, body: someAnswer }),
        (of) => of.keyLogs.append({ body: { entry } }),
        (of) => of.organisations.create({ body: { name: 'Acme' } }),
        (of) => of.machineTokens.list({}),
      ]
      for (const call of writes) await fails('forbidden', call(account))
      await fails(
        'invalid_state',
        account.approval.create({ body: { head: encodeBase64url((await logOf(ada)).head) } }),
      )
      assert.deepEqual((await ada.account.connections.read({ id })).name, 'Bob')
    })

    test('no envelope is sealed to it before it is in the log', async () => {
      const { ada, laptop } = await withNewcomer()
      const body = await opening(ada, 'Bob', {
        envelopeOf: { recipient: laptop.device, seal: laptop.keys.seal },
      })
      await isInvalid('envelopes', 'wrong_recipient', ada.account.rosters.open({ body }))
    })

    test('a sealing key that is not the one it names lets no device wait', async () => {
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

    test('renew: the new sealing key is handed out, and only with its entry', async () => {
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

    test('what the server refuses to put into a log', async () => {
      const { ada, laptop } = await withNewcomer()
      const { laptop: theirs } = await withNewcomer()
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
      assert.deepEqual((await logOf(ada)).entries, [ada.entry])
      await approve(ada, laptop)
    })

    test('a device appends what it signed itself, not what another of the account signed', async () => {
      const { ada, laptop } = await withNewcomer()
      await approve(ada, laptop)
      const entry = await revocationBy({ ...laptop, id: ada.id }, ada.device)
      await isInvalid('entry', 'unknown_signer', ada.account.keyLogs.append({ body: { entry } }))
      await laptop.account.keyLogs.append({ body: { entry } })
      await shutOut(ada.account.context.read({}))
    })

    test('of two entries after the same one, the first counts', async () => {
      const { email, ada, laptop } = await withNewcomer()
      const second = await join(server, await mailedCode(server, email))
      const entries = [await additionBy(ada, laptop), await additionBy(ada, second)]
      const all = await Promise.allSettled(
        entries.map((entry) => ada.account.keyLogs.append({ body: { entry } })),
      )
      assert.deepEqual(all.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      const kept = (await logOf(ada)).entries
      assert.equal(kept.length, 2)
      const fork = entries.find((entry) => !kept.includes(entry))!
      await fails('conflict', ada.account.keyLogs.append({ body: { entry: fork } }))
    })

    test('delete turns away one that waits; one in the log takes a signature', async () => {
      const { ada, laptop } = await withNewcomer()
      const eve = await enrol(server)
      await fails('not_found', eve.account.devices.delete({ id: laptop.device }))
      await ada.account.devices.delete({ id: laptop.device })
      await shutOut(laptop.account.context.read({}))
      await fails('not_found', ada.account.devices.delete({ id: laptop.device }))
      await fails('no_device', ada.account.devices.delete({ id: ada.device }))
      for (const id of ['x', newId('dev_', 1), ada.id])
        await fails('not_found', ada.account.devices.delete({ id }))
      await ada.account.context.read({})
    })

    test('a revoked device is refused at its next request', async () => {
      const { email, ada, laptop } = await withNewcomer()
      await approve(ada, laptop)
      const { refresh_token } = laptop.enrolment.session
      await laptop.account.context.read({})
      const entry = await revocationBy(ada, laptop.device)
      await ada.account.keyLogs.append({ body: { entry } })
      await shutOut(laptop.account.context.read({}))
      await fails(
        'invalid_token',
        server.door(laptop.keys.auth).session.renew({ body: { refresh_token } }),
      )
      await fails('invalid_state', join(server, await mailedCode(server, email), laptop))
      const { items } = await ada.account.devices.list({})
      assert.deepEqual(
        items.map(({ id }) => id),
        [ada.device],
      )
      await fails('not_found', ada.account.devices.delete({ id: laptop.device }))
    })

    test('a device revokes itself, the last one too; then only a reset follows', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const entry = await revocationBy(ada, ada.device)
      await ada.account.keyLogs.append({ body: { entry } })
      await shutOut(ada.account.context.read({}))
      const code = await mailedCode(server, email)
      await fails('conflict', join(server, code))
      await fails('invalid_state', enrolled(server, ada, code))
      const { key_log } = await server.door().signIns.read({ body: { code } })
      assert.deepEqual(key_log, [ada.entry, entry])
      await resetOf(server, ada.id, code)
    })
  })

  describe('keys of a person', () => {
    test('anybody signed in reads them from the log, page by page', async () => {
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
