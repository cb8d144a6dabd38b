/** Tests what the daemon adds to the account’s answers, and the errors when it cannot. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Content } from '../../src/api/route.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { verifyStamp } from '../../src/crypto/stamp.ts'
import { renewNow } from '../../src/device/sync/seal-renewal.ts'
import { AppError } from '../../src/errors.ts'
import { connections } from '../../src/handlers/connections.ts'
import { guestCodes } from '../../src/handlers/guest-codes.ts'
import { pageIn } from '../../src/handlers/account.ts'
import { profiles } from '../../src/handlers/profiles.ts'
import { stamp } from '../../src/handlers/stamp.ts'
import { status } from '../../src/handlers/status.ts'
import { verificationLog } from '../../src/handlers/verify.ts'
import { MINUTE } from '../device/bench.ts'
import { BACKEND, enrolled } from '../device/enrolled.ts'
import { contextOf } from '../world/requests.ts'
import { rejects } from '../rejects.ts'

const WRONG = 'matador carload recede'
const MIB = 1024 * 1024

async function setUp(t: TestContext) {
  const device = await enrolled(t)
  return { device, context: contextOf(device) }
}

describe('connections', () => {
  it('show whether the device has their secret', async (t) => {
    const { device, context } = await setUp(t)
    const [here, away] = [await device.connect('here'), await device.connect('away')]
    device.vault.delete(away)
    const { items } = await connections.list({ limit: 50 }, context)
    assert.deepEqual(
      items.map(({ id, secret_here }) => [id, secret_here]),
      [
        [away, false],
        [here, true],
      ],
    )
    assert.equal((await connections.read({ id: here }, context)).secret_here, true)
    const { words, valid_from, valid_until } = await connections.code({ id: here }, context)
    assert.equal(words, device.codes.own(here, device.clock.ms)?.words)
    assert.equal(Date.parse(valid_until) - Date.parse(valid_from), MINUTE)
  })

  it('code: a missing secret and an unknown connection are different errors', async (t) => {
    const { device, context } = await setUp(t)
    const [id, guest] = [await device.connect(), await device.invite()]
    device.vault.delete(id)
    const again = contextOf(device.reopen())
    await rejects('secret_unavailable', connections.code({ id }, again))
    for (const none of ['con_none', guest, id.replace(/.$/, (last) => (last === '0' ? '1' : '0'))])
      await rejects('not_found', connections.code({ id: none }, context))
  })

  it('verify uses a new name at once', async (t) => {
    const { device, context } = await setUp(t)
    const id = await device.connect('Bank')
    await connections.update({ id, body: { name: 'The bank' } }, context)
    await connections.favorite({ id, body: { favorite: true } }, context)
    const { words } = await connections.code({ id }, context)
    for (const { verifier } of [device, device.reopen()])
      assert.equal((await verifier.verify(words, null)).matches[0]?.connection_name, 'The bank')
  })

  it('deleting keeps it if something else was not found, and deletes it if it is gone', async (t) => {
    const { device, context } = await setUp(t)
    const id = await device.connect()
    const none = () => Promise.reject(new AppError('not_found', 'There is no such thing.'))
    const lost = device.reopen({
      connections: { ...device.account.connections, delete: none },
      rosters: { ...device.account.rosters, read: none, append: none },
    })
    await rejects('not_found', connections.delete({ id }, contextOf(lost)))
    assert.notEqual(device.state.connections.get(id), null, 'it is still here')
    await device.account.connections.delete({ id })
    await connections.delete({ id }, context)
    assert.deepEqual([device.vault.has(id), device.state.connections.get(id)], [false, null])
  })

  it('a deleted one is deleted here, too, and its words match nothing', async (t) => {
    const { device, context } = await setUp(t)
    const id = await device.connect()
    const { words } = await connections.code({ id }, context)
    await connections.delete({ id }, context)
    for (const { verifier, vault, state } of [device, device.reopen()]) {
      assert.deepEqual((await verifier.verify(words, null)).matches, [])
      assert.deepEqual([vault.has(id), state.connections.get(id)], [false, null])
    }
    await rejects('not_found', connections.delete({ id }, context))
  })
})

describe('guest codes', () => {
  it('show the owner’s words while they are active', async (t) => {
    const { device, context } = await setUp(t)
    const made = await guestCodes.create({ body: { label: 'Ann', expires_in: 60 } }, context)
    const gone = await guestCodes.create({ body: { label: 'Ben', expires_in: 60 } }, context)
    await guestCodes.delete({ id: gone.id }, context)
    const list = async () => {
      const { items } = await guestCodes.list({ limit: 50 }, context)
      return items.map(({ state, secret_here, code }) => [state, secret_here, code?.words])
    }
    const words = device.codes.own(made.id, device.clock.ms)?.words
    assert.deepEqual(await list(), [
      ['revoked', false, undefined],
      ['active', true, words],
    ])
    device.clock.ms += MINUTE
    assert.deepEqual((await list())[1], ['expired', true, undefined])
  })

  for (const [format, accept, type, begins] of [
    [undefined, '', 'image/svg+xml', '<svg'],
    [undefined, 'image/gif', 'image/gif', 'GIF8'],
    [undefined, 'image/svg+xml, image/gif', 'image/svg+xml', '<svg'],
    [undefined, '*/*', 'image/svg+xml', '<svg'],
    ['svg', 'image/gif', 'image/svg+xml', '<svg'],
    ['gif', '', 'image/gif', 'GIF8'],
    ['text', 'image/gif', 'text/plain; charset=utf-8', '\u00e2\u0096\u0088\u00e2'],
  ] as const)
    it(`QR image, format ${format ?? 'not given'}, Accept "${accept}": ${type}`, async (t) => {
      const { device } = await setUp(t)
      const context = contextOf(device, {}, { accept })
      const { id, url } = await guestCodes.create(
        { body: { label: 'Ann', expires_in: 60 } },
        context,
      )
      assert.match(url, new RegExp(`^${BACKEND}/g/${id}#[\\w-]{43}$`))
      const image: Content = await guestCodes.qr({ id, format }, context)
      assert.equal(image.type, type)
      const start = Buffer.from(image.body as string | Uint8Array)
        .toString('latin1')
        .slice(0, 4)
      assert.equal(start, begins)
    })

  it('QR image: rejected for an ended or unknown code, and for one without a secret here', async (t) => {
    const { device, context } = await setUp(t)
    const [revoked, expired, away] = [
      await device.invite(),
      await device.invite(),
      await device.invite(),
    ]
    await guestCodes.delete({ id: revoked }, context)
    device.vault.delete(away)
    const qr = (id: string) => guestCodes.qr({ id, format: undefined }, context)
    await rejects('invalid_state', qr(revoked), { state: 'revoked' })
    await rejects('secret_unavailable', qr(away))
    await rejects('not_found', qr('gst_none'))
    device.clock.ms += 3600_000
    await rejects('invalid_state', qr(expired), { state: 'expired' })
  })
})

