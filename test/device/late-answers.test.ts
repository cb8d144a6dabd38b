/** Tests two concurrent reads of one log with answers in a different order from the requests. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { renewSealKey } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { AppError } from '../../src/errors.ts'
import { fetchKeyLog, fetchNamedLog, pullKeyLog } from '../../src/device/logs/key-log.ts'
import { rotateNow, addInvited } from '../../src/device/connections/members.ts'
import { rememberRoster } from '../../src/device/logs/roster-cache.ts'
import { rememberedLog } from '../../src/device/identity/key-log-cache.ts'
import { fetchRoster } from '../../src/device/logs/rosters.ts'
import { examine } from '../../src/device/trust/trust-keys.ts'
import { profiles } from '../../src/handlers/profiles.ts'
import { firstOf, newDeviceKeys } from '../crypto/keys.ts'
import { at } from '../world/requests.ts'
import { paged } from '../world/paged.ts'
import { type DeviceUser, connected, worldOf } from '../world/world.ts'
import { instead } from '../world/interceptor.ts'

/** Returns an account and a function that renews its key log; each call makes another history. */
function newLog() {
  const [keys, device] = [newDeviceKeys(), newId('dev_', 1)]
  const { account, entry } = firstOf(device, keys, 1)
  const by = { by: device, kid: thumbprint(keys.sign.jwk), seed: keys.sign.secret, at: 1 }
  function renewed(times: number, from: readonly string[] = [entry]): string[] {
    const log = verifyKeyLog(account, from)
    if (times === 0) return [...from]
    const seal = randomBytes(32).toString('base64url')
    return renewed(times - 1, [...from, renewSealKey({ log, seal, ...by })])
  }
  return { account, renewed }
}

/** Returns the account of a device at a server that answers with a key log. */
const showing = (user: DeviceUser, entries: readonly string[]): Account =>
  instead('keyLogs', 'read', () => async (of) => ({ ...paged(entries, of), seal_keys: [] }))(
    user.account(),
  )

/** Returns the same server; its answers are held back until `release` is called. */
function late<G extends 'keyLogs' | 'rosters'>(account: Account, group: G) {
  const gate = Promise.withResolvers<void>()
  const read = account[group].read as (of: never) => Promise<unknown>
  const reading = async (of: never) => {
    const answer = await read(of)
    await gate.promise
    return answer
  }
  return {
    account: { ...account, [group]: { ...account[group], read: reading } } as Account,
    release: gate.resolve,
  }
}

describe('a late answer with an older key log', () => {
  for (const known of [0, 2])
    it(`is no rollback, and the longer log stays; ${known} entries cached before`, async (t) => {
      const { ada } = await worldOf(t, 'ada')
      const { account, renewed } = newLog()
      const [device, state] = [ada.device(), ada.state]
      const old = renewed(2)
      const long = renewed(2, old)
      if (known > 0) await pullKeyLog(device, showing(ada, old.slice(0, known)), account)
      const slow = late(showing(ada, old), 'keyLogs')
      const reads = [
        pullKeyLog(device, slow.account, account),
        fetchKeyLog(state, slow.account, account),
        fetchNamedLog(device, slow.account, account).then(({ log }) => log),
      ]
      await pullKeyLog(device, showing(ada, long), account)
      slow.release()
      // Each read gets the longer log, which may have revocations that the older one lacks.
      for (const log of await Promise.all(reads)) assert.deepEqual(log.entries, long)
      assert.deepEqual(rememberedLog(state, account)?.entries, long)
    })

  it('is rejected if it has another history', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const { account, renewed } = newLog()
    const device = ada.device()
    const [one, other] = [renewed(3), renewed(1)]
    const slow = late(showing(ada, other), 'keyLogs')
    const reads = [
      pullKeyLog(device, slow.account, account),
      fetchKeyLog(ada.state, slow.account, account),
    ]
    await pullKeyLog(device, showing(ada, one), account)
    slow.release()
    for (const outcome of await Promise.allSettled(reads)) {
      assert(outcome.status === 'rejected')
      const { reason: error } = outcome
      const { reason } = error instanceof AppError ? (error.cause as { reason: string }) : error
      assert.equal(reason, 'key_log_forked')
    }
    assert.deepEqual(rememberedLog(ada.state, account)?.entries, one)
  })

  it('is a rollback if the longer log was cached before the request', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const { account, renewed } = newLog()
    const device = ada.device()
    const old = renewed(1)
    const long = renewed(2, old)
    await pullKeyLog(device, showing(ada, long), account)
    await assert.rejects(pullKeyLog(device, showing(ada, old), account), { reason: 'rollback' })
    const forked = showing(ada, renewed(3))
    await assert.rejects(pullKeyLog(device, forked, account), { reason: 'key_log_forked' })
    assert.deepEqual(rememberedLog(ada.state, account)?.entries, long)
  })

  it('or with none rejects no key log that was unknown at the request', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const { account, renewed } = newLog()
    const absent = instead('keyLogs', 'read', () => async () => {
      throw new AppError('not_found', 'There is no such account.')
    })(ada.account())
    const gate = Promise.withResolvers<void>()
    const slow = instead('keyLogs', 'read', (read) => async (of) => {
      await gate.promise
      return read(of)
    })(absent)
    const looked = examine(ada.device(), slow, account)
    await pullKeyLog(ada.device(), showing(ada, renewed(1)), account)
    gate.resolve()
    assert.equal((await looked).refused, null)
    assert.equal((await examine(ada.device(), absent, account)).refused, 'rollback')
  })
})

