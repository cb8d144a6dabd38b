/** Tests a sync with a server that is away, has a wrong time, or lies about the own key log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { timeAt } from '../../src/api/fields.ts'
import type { Account } from '../../src/api/port.ts'
import { sealKeyId } from '../../src/crypto/device-public-keys.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { sealEnvelope } from '../../src/crypto/envelope.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { addDevice, revokeDevice } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyStamp } from '../../src/crypto/stamp.ts'
import { AppError, type ErrorCode } from '../../src/errors.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { status } from '../../src/handlers/status.ts'
import { contextOf } from '../world/requests.ts'
import { MINUTE } from './bench.ts'
import { type Enrolled, enrolled } from './enrolled.ts'
import { paged } from '../world/paged.ts'

const away = (code: ErrorCode) => () => Promise.reject(new AppError(code, 'The account is away.'))

/**
 * Returns a server with a clock that is off by `ms`.
 * Requests take `there` milliseconds, answers `back`.
 */
const serverClock = ({ clock }: Enrolled, ms: number, there = 0, back = 0) => ({
  read: async () => {
    clock.ms += there
    const now = timeAt(clock.ms + ms)
    clock.ms += back
    return { now, public_url: 'https://countersign.test' }
  },
})

describe('the clock', () => {
  for (const [name, ms, there, back, offset, sure] of [
    ['the same', 0, 0, 0, 0, true],
    ['half a minute ahead', 30_000, 0, 0, 30_000, true],
    ['half a minute behind', -30_000, 0, 0, -30_000, true],
    ['more than that ahead', 30_001, 0, 0, 30_001, false],
    ['more than that behind', -30_001, 0, 0, -30_001, false],
    ['ten minutes ahead', 600_000, 0, 0, 600_000, false],
    ['the same, over a slow line', 0, 2_000, 2_000, 0, true],
    ['the same, with a slow answer', 0, 0, 3_000, -1_500, true],
  ] as const)
    it(`of the server is ${name}`, async (t) => {
      const device = await enrolled(t)
      await device.connect()
      const far = device.reopen({}, serverClock(device, ms, there, back))
      assert((await far.sync.run('start')).ok)
      for (const { sync, verifier } of [far, far.reopen({}, serverClock(device, ms))]) {
        assert.equal(sync.offsetMs(), offset)
        const { reasons, conclusive } = await verifier.verify('matador carload recede', null)
        assert.deepEqual([reasons, conclusive], [sure ? [] : ['clock_uncertain'], sure])
      }
      const made = await stamp.create({ body: { content: 'x' } }, contextOf(far))
      const { payload } = verifyStamp({ stamp: made.stamp, key_log: made.key_log })
      assert.deepEqual(payload.clock, { source: 'server', offset_ms: offset })
    })

  it('that was never compared is uncertain, and a stamp records that', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    const far = device.reopen({}, { read: away('backend_unavailable') })
    assert.equal((await far.sync.run('start')).ok, false)
    const { reasons } = await far.verifier.verify('matador carload recede', null)
    assert.deepEqual(reasons, ['clock_uncertain', 'sync_stale'])
    const made = await stamp.create({ body: { content: 'x' } }, contextOf(far))
    const { payload } = verifyStamp({ stamp: made.stamp, key_log: made.key_log })
    assert.deepEqual(payload.clock, { source: 'local', offset_ms: 0 })
  })

  it('the device syncs for words that match nothing if the last sync is older than an hour', async (t) => {
    const device = await enrolled(t)
    await device.connect()
    const far = device.reopen({}, serverClock(device, 0))
    await far.sync.run('start')
    const before = far.sync.lastGoodAt()
    device.clock.ms += 59 * MINUTE
    assert.deepEqual((await far.verifier.verify('matador carload recede', null)).reasons, [])
    assert.equal(far.sync.lastGoodAt(), before)
    device.clock.ms += 2 * MINUTE
    assert.deepEqual((await far.verifier.verify('matador carload recede', null)).reasons, [])
    assert.notEqual(far.sync.lastGoodAt(), before)
    device.clock.ms += 61 * MINUTE
    const cut = device.reopen({}, { read: away('backend_unavailable') })
    const { reasons } = await cut.verifier.verify('matador carload recede', null)
    assert(reasons.includes('sync_stale'), reasons.join())
  })
})

describe('a server that is unreachable and returns', () => {
  for (const code of ['backend_unavailable', 'backend_timeout', 'backend_error'] as const)
    it(`${code}: stamps and checks continue, and are sent once`, async (t) => {
      const device = await enrolled(t)
      await device.connect()
      const gone = device.reopen({
        stamps: { create: away(code) },
        keyLogs: { ...device.account.keyLogs, read: away(code) },
      })
      const made = await stamp.create({ body: { content: 'x' } }, contextOf(gone))
      assert.equal(made.receipt, null)
      await gone.verifier.verify('matador carload recede', null)
      const report = await gone.sync.run('timer')
      assert.deepEqual([report.ok, report.error], [false, 'The account is away.'])

      const sent: string[] = []
      const noting =
        <I, O>(what: string, call: (input: I) => Promise<O>) =>
        (input: I) => {
          sent.push(what)
          return call(input)
        }
      const { stamps, verifications } = device.account
      const back = device.reopen({
        stamps: { create: noting('stamp', stamps.create) },
        verifications: { push: noting('log', verifications.push) },
      })
      assert.equal((await back.sync.run('timer')).pushed.verifications, 1)
      await back.sync.run('timer')
      assert.deepEqual(sent, ['log', 'stamp'])
      const receipt = back.state.stamps.get(made.id)?.receipt ?? ''
      const file = { stamp: made.stamp, key_log: made.key_log, receipt }
      const checked = verifyStamp(file, { serverKey: device.identity.receiptKey })
      assert.equal(checked.receipt?.jti, made.id)
      assert.equal((await device.account.verificationLog.list({})).items.length, 1)
    })
})