describe('the verification log', () => {
  it('is one list, newest first, with pushed and unpushed entries', async (t) => {
    const { device, context } = await setUp(t)
    await device.connect()
    const verify = async (times: number) => {
      for (let i = 0; i < times; i++) {
        await device.verifier.verify(WRONG, null)
        device.clock.ms += MINUTE
      }
    }
    await verify(5)
    await device.sync.run('timer')
    await verify(4)
    const expected = device.state.verifications.page(99, null).map(({ id }) => id)
    assert.equal(expected.length, 9)
    for (const limit of [1, 2, 3, 4, 5, 8, 9, 10]) {
      const seen: string[] = []
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page: { items: { id: string }[]; next_cursor: string | null } =
          await verificationLog.list(
            { limit, ...(cursor === undefined ? {} : { cursor }) },
            context,
          )
        assert(page.items.length <= limit)
        seen.push(...page.items.map(({ id }) => id))
        cursor = page.next_cursor
      }
      assert.deepEqual(seen, expected, `pages of ${limit}`)
    }
  })

  it('a foreign cursor: bad_request', async (t) => {
    const { context } = await setUp(t)
    await rejects('bad_request', verificationLog.list({ limit: 5, cursor: '***' }, context))
  })
})

describe('pages of local lists', () => {
  const items = [5, 4, 3, 2, 1].map((n) => ({ id: `tok_${String(n).repeat(26)}` }))
  for (const limit of [1, 2, 4, 5, 6])
    it(`of ${limit} items`, () => {
      const seen: unknown[] = []
      let page = pageIn(items, { limit }, 'tok_')
      seen.push(...page.items)
      while (page.next_cursor !== null) {
        page = pageIn(items, { limit, cursor: page.next_cursor }, 'tok_')
        assert(page.items.length > 0, 'no empty last page')
        seen.push(...page.items)
      }
      assert.deepEqual(seen, items)
    })

  for (const cursor of ['*', 'a', '_w', 'YQ', 'YQ==', ''])
    it(`a cursor "${cursor}": bad_request`, () => {
      assert.throws(() => pageIn(items, { limit: 2, cursor }, 'tok_'), { code: 'bad_request' })
    })
})

