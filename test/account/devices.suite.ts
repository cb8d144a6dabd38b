/** The devices of an account: added, listed, waiting, revoked. On every server. */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import type { DeviceKeyPairs } from '../../src/crypto/device-keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import {
  additionBy,
  approve,
  arrived,
  connect,
  enrol,
  enrolByMail,
  enrolled,
  join,
  logOf,
  mailedCode,
  newAddress,
  opening,
  resetOf,
  revocationBy,
  stampOf,
} from '../service/person.ts'
import { everything, isInvalid, shutOut, type Accounts, type Call } from './subject.ts'
import { withNewcomer } from './newcomer.ts'
import { rejects } from '../rejects.ts'

const bytes = 'A'.repeat(43)
const someAnswer = { commitment: bytes, answer: { nonce: bytes, seq: 0, head: bytes } }

export function devicesSuite(accounts: () => Accounts): void {
  let { server, time, newGuest } = {} as Accounts
  before(() => {
    ;({ server, time, newGuest } = accounts())
  })

  describe('further devices', () => {
    test('wait, are added, confirm the log, and then work like any device', async () => {
      const { email, ada, laptop } = await withNewcomer(server)
      assert.equal(ada.enrolment.approved, true)
      assert.equal(laptop.enrolment.approved, false)
      const waits = () => ada.account.pendingDevices.read({ id: laptop.device })
      const nothing = { commitment: null, answered_by: null, reveal: null }
      const shown = { id: laptop.device, name: 'laptop 2', platform: 'linux', ...nothing }
      assert.deepEqual(await waits(), shown)
      const entry = await additionBy(ada, laptop)
      const place = await ada.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(place, { seq: 1, head: encodeBase64url(entryHash(entry)) })
      assert.deepEqual((await logOf(ada)).entries, [ada.entry, entry])
      // The device is in the log and has yet to confirm it.
      assert.deepEqual(await waits(), shown)
      await rejects('forbidden', newGuest(laptop.account))
      const { head } = await logOf({ ...laptop, id: ada.id })
      await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      await newGuest(laptop.account)
      await rejects('not_found', waits())
      // A client that lost the response repeats the request.
      await laptop.account.approval.create({ body: { head: encodeBase64url(head) } })
      const again = await ada.account.keyLogs.append({ body: { entry } })
      assert.deepEqual(again, place)
      await arrived(server, email, /new device, "laptop 2",\s+was added/)
    })

    test('list: newest first, each with its state and keys', async () => {
      const { ada, laptop } = await withNewcomer(server)
      const kids = ({ sign, seal }: DeviceKeyPairs) => [
        thumbprint(sign.jwk),
        sealKeyId(seal.publicKey),
      ]
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
      const { listedDevices } = ada.account
      const withoutKeys = expected.map(({ id, name, platform, state, created_at }) => ({
        id,
        name,
        platform,
        state,
        created_at,
      }))
      assert.deepEqual((await listedDevices.list({})).items, withoutKeys)
      assert.deepEqual((await everything(listedDevices.list, 1)).flat(), withoutKeys)
      await approve(ada, laptop)
      const states = (await listedDevices.list({})).items.map(({ state }) => state)
      assert.deepEqual(states, ['active', 'active'])
      const { items } = await laptop.account.devices.list({})
      assert.deepEqual(
        items.map(({ state, current, key_ids }) => [state, current, key_ids]),
        [
          ['active', true, kids(laptop.keys)],
          ['active', false, kids(ada.keys)],
        ],
      )
    })

    test('can only read while they wait', async () => {
      const { ada, laptop } = await withNewcomer(server)
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
      for (const call of writes) await rejects('forbidden', call(account))
      await rejects(
        'invalid_state',
        account.approval.create({ body: { head: encodeBase64url((await logOf(ada)).head) } }),
        { state: 'pending' },
      )
      assert.deepEqual((await ada.account.connections.read({ id })).name, 'Bob')
    })

    test('get no envelope before they are in the log', async () => {
      const { ada, laptop } = await withNewcomer(server)
      const body = await opening(ada, 'Bob', {
        envelopeOf: { recipient: laptop.device, seal: laptop.keys.seal },
      })
      await isInvalid('envelopes', 'wrong_recipient', ada.account.rosters.open({ body }))
    })

    test('delete rejects a pending one; one in the log needs a signed revocation', async () => {
      const { ada, laptop } = await withNewcomer(server)
      const eve = await enrol(server)
      await rejects('not_found', eve.account.devices.delete({ id: laptop.device }))
      await ada.account.devices.delete({ id: laptop.device })
      await shutOut(laptop.account.context.read({}))
      await rejects('not_found', ada.account.devices.delete({ id: laptop.device }))
      await rejects('no_device', ada.account.devices.delete({ id: ada.device }))
      for (const id of ['x', newId('dev_', 1), ada.id])
        await rejects('not_found', ada.account.devices.delete({ id }))
      await ada.account.context.read({})
    })

    test('a revoked device is rejected at its next request', async () => {
      const { email, ada, laptop } = await withNewcomer(server)
      await approve(ada, laptop)
      const { refresh_token } = laptop.enrolment.session
      await laptop.account.context.read({})
      const entry = await revocationBy(ada, laptop.device)
      await ada.account.keyLogs.append({ body: { entry } })
      await shutOut(laptop.account.context.read({}))
      await rejects(
        'invalid_token',
        server.door(laptop.keys.auth).session.renew({ body: { refresh_token } }),
      )
      await rejects('invalid_state', join(server, await mailedCode(server, email), laptop), {
        state: 'revoked',
      })
      const { items } = await ada.account.devices.list({})
      assert.deepEqual(
        items.map(({ id }) => id),
        [ada.device],
      )
      await rejects('not_found', ada.account.devices.delete({ id: laptop.device }))
    })

    test('a device can revoke itself, also the last one; then only a reset follows', async () => {
      const email = newAddress()
      const ada = await enrolByMail(server, email)
      const entry = await revocationBy(ada, ada.device)
      await ada.account.keyLogs.append({ body: { entry } })
      await shutOut(ada.account.context.read({}))
      const code = await mailedCode(server, email)
      await rejects('conflict', join(server, code))
      await rejects('invalid_state', enrolled(server, ada, code), { state: 'revoked' })
      const { key_log } = await server.door().signIns.read({ body: { code } })
      assert.deepEqual(key_log, [ada.entry, entry])
      await resetOf(server, ada.id, code)
    })
  })
}