describe('the own key log', () => {
  /** Returns entries that continue the device’s log, signed by the device. */
  async function entriesOf({ identity, clock }: Enrolled) {
    const log = await identity.keyLog()
    const { sign } = await identity.keys()
    const at = Math.floor(clock.ms / 1000)
    const by = { by: identity.device, kid: identity.kid, seed: sign.secret, at }
    const other = { id: newId('dev_', clock.ms), keys: publicKeys(newDeviceKeys()) }
    const added = [...log.entries, addDevice({ log, device: other, ...by })]
    const longer = verifyKeyLog(identity.account, added)
    const revoked = [...added, revokeDevice({ log: longer, device: identity.device, ...by })]
    return { first: log.entries, added, revoked, other }
  }
  const showing = (device: Enrolled, entries: readonly string[]): Partial<Account> => ({
    keyLogs: {
      ...device.account.keyLogs,
      read: async (of) => ({ ...paged(entries, of), seal_keys: [] }),
    },
  })

  it('grows: the device adopts entries of another device', async (t) => {
    const device = await enrolled(t)
    const { added, other } = await entriesOf(device)
    const later = device.reopen(showing(device, added))
    assert((await later.sync.run('timer')).ok)
    assert((await later.identity.keyLog()).devices.has(other.id))
    assert.deepEqual((await device.reopen().identity.keyLog()).entries, added)
  })

  for (const [name, lie] of [
    ['rolled back', (own: string[]) => own.slice(0, 1)],
    ['forked', (own: string[], forked: string[]) => [...own.slice(0, 1), ...forked.slice(1)]],
    ['of another account', (_: string[], __: string[], foreign: string[]) => foreign],
    ['empty', () => []],
  ] as [string, (own: string[], forked: string[], foreign: string[]) => string[]][])
    it(`that is ${name} is rejected: reported, the cached log stays, and the sync continues`, async (t) => {
      const device = await enrolled(t)
      const { added } = await entriesOf(device)
      const { added: forked } = await entriesOf(device)
      const foreign = [...(await (await enrolled(t)).identity.keyLog()).entries]
      await device.reopen(showing(device, added)).sync.run('timer')
      const guest = await device.invite()
      await device.account.guestCodes.delete({ id: guest })
      const lied = device.reopen(showing(device, lie(added, forked, foreign)))
      const { ok, error, pulled } = await lied.sync.run('timer')
      assert.equal(ok, false)
      assert.match(error ?? '', /key log of this account.*was refused \(\w+\)/)
      assert.deepEqual((await lied.reopen().identity.keyLog()).entries, added)
      assert.equal(pulled.guest_codes, 1)
      assert.deepEqual(
        lied.logged.map(({ event }) => event),
        ['own key log refused'],
      )
    })

  it('a secret sealed to this device is accepted from any sender', async (t) => {
    const device = await enrolled(t)
    const { identity, vault, state } = device
    const id = await device.connect()
    const { seal } = await identity.keys()
    const { head, epoch } = state.connections.get(id)!
    const to = {
      recipient: identity.device,
      kid: sealKeyId(seal.publicKey),
      publicKey: seal.publicKey,
    }
    const k = vault.get(id)!
    const envelope = await sealEnvelope({ connection: id, epoch, epochHead: head }, k, to)
    vault.delete(id)
    const later = device.reopen({
      envelopes: { ...device.account.envelopes, read: async () => ({ envelopes: [envelope] }) },
    })
    const { ok, error, pulled } = await later.sync.run('timer')
    assert.deepEqual([ok, error, pulled.secrets], [true, null, 1])
    assert.deepEqual(later.vault.get(id), k)
  })

  it('that revokes this device: the sync report and the status name that', async (t) => {
    const device = await enrolled(t)
    const { revoked } = await entriesOf(device)
    const out = device.reopen(showing(device, revoked))
    const { ok, error } = await out.sync.run('timer')
    assert.equal(ok, false)
    assert.match(error ?? '', /This device was revoked.*countersignd logout/)
    for (const user of [out, out.reopen()]) {
      const { authenticated, device_registered, summary } = await status.read({}, contextOf(user))
      assert.deepEqual([authenticated, device_registered, summary], [false, false, error])
    }
  })

  it('that revokes this device: each later sync reports it again', async (t) => {
    const device = await enrolled(t)
    const { revoked } = await entriesOf(device)
    const out = device.reopen(showing(device, revoked))
    const first = await out.sync.run('timer')
    assert.deepEqual((await out.sync.run('timer')).error, first.error)
  })

  it('a session that the server rejects is reported until a sync succeeds', async (t) => {
    const device = await enrolled(t)
    let ended = true
    const out = device.reopen({
      keyLogs: {
        ...device.account.keyLogs,
        read: async (input) => {
          if (ended) throw new AppError('not_signed_in', 'Run countersignd login.')
          return device.account.keyLogs.read(input)
        },
      },
    })
    assert.equal((await out.sync.run('timer')).error, 'Run countersignd login.')
    assert.equal((await status.read({}, contextOf(out))).authenticated, false)
    ended = false
    assert((await out.sync.run('timer')).ok)
    assert.equal((await status.read({}, contextOf(out))).authenticated, true)
  })
})
