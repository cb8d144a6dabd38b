/**
 * Tests how the secret of an epoch reaches many devices.
 * It comes with the entry, in further requests, or later.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { signingKeyFrom } from '../../src/crypto/device-keys.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { ID_PREFIX, newId } from '../../src/crypto/encoding/id.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import type { Roster } from '../../src/crypto/logs/roster.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import { rotateNow } from '../../src/device/connections/members.ts'
import { rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { ownFirst } from '../../src/device/connections/roster-entries.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import { type Recipient, sealedTo } from '../../src/device/identity/seal-keys.ts'
import { sealMissing } from '../../src/device/connections/sealing.ts'
import { AppError } from '../../src/errors.ts'
import { openState } from '../../src/state/state.ts'
import { newSealKey } from '../crypto/keys.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'
import { T0 } from './bench.ts'
import { actAt } from './enrolled.ts'
import { connected, verifies, worldOf } from '../world/world.ts'
import { loggedOf, sealedFor } from './sealing.ts'
import { deviceOf, people } from './session/sessions.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

/** Makes different sealing keys cheaply: ML-KEM derives its matrix from any 32 bytes. */
function sealKeys(count: number): Uint8Array[] {
  const { publicKey } = newSealKey()
  return Array.from({ length: count }, (_, i) => {
    const key = publicKey.slice()
    new DataView(key.buffer).setUint32(1152, i)
    return key
  })
}

/** Returns the recipients of the envelopes of a request. */
const recipientsOf = ({ body }: { body: { envelopes: readonly string[] } }) =>
  body.envelopes.map((one) => readEnvelope(one).recipient)

describe('an account with 1,600 devices', () => {
  const COUNT = 1600

  /**
   * Returns a device with many others in its account’s key log, and a connection that it made
   * before.
   */
  async function crowd(t: TestContext) {
    const state = openState(freshFolder(t))
    t.after(() => state.close())
    const { server, participants } = await people([state], [1])
    const [participant] = participants
    assert(participant !== undefined)
    const { identity, account } = participant
    const { id } = await openConnection(
      participant.device,
      account,
      { name: 'Bank', invite: [] },
      actAt(T0),
    )
    const { account: of, device: by, kid, keyLog, keys } = identity
    const { seed, log } = { seed: (await keys()).sign.secret, log: await keyLog() }
    const entries = [...log.entries]
    // Not by `addDevice`, which verifies the whole log each time.
    for (const [i, key] of sealKeys(COUNT - 1).entries()) {
      const device = newId(ID_PREFIX.device, T0 + i)
      const [own, auth] = [signingKeyFrom(randomBytes(32)), signingKeyFrom(randomBytes(32))]
      const logged = { sign: own.jwk, seal: sealKeyId(key), auth: auth.jwk }
      const prev = encodeBase64url(entryHash(entries.at(-1)!))
      const chain = { v: 2, account: of, seq: entries.length, prev }
      const what = { op: 'add', device, keys: logged, by, at: 1 }
      entries.push(signJws('keylog+jws', kid, { ...chain, ...what }, seed))
      server.addDevice(of, device, encodeBase64url(key))
    }
    server.logs.set(of, entries)
    await participant.device.sync.run('request')
    return { server, participant, id }
  }

  it('gets 1,500 envelopes with the entry, the signing device first, and the others after it', async (t) => {
    const { server, participant, id } = await crowd(t)
    const requests: string[][] = []
    const noting = instead('rosters', 'append', (append) => (of) => {
      requests.push(recipientsOf(of))
      return append(of)
    })
    // The server refuses the requests after the entry. The entry stays, and is not signed again.
    const account = instead('envelopes', 'add', () => async (of) => {
      requests.push(recipientsOf(of))
      throw new AppError('conflict', 'A device has another sealing key.')
    })(noting(participant.account))
    const { epoch } = await rotateNow(deviceOf(participant, account), account, id)
    assert.deepEqual([epoch, requests.map((one) => one.length)], [2, [1500, 100]])
    assert.equal(requests[0]?.[0], participant.identity.device)
    assert.equal(new Set(requests.flat()).size, COUNT)

    const { envelopes } = server.rosters.get(id)!
    assert.equal(envelopes.size, 1500)
    // The next sync seals what is missing.
    await participant.device.sync.run('request')
    assert.equal(envelopes.size, COUNT)
  })
})

