/**
 * Tests what a sync sends: every late stamp, independently of the results of the others.
 * Each refusal is reported once.
 */
import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { signJws } from '../../src/crypto/jose/jws-signature.ts'
import { stampFragment } from '../../src/crypto/stamp.ts'
import { changeFacts } from '../../src/device/identity/identity.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import { contextOf } from '../world/requests.ts'
import { T0 } from './bench.ts'
import { enrolled } from './enrolled.ts'
import { paged } from '../world/paged.ts'

const MANY = 1200

const { sign } = newDeviceKeys()
const kid = thumbprint(sign.jwk)

/** Returns a receipt of the server with the pinned key, or of the signer `by`. */
function receiptFor(jti: string, stamp: string, by = { kid, secret: sign.secret }): string {
  const seen = { received_at: T0, key_status: 'active', assurance: 'device' }
  const receipt = { v: 2, jti, stamp_sha256: stampFragment(stamp), ...seen }
  return signJws('receipt+jws', by.kid, receipt, by.secret)
}

const IDS = Array.from({ length: MANY }, (_, at) => newId('stm_', T0 + at))
/** Valid receipts, made once for all tests, since signatures take time. */
const RECEIPTS = new Map(IDS.map((id) => [id, receiptFor(id, `jws ${id}`)]))

/**
 * Returns a device with stamps that have no receipt yet.
 * Its account answers as the test sets it.
 */
async function late(t: TestContext) {
  const device = await enrolled(t)
  changeFacts(device.state, { receiptKey: sign.jwk })
  const ids = IDS
  device.state.transaction(() => {
    for (const id of ids)
      device.state.stamps.insert({ id, jws: `jws ${id}`, receipt: null, created_at: T0 })
  })
  /** The error codes that the account returns for stamps in place of a receipt. */
  const refusals = new Map<string, ErrorCode>()
  const asked: string[] = []
  const create = async ({ body: { stamp } }: { body: { stamp: string } }) => {
    const id = stamp.slice('jws '.length)
    asked.push(id)
    const code = refusals.get(id)
    if (code !== undefined) throw new AppError(code, 'No receipt.')
    return { receipt: RECEIPTS.get(id) as string }
  }
  const open = () => device.reopen({ stamps: { create } })
  return {
    ids,
    refusals,
    /** Runs one sync, as after a restart; returns its report and the stamps that it requested. */
    sync: async () => {
      asked.length = 0
      const report = await open().sync.run('timer')
      return { report, asked: [...asked] }
    },
    without: () => device.state.stamps.withoutReceipt(-1).map(({ id }) => id),
    stamp: (id: string) => device.state.stamps.get(id)?.jws,
  }
}

describe('late stamps', () => {
  it('are all sent in one sync', async (t) => {
    const { ids, sync, without } = await late(t)
    const { report, asked } = await sync()
    assert.deepEqual([report.ok, report.error, asked], [true, null, ids])
    assert.deepEqual(without(), [])
    assert.deepEqual((await sync()).asked, [])
  })

  for (const code of ['validation_failed', 'conflict'] as const)
    it(`with ${code} for one: it is reported, kept, and not sent again; the others are sent`, async (t) => {
      const { ids, refusals, sync, without, stamp } = await late(t)
      const bad = ids[600] as string
      refusals.set(bad, code)
      const { report, asked } = await sync()
      assert.deepEqual(asked, ids)
      assert.equal(report.ok, false)
      assert.match(report.error ?? '', new RegExp(`refused a stamp \\(${bad}\\)`))
      assert.deepEqual([without(), stamp(bad)], [[bad], `jws ${bad}`])
      const next = await sync()
      assert.deepEqual([next.report.ok, next.report.error, next.asked], [true, null, []])
    })

  it('of which more are rejected than fit a page: all others are sent, and the number is reported', async (t) => {
    const { ids, refusals, sync, without } = await late(t)
    for (const id of ids.slice(0, 700)) refusals.set(id, 'conflict')
    const { report, asked } = await sync()
    assert.deepEqual(asked, ids)
    assert.match(report.error ?? '', /refused 700 stamps \((stm_\w+, ){5}…\)/)
    assert.deepEqual(without(), ids.slice(0, 700))
    assert.deepEqual((await sync()).asked, [])
  })

  for (const code of ['backend_unavailable', 'backend_timeout', 'rate_limited'] as const)
    it(`with ${code} in the middle: the sync stops there, and the next continues`, async (t) => {
      const { ids, refusals, sync, without } = await late(t)
      const [bad, away] = [ids[100] as string, ids[700] as string]
      refusals.set(bad, 'validation_failed').set(away, code)
      const { report, asked } = await sync()
      assert.deepEqual(asked, ids.slice(0, 701))
      assert.equal(report.ok, false)
      assert.match(report.error ?? '', /refused a stamp .*No receipt\./)
      assert.deepEqual(without(), [bad, ...ids.slice(700)])
      refusals.delete(away)
      const next = await sync()
      assert.deepEqual([next.report.ok, next.asked], [true, ids.slice(700)])
      assert.deepEqual(without(), [bad])
    })
})