describe('a device that is revoked while a request is running', () => {
  it('is not among the keys of the profile', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const phone = await world.further(ada, 'phone')
    await pullKeyLog(bob.device(), bob.account(), ada.id)
    const old = await bob.account().profiles.keys({ id: ada.id, limit: 50 })
    const slow = late(bob.account(), 'keyLogs')
    const asked = profiles.keys(
      { id: ada.id, limit: 50 },
      at(bob.restart(() => instead('profiles', 'keys', () => async () => old)(slow.account))),
    )
    await ada.revoke(phone.deviceId)
    const back = bob.restart((account) => account)
    const { devices } = await pullKeyLog(back.device(), back.account(), ada.id)
    slow.release()
    const { items } = await asked
    const { keys, seal } = devices.get(phone.deviceId)!
    const ids = items.map(({ id }) => id)
    assert(!ids.includes(thumbprint(keys.sign)) && !ids.includes(seal))
  })

  it('gets no secret with the entry that adds its account', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    const phone = await world.further(bob, 'phone')
    const id = await ada.connect()
    await ada.invite(id, { user_id: bob.id })
    await bob.approve()
    const { joins } = await ada.account().duties.read({})
    const { seal_keys } = await ada.account().keyLogs.read({ account: bob.id })
    // The server continues to return the key of the revoked device.
    const giving = instead('keyLogs', 'read', (read) => async (of) => {
      const answer = await read(of)
      return of.account === bob.id ? { ...answer, seal_keys } : answer
    })(ada.account())
    const asked = Promise.withResolvers<void>()
    const revoked = Promise.withResolvers<void>()
    const sealedTo: string[] = []
    const slow = instead('rosters', 'read', (read) => async (of) => {
      asked.resolve()
      await revoked.promise
      return read(of)
    })(
      instead('rosters', 'append', (append) => async (of) => {
        sealedTo.push(...of.body.envelopes)
        return append(of)
      })(giving),
    )
    const taking = addInvited(ada.device(), slow, {
      connection: id,
      member: bob.id,
      target: bob.id,
      consent: joins[0]!.consent,
    })
    await asked.promise
    await bob.revoke(phone.deviceId)
    await pullKeyLog(ada.device(), ada.account(), bob.id)
    revoked.resolve()
    await taking
    assert(sealedTo.every((envelope) => !envelope.includes(phone.deviceId)))
    assert.notEqual(sealedTo.length, 0)
  })
})

describe('a late answer with an older roster', () => {
  it('is no rollback, and the longer roster stays', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await bob.sync()
    const device = bob.device()
    const slow = late(bob.account(), 'rosters')
    const asked = fetchRoster(device, slow.account, id)
    await rotateNow(ada.device(), ada.account(), id)
    const { roster } = await fetchRoster(device, bob.account(), id)
    rememberRoster(bob.state, roster)
    slow.release()
    const older = await asked
    assert.equal(older.roster.seq, roster.seq - 1)
    assert.equal(older.fresh, false)
    rememberRoster(bob.state, older.roster)
    const stored = bob.state.logs.head('roster', id)!.entry
    assert.deepEqual(entryHash(stored), roster.head)
  })
})