describe('the order of recipients', () => {
  const one = (account: string, id: string): Recipient => ({ account, device: { id, seal: '' } })

  it('is this device, the others of its account, and then all others', () => {
    const all = [one('b', '1'), one('a', '2'), one('c', '3'), one('a', '4')]
    assert.deepEqual(
      ownFirst(all, { account: 'a', device: '4' }).map(({ device }) => device.id),
      ['4', '2', '1', '3'],
    )
  })
})

describe('sealing to many devices', () => {
  it('looks up one key and seals one envelope at most in a turn of the event loop', async (t) => {
    const state = openState(freshFolder(t))
    t.after(() => state.close())
    const account = newId(ID_PREFIX.account, T0)
    const keys = new Map(sealKeys(100).map((key) => [sealKeyId(key), key]))
    state.sealKeys.add(account, keys)
    const recipients: Recipient[] = [...keys.keys()].map((seal, i) => ({
      account,
      device: { id: newId(ID_PREFIX.device, T0 + i), seal },
    }))
    const connection = newId(ID_PREFIX.connection, T0)
    const roster = { connection, epoch: 1, epochHead: new Uint8Array(32) } as Roster
    // Sends no request: every key is on this device.
    const noAccount = {} as Account

    /** The turn in which each key was looked up, right before an envelope was sealed to it. */
    const turns: number[] = []
    let turn = 0
    let goesOn = true
    const count = () => {
      turn += 1
      if (goesOn) setImmediate(count)
    }
    setImmediate(count)
    const noting = new Proxy(state.sealKeys, {
      get: (rows, name) => {
        turns.push(turn)
        return Reflect.get(rows, name)
      },
    })
    const of = { roster, k: new Uint8Array(32) }
    const envelopes = await sealedTo({ ...state, sealKeys: noting }, noAccount, of, recipients)
    goesOn = false
    assert.equal(envelopes.length, recipients.length)
    assert.equal(turns.length, recipients.length)
    assert.equal(new Set(turns).size, turns.length, 'each in a turn of its own')
  })
})

describe('a device that renewed its sealing key', () => {
  it('gets envelopes to the new key from devices that had the old one', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    let late = 0
    const racing = bob.restart(
      instead('rosters', 'append', (append) => async (of) => {
        // Ada renews after Bob has sealed to the old key.
        if (late === 0) await renewNow(ada.device(), ada.account())
        return append(of).catch((error: unknown) => {
          late += error instanceof AppError && error.code === 'conflict' ? 1 : 0
          throw error
        })
      }),
    )
    const { epoch } = await rotateNow(racing.device(), racing.account(), id)
    assert.deepEqual([late, epoch], [1, 2])
    assert.deepEqual(await sealedFor(ada, id), [(await loggedOf(ada)).seal])
    await ada.sync()
    world.later()
    assert(await verifies(ada, bob, id))
  })

  it('gets them also if another device of its account opens a connection meanwhile', async (t) => {
    const { world, ada } = await worldOf(t, 'ada')
    const laptop = await world.further(ada, 'laptop')
    // Now this device has the old key and has sealed to it.
    await ada.connect('Shop')
    await renewNow(laptop.device(), laptop.account())
    const id = await ada.connect()
    assert.deepEqual(await sealedFor(laptop, id), [(await loggedOf(laptop)).seal])
    await laptop.sync()
    assert.equal(laptop.device().vault.has(id), true)
  })

  it('gets them if it is one of several that lack one', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const laptop = await world.further(bob, 'laptop')
    let isFirst = true
    const racing = ada.restart(
      instead('envelopes', 'add', (add) => async (of) => {
        if (isFirst) await renewNow(laptop.device(), laptop.account())
        isFirst = false
        return add(of)
      }),
    )
    const seal = () => sealMissing(racing.device(), racing.account(), id, [laptop.deviceId])
    await rejects('conflict', seal())
    // Runs what the next sync does.
    assert.equal(await seal(), 1)
    assert.deepEqual(await sealedFor(laptop, id), [(await loggedOf(laptop)).seal])
    assert.equal(rememberedRoster(racing.state, id)?.roster.epoch, 1)
  })
})
