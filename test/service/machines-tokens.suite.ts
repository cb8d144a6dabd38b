/** Rules of the tokens of machine accounts, on any engine. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { checkToken, newToken } from '../../src/crypto/token.ts'
import { as, openTwo, refusal, type Subject } from './machines-subject.ts'
import type { Engine } from './engines.ts'
import { rejects } from '../rejects.ts'

const START = Date.UTC(2026, 0, 1)
const HOUR = 3_600_000

export function machineTokensSuite(name: string, engine: Engine): void {
  describe(`machine tokens: ${name}`, () => {
    let here: Subject
    let replica: Subject
    before(async () => {
      ;[here, replica] = await openTwo(engine, START)
    })
    beforeEach(() => {
      here.clock.ms = START
    })
    after(() => Promise.all([here.close(), replica.close()]))

    const mint = (
      account: string,
      body: Partial<Parameters<typeof here.machineTokens.create>[0]['body']> = {},
    ) =>
      here.machineTokens.create({ body: { name: 'Nightly', scope: 'read', ...body } }, as(account))

    test('a token is returned with its values, and authenticates its machine', async () => {
      const { account } = await here.newMachine()
      const { token, ...shown } = await mint(account, {
        scope: 'write',
        label: 'cron',
        expires_in: 60,
      })
      assert.equal(checkToken(token), 'csm')
      assert.deepEqual(shown, {
        id: shown.id,
        name: 'Nightly',
        label: 'cron',
        scope: 'write',
        created_at: new Date(START).toISOString(),
        expires_at: new Date(START + 60_000).toISOString(),
      })
      const caller = await here.authenticate(token)
      assert.deepEqual(caller, {
        account,
        device: null,
        session: null,
        token: shown.id,
        scope: 'write',
      })
      assert.deepEqual(await here.bearer.read({}, caller), {
        account_id: account,
        token_id: shown.id,
        scope: 'write',
        expires_at: shown.expires_at,
      })
    })

    test('without a lifetime it does not expire; without a label it has none', async () => {
      const { account } = await here.newMachine()
      const { token, label, expires_at } = await mint(account)
      assert.deepEqual([label, expires_at], [null, null])
      here.clock.ms += 20 * 365 * 24 * HOUR
      await here.authenticate(token)
    })

    for (const [what, of, expires_in, lives] of [
      ['without expiry', {}, 60, 60],
      ['that expires first', { expires_in: 60 }, 3600, 60],
      ['that expires first, for an unlimited token', { expires_in: 60 }, undefined, 60],
      ['that expires later', { expires_in: 3600 }, 60, 60],
      ['without expiry, for an unlimited token', {}, undefined, null],
    ] as const)
      test(`a token made by one ${what} does not outlive it`, async () => {
        const { account } = await here.newMachine()
        const { token: own } = await mint(account, { scope: 'full', ...of })
        const maker = await here.authenticate(own)
        const made = await here.machineTokens.create(
          { body: { name: 'Child', scope: 'full', expires_in } },
          maker,
        )
        const ends = lives === null ? null : new Date(START + lives * 1000).toISOString()
        assert.equal(made.expires_at, ends)
        if (lives === null) return
        here.clock.ms += lives * 1000
        await rejects('invalid_token', here.authenticate(made.token))
      })

    for (const [what, end] of [
      ['revoked', (of) => replica.machineTokens.delete({ id: of.id }, as(of.account))],
      ['expired', async () => void (here.clock.ms += 60_000)],
      ['of a suspended machine', (of) => replica.setState(of.account, 'suspended')],
    ] as [string, (of: { id: string; account: string }) => Promise<unknown>][])
      test(`a token that is ${what} after authentication makes no other`, async () => {
        const { account } = await here.newMachine()
        const own = await mint(account, { scope: 'full', expires_in: 60 })
        const maker = await here.authenticate(own.token)
        const make = () =>
          here.machineTokens.create({ body: { name: 'Child', scope: 'full' } }, maker)
        await make()
        await end({ id: own.id, account })
        await rejects('invalid_token', make())
        const { items } = await here.machineTokens.list({ limit: 10 }, as(account))
        assert.equal(items.length, 2)
      })

    for (const state of ['suspended', 'invited'] as const)
      test(`${state}: its tokens are rejected, on the other replica too, until it is active again`, async () => {
        const { account } = await here.newMachine()
        const { token } = await mint(account)
        const caller = await here.authenticate(token)
        await here.setState(account, state)
        const wrong = await refusal(here.authenticate(newToken('csm_')))
        for (const server of [here, replica])
          assert.deepEqual(await refusal(server.authenticate(token)), wrong)
        await rejects('invalid_token', here.bearer.read({}, caller))
        await here.setState(account, 'active')
        assert.deepEqual(await here.authenticate(token), caller)
        await here.bearer.read({}, caller)
      })

    test('wrong, expired and revoked tokens get the same error', async () => {
      const { account } = await here.newMachine()
      const [revoked, expired] = [await mint(account), await mint(account, { expires_in: 60 })]
      here.clock.ms += 59_999
      for (const { token } of [revoked, expired]) await here.authenticate(token)
      here.clock.ms += 1
      await here.machineTokens.delete({ id: revoked.id }, as(account))
      const wrong = [
        newToken('csm_'),
        newToken('csd_'),
        revoked.token.slice(0, -1),
        '',
        '\0',
        'x'.repeat(10_000),
      ]
      const all = await Promise.all(
        [revoked.token, expired.token, ...wrong].map((token) => refusal(here.authenticate(token))),
      )
      assert.equal(all[0]?.error, 'invalid_token')
      assert.deepEqual(all[0].headers, { 'WWW-Authenticate': 'Bearer error="invalid_token"' })
      for (const one of all) assert.deepEqual(one, all[0])
    })

    test('a revocation applies at once, on the other replica too, and can be repeated', async () => {
      const { account } = await here.newMachine()
      const { id, token } = await mint(account)
      await replica.authenticate(token)
      await here.machineTokens.delete({ id }, as(account))
      for (const server of [replica, here])
        await rejects('invalid_token', server.authenticate(token))
      here.clock.ms += HOUR
      await here.machineTokens.delete({ id }, as(account))
      const row = await here.db
        .selectFrom('machine_tokens')
        .select('revoked_at')
        .where('id', '=', id)
        .executeTakeFirst()
      assert.equal(row?.revoked_at, START)
    })

    test('the list has the machine’s own tokens, newest first, in pages, with their states', async () => {
      const { account } = await here.newMachine()
      const other = await here.newMachine()
      await mint(other.account)
      const ids = [
        (await mint(account)).id,
        (await mint(account, { expires_in: 60 })).id,
        (await mint(account)).id,
      ]
      await here.machineTokens.delete({ id: ids[2]! }, as(account))
      here.clock.ms += 60_000
      const first = await here.machineTokens.list({ limit: 2 }, as(account))
      const second = await here.machineTokens.list(
        { limit: 2, cursor: first.next_cursor! },
        as(account),
      )
      assert.deepEqual(
        [...first.items, ...second.items].map(({ id, state }) => [id, state]),
        [
          [ids[2], 'revoked'],
          [ids[1], 'expired'],
          [ids[0], 'active'],
        ],
      )
      assert.equal(second.next_cursor, null)
      const bad = here.machineTokens.list({ limit: 2, cursor: 'x' }, as(account))
      await rejects('bad_request', bad)
    })

    test('tokens of another machine and malformed ids are not found', async () => {
      const [mine, theirs] = [await here.newMachine(), await here.newMachine()]
      const { id, token } = await mint(theirs.account)
      for (const bad of [id, newId('tok_', START), 'x', '\0', mine.account])
        await rejects('not_found', here.machineTokens.delete({ id: bad }, as(mine.account)))
      await here.authenticate(token)
    })

    test('a person cannot have machine tokens', async () => {
      const { owner, account } = await here.newMachine()
      const { id, token } = await mint(account)
      for (const call of [
        () => here.machineTokens.list({ limit: 50 }, as(owner)),
        () => mint(owner),
        () => here.machineTokens.delete({ id }, as(owner)),
        () => here.bearer.read({}, as(owner)),
      ])
        await rejects('forbidden', call())
      await here.authenticate(token)
    })

    test('the last use is recorded to the minute', async () => {
      const { account } = await here.newMachine()
      const { token } = await mint(account)
      const used = async () => {
        const { items } = await here.machineTokens.list({ limit: 1 }, as(account))
        const at = items[0]?.last_used_at ?? null
        return at === null ? null : Date.parse(at) - START
      }
      assert.equal(await used(), null)
      for (const [ms, expected] of [
        [1000, 1000],
        [60_999, 1000],
        [61_000, 61_000],
      ] as const) {
        here.clock.ms = START + ms
        await here.authenticate(token)
        assert.equal(await used(), expected)
      }
    })

    test('the database contains no token', async () => {
      const { account } = await here.newMachine()
      const { id, token } = await mint(account)
      await here.authenticate(token)
      const stored = await here.everything()
      assert.ok(stored.includes(id))
      assert.ok(!stored.includes(token.slice(4)))
    })
  })
}
