/** Tests that an operation that runs again does nothing twice. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { addDevice } from '../../src/crypto/logs/key-log-entries.ts'
import { operationId } from '../../src/device/operations.ts'
import { openConnection } from '../../src/device/connections/connections.ts'
import { keepKeyLog } from '../../src/device/logs/key-log.ts'
import { readOpening } from '../../src/device/logs/openings.ts'
import { isId } from '../../src/crypto/encoding/id.ts'
import { AppError } from '../../src/errors.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { contextOf } from '../world/requests.ts'
import { actingAccount } from '../../src/service/calls.ts'
import { T0 } from './bench.ts'
import { type Enrolled, actAt, enrolled } from './enrolled.ts'

const BANK = { name: 'Bank', invite: [] }

describe('ids of an operation', () => {
  it('are the same for a repetition, and differ for other kinds, parts and operations', () => {
    const act = actAt(T0)
    assert.equal(operationId('con_', act), operationId('con_', { ...act }))
    const others = [
      operationId('con_', act, '1'),
      operationId('stm_', act),
      operationId('con_', actAt(T0)),
    ]
    const bodies = [operationId('con_', act), ...others].map((id) => id.slice(4))
    assert.equal(new Set(bodies).size, 4)
    assert(isId('con_', operationId('con_', act)))
  })

  it('sort by the time of the operation', () => {
    const ids = [0, 1, 1000, 10 ** 9].map((ms) => operationId('con_', actAt(T0 + ms)))
    assert.deepEqual(ids.toSorted(), ids)
  })
})

describe('an operation that was cut off', () => {
  it('an opened connection with a lost answer: the retry returns the same one, with the same secret', async (t) => {
    const device = await enrolled(t)
    const act = actAt(T0)
    const deaf = device.reopen({
      rosters: {
        ...device.account.rosters,
        open: async (input) => {
          await device.account.rosters.open(input)
          throw new AppError('backend_timeout', 'no answer')
        },
      },
    })
    await assert.rejects(openConnection(deaf, deaf.account, BANK, act), /no answer/)
    const { id } = await openConnection(device.reopen(), device.account, BANK, act)
    assert.equal((await device.account.connections.list({})).items.length, 1)
    const words = device.reopen().codes.own(id, device.clock.ms)?.words
    // The device gets the secret that the server’s roster commits to. It opens the envelope that
    // the first attempt sealed.
    device.vault.delete(id)
    const fresh = device.reopen()
    assert.equal((await fresh.sync.run('request')).pulled.secrets, 1)
    assert.equal(fresh.codes.own(id, device.clock.ms)?.words, words)
  })

  it('an opened connection with a lost answer, fetched by a sync since: the retry deletes the pending opening', async (t) => {
    const device = await enrolled(t)
    const act = actAt(T0)
    const deaf = device.reopen({
      rosters: {
        ...device.account.rosters,
        open: async (input) => {
          await device.account.rosters.open(input)
          throw new AppError('backend_timeout', 'no answer')
        },
      },
    })
    await assert.rejects(openConnection(deaf, deaf.account, BANK, act), /no answer/)
    const id = operationId('con_', act)
    assert.notEqual(readOpening(device.state, id), null)
    const next = device.reopen()
    assert((await next.sync.run('timer')).ok)
    assert.equal(readOpening(device.state, id), null)
    assert.equal((await openConnection(next, next.account, BANK, act)).id, id)
    assert.equal((await device.account.connections.list({})).items.length, 1)
    assert.equal(readOpening(device.state, id), null)
  })

  it('an opened connection with a lost answer, before the key log grew: the retry returns it, by the same entry', async (t) => {
    const device = await enrolled(t)
    const { identity, server } = device
    const acting = () => actingAccount(server, { ...identity, token: null }).acting(act)
    const act = actAt(T0)
    const deaf: Account = {
      ...device.account,
      rosters: {
        ...device.account.rosters,
        open: async (input) => {
          await acting().rosters.open(input)
          throw new AppError('backend_timeout', 'no answer')
        },
      },
    }
    await assert.rejects(openConnection(device, deaf, BANK, act), /no answer/)
    const before = await device.account.rosters.read({ connection: operationId('con_', act) })
    const log = await identity.keyLog()
    const entry = addDevice({
      log,
      device: { id: 'dev_00000000000000000000000007', keys: publicKeys(newDeviceKeys()) },
      by: identity.device,
      kid: identity.kid,
      seed: (await identity.keys()).sign.secret,
      at: T0 / 1000,
    })
    keepKeyLog(device.state, verifyKeyLog(identity.account, [...log.entries, entry]))
    const { id } = await openConnection(device.reopen(), acting(), BANK, act)
    assert.deepEqual(await device.account.rosters.read({ connection: id }), before)
    assert.deepEqual(device.state.logs.read('roster', id), before.entries)
    assert.equal(readOpening(device.state, id), null)
  })

  it('a stored stamp with a lost answer: the retry returns the same stamp and its receipt', async (t) => {
    const device = await enrolled(t)
    const act = actAt(T0)
    const again = (of: Enrolled) =>
      stamp.create({ body: { content: 'x' } }, contextOf(of, {}, { act }))
    const registered: string[] = []
    const noting = device.reopen({
      stamps: {
        create: async (input) => {
          registered.push(input.body.stamp)
          const made = await device.account.stamps.create(input)
          if (registered.length === 1) throw new AppError('backend_timeout', 'no answer')
          return made
        },
      },
    })
    const first = await again(noting)
    device.clock.ms += 5_000
    const second = await again(noting)
    assert.deepEqual([first.receipt, second.stamp], [null, first.stamp])
    assert.match(second.receipt ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/)
    assert.equal(new Set(registered).size, 1)
    assert.deepEqual(await again(noting), second)
  })

  it('a stamp that the account server rejects is not stored', async (t) => {
    const device = await enrolled(t)
    const refused = device.reopen({
      stamps: { create: () => Promise.reject(new AppError('not_signed_in', 'no')) },
    })
    await assert.rejects(stamp.create({ body: { content: 'x' } }, contextOf(refused)), /no/)
    assert.deepEqual(device.state.stamps.withoutReceipt(9), [])
  })
})