describe('a part of a sync that the account server rejects', () => {
  it('delays neither stamps nor pending work, and is reported', async (t) => {
    const device = await enrolled(t)
    changeFacts(device.state, { receiptKey: sign.jwk })
    const id = IDS[0] as string
    device.state.stamps.insert({ id, jws: `jws ${id}`, receipt: null, created_at: T0 })
    await device.connect()
    await device.verifier.verify('matador carload recede', null)
    let reads = 0
    const refuse = () => Promise.reject(new AppError('validation_failed', 'Not a known match.'))
    const { sync } = device.reopen({
      verifications: { ...device.account.verifications, push: refuse },
      stamps: { create: async () => ({ receipt: RECEIPTS.get(id) as string }) },
      duties: {
        read: async () => {
          reads += 1
          return { joins: [], unsealed: [] }
        },
      },
    })
    const report = await sync.run('timer')
    assert.deepEqual([report.ok, report.error], [false, 'Not a known match.'])
    assert.equal(sync.failureOf(report)?.code, 'validation_failed')
    assert.deepEqual([device.state.stamps.withoutReceipt(-1), reads], [[], 1])
  })

  it('ends the sync if the account server is unreachable', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    await device.verifier.verify('matador carload recede', null)
    let reads = 0
    const away = () => Promise.reject(new AppError('backend_unavailable', 'Away.'))
    const { sync } = device.reopen({
      verifications: { ...device.account.verifications, push: away },
      duties: {
        read: async () => {
          reads += 1
          return { joins: [], unsealed: [] }
        },
      },
    })
    assert.deepEqual([(await sync.run('timer')).error, reads], ['Away.', 0])
  })
})

describe('an invalid receipt', () => {
  const other = newDeviceKeys().sign
  const lies: [what: string, lie: (jti: string, stamp: string) => string][] = [
    ['text', () => 'receipt'],
    ['another key', (jti, of) => receiptFor(jti, of, { ...other, kid: thumbprint(other.jwk) })],
    [
      'another key with the name of the pinned one',
      (jti, of) => receiptFor(jti, of, { ...other, kid }),
    ],
    ['another stamp', (jti) => receiptFor(jti, 'another')],
    ['another id', (_, of) => receiptFor(newId('stm_', T0), of)],
  ]
  for (const [what, lie] of lies)
    it(`${what}: the stamp is stored without it, the sync reports it, and a valid one is accepted later`, async (t) => {
      const { open, state } = await pinned(t)
      const lying = open(lie)
      const made = await stamp.create({ body: { content: 'x' } }, contextOf(lying))
      assert.equal(made.receipt, null)
      const { ok, error } = await lying.sync.run('timer')
      assert.equal(ok, false)
      assert.match(error ?? '', new RegExp(`invalid receipt for ${made.id}`))
      assert.equal(state.stamps.get(made.id)?.receipt, null)
      assert((await open(receiptFor).sync.run('timer')).ok)
      assert.equal(state.stamps.get(made.id)?.receipt, receiptFor(made.id, made.stamp))
    })

  /**
   * Returns a device that pinned the key of this test, over accounts with receipts of their own.
   */
  async function pinned(t: TestContext) {
    const device = await enrolled(t)
    changeFacts(device.state, { receiptKey: sign.jwk })
    const open = (make: (jti: string, jws: string) => string) =>
      device.reopen({
        stamps: {
          create: async ({ body: { stamp: jws } }) => {
            const payload = Buffer.from(jws.split('.')[1] as string, 'base64url').toString()
            return { receipt: make((JSON.parse(payload) as { jti: string }).jti, jws) }
          },
        },
      })
    return { open, state: device.state }
  }
})

describe('a server that has lost the key log of stamps', () => {
  it('is asked for receipts again after it has the log back', async (t) => {
    const device = await enrolled(t)
    const away = device.reopen({
      stamps: { create: () => Promise.reject(new AppError('backend_unavailable', 'Away.')) },
    })
    const { id } = await stamp.create({ body: { content: 'x' } }, contextOf(away))
    const restored = device.reopen({
      keyLogs: {
        ...device.account.keyLogs,
        read: async (of) => ({ ...paged([], of), seal_keys: [] }),
      },
      stamps: { create: () => Promise.reject(new AppError('validation_failed', 'No such log.')) },
    })
    assert.equal((await restored.sync.run('timer')).ok, false)
    assert((await device.reopen().sync.run('timer')).ok)
    assert.notEqual(device.state.stamps.get(id)?.receipt, null)
  })
})