describe('stamps', () => {
  const digest = (content: string | Uint8Array) =>
    createHash('sha256').update(content).digest('hex')

  for (const [name, body, content, len] of [
    ['text', { content: 'Grüße' }, 'Grüße', 7],
    ['base64', { content_base64: 'AAEC' }, Uint8Array.of(0, 1, 2), 3],
    ['empty content', { content: '' }, '', 0],
    ['a digest', { sha256: digest('x') }, 'x', null],
  ] as const)
    it(`a stamp of ${name}`, async (t) => {
      const { context } = await setUp(t)
      const made = await stamp.create({ body: { ...body, context: 'why' } }, context)
      assert.equal(made.sha256, digest(content))
      const { payload, receipt } = verifyStamp(
        { stamp: made.stamp, key_log: made.key_log, receipt: made.receipt ?? '' },
        { content: Buffer.from(content), serverKey: context.local.identity.receiptKey },
      )
      assert.deepEqual([payload.len, payload.ctx, payload.media_type], [len, 'why', null])
      assert.equal(receipt?.key_status, 'active')
      assert.deepEqual(context.local.state.stamps.get(made.id)?.jws, made.stamp)
    })

  it('a stamp of 8 MiB succeeds, and of more gets payload_too_large', async (t) => {
    const { context } = await setUp(t)
    const of = (size: number) => stamp.create({ body: { content: 'x'.repeat(size) } }, context)
    assert.equal((await of(8 * MIB)).sha256.length, 64)
    await rejects('payload_too_large', of(8 * MIB + 1))
  })

  it('a stamp with words in use: signed again with another id, a limited number of times', async (t) => {
    const { device } = await setUp(t)
    const seen: string[] = []
    const stamps = (taken: number): Partial<Account> => ({
      stamps: {
        create: async (input) => {
          seen.push(Buffer.from(entryHash(input.body.stamp)).toString('hex'))
          if (seen.length <= taken) throw new AppError('conflict', 'taken')
          return device.account.stamps.create(input)
        },
      },
    })
    const made = await stamp.create({ body: { content: 'x' } }, contextOf(device, stamps(2)))
    assert.equal(new Set(seen).size, 3)
    assert.equal(Buffer.from(entryHash(made.stamp)).toString('hex'), seen[2])
    seen.length = 0
    await rejects(
      'conflict',
      stamp.create({ body: { content: 'x' } }, contextOf(device, stamps(99))),
    )
    assert.equal(seen.length, 5)
  })
})

describe('keys of a profile', () => {
  it('are those in the account’s key log, and no others', async (t) => {
    const { device, context } = await setUp(t)
    const id = device.identity.account
    const page = { id, limit: 50 }
    const { items } = await profiles.keys(page, context)
    assert.deepEqual(items.map(({ use }) => use).toSorted(), ['seal', 'sign'])
    const [sign, seal] = [
      items.find(({ use }) => use === 'sign'),
      items.find(({ use }) => use === 'seal'),
    ]
    assert(sign && seal)
    const other = await enrolled(t)
    const foreign = await other.account.profiles.keys({ ...page, id: other.identity.account })
    const lies: [name: string, items: typeof items][] = [
      ['another account’s key', [sign, ...foreign.items]],
      ['a key under another id', [sign, { ...seal, id: sign.id }]],
    ]
    for (const [name, shown] of lies) {
      const lying = contextOf(device, {
        profiles: {
          ...device.account.profiles,
          keys: async () => ({ items: shown, next_cursor: null }),
        },
      })
      assert.deepEqual((await profiles.keys(page, lying)).items, [sign], name)
    }
    const wrongLog = contextOf(device, {
      keyLogs: {
        ...device.account.keyLogs,
        read: () => other.account.keyLogs.read({ account: other.identity.account }),
      },
    })
    await rejects('conflict', profiles.keys(page, wrongLog))
    await rejects('not_found', profiles.keys({ ...page, id: 'acc_none' }, context))
  })

  it('do not come from a key log older than the cached one', async (t) => {
    const { device } = await setUp(t)
    const id = device.identity.account
    await renewNow(device, device.account)
    const older = contextOf(device, {
      keyLogs: {
        ...device.account.keyLogs,
        async read(of) {
          const { entries, ...log } = await device.account.keyLogs.read({ ...of, from: 0 })
          return { ...log, entries: entries.slice(0, 1).slice(of.from ?? 0), seq: 0 }
        },
      },
    })
    await rejects('conflict', profiles.keys({ id, limit: 50 }, older))
  })
})

describe('status', () => {
  it('counts connections, and has the time of the last successful sync', async (t) => {
    const { device, context } = await setUp(t)
    const before = await status.read({}, context)
    assert.deepEqual([before.cached_connections, before.last_sync_at], [0, null])
    await device.connect()
    await device.invite()
    const report = await device.sync.run('timer')
    const { cached_connections, last_sync_at, summary, backend } = await status.read({}, context)
    assert.deepEqual([cached_connections, last_sync_at, backend], [1, report.finished_at, BACKEND])
    assert.equal(
      summary,
      'The account of "Ann" is on this machine only, with 1 connection and 1 guest code.',
    )
  })
})
