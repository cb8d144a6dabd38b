/** The routes of webhooks, with a daemon: who may use them, and what becomes of them. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { CreatedWebhook, Webhook } from '../../src/api/live/webhooks.ts'
import type { Scope } from '../../src/auth/scopes.ts'
import { type Answer, type TestDaemon, startDaemon } from '../daemon.ts'
import { type Receiver, checkSignature, newReceiver } from '../webhooks/bench.ts'

const PATH = '/api/v1/webhooks'
/** None of these events happen here, so nothing is sent to this URL. */
const [URL_, TYPES] = ['https://example.org/hook', ['webhook.given_up']]
const codeOf = ({ json }: Answer) => (json as { error?: string }).error

describe('webhooks', () => {
  let daemon: TestDaemon
  let owner: string

  before(async () => {
    daemon = await startDaemon()
    owner = daemon.owner()
  })
  after(() => daemon.close())

  const ask = (method: string, path: string, token: string, body?: unknown) =>
    daemon.request(method, path, { token, body })
  const mint = async (scope: Scope) => {
    const { json } = await ask('POST', '/api/v1/token', owner, { name: 'one', scope })
    return json as { id: string; token: string }
  }
  const create = async (token: string, body: object = {}) => {
    const answer = await ask('POST', PATH, token, { url: URL_, types: TYPES, ...body })
    assert.equal(answer.status, 201, answer.text)
    return answer.json as CreatedWebhook
  }
  const list = async (token: string) => {
    const { json } = await ask('GET', PATH, token)
    return (json as { items: Webhook[] }).items
  }
  const remove = async ({ id }: { id: string }) =>
    assert.equal((await ask('DELETE', `${PATH}/${id}`, owner)).status, 204)

  test('the secret is in the answer to the creation only', async () => {
    const made = await create(owner, { name: 'Alarm' })
    assert.match(made.secret, /^whsec_/)
    const { secret, ...rest } = made
    assert.deepEqual(await list(owner), [rest])
    const { text } = await ask('PATCH', `${PATH}/${made.id}`, owner, { name: 'Bell' })
    assert(!text.includes(secret))
    assert(!daemon.log.some((line) => line.includes(secret) || line.includes('example.org/hook')))
    await remove(made)
    assert.deepEqual(await list(owner), [])
  })

  test('without a token, a webhook outlives the token that created it', async () => {
    const { id, token } = await mint('full')
    const made = await create(token, { ends_with_token: false })
    assert.equal(made.token_id, null)
    assert.equal((await ask('DELETE', `/api/v1/api-tokens/${id}`, owner)).status, 204)
    assert.deepEqual(
      (await list(owner)).map(({ id: listed }) => listed),
      [made.id],
    )
    await remove(made)
    const { token: write } = await mint('write')
    const refused = await ask('POST', PATH, write, {
      url: URL_,
      types: TYPES,
      ends_with_token: false,
    })
    assert.deepEqual([refused.status, codeOf(refused)], [403, 'insufficient_scope'])
  })

  test('a token of scope read learns nothing', async () => {
    const made = await create(owner)
    const { token } = await mint('read')
    for (const [method, path] of [
      ['GET', PATH],
      ['GET', `${PATH}/${made.id}/deliveries`],
      ['POST', `${PATH}/${made.id}/test`],
      ['DELETE', `${PATH}/${made.id}`],
    ] as const)
      assert.equal(codeOf(await ask(method, path, token)), 'insufficient_scope')
    await remove(made)
  })

  test('a token of scope write sees and changes only its own', async () => {
    const [mine, other, full] = [await mint('write'), await mint('write'), await mint('full')]
    const made = await create(mine.token)
    assert.equal(made.token_id, mine.id)
    const seen = async (token: string) => (await list(token)).map(({ id }) => id)
    assert.deepEqual(await seen(mine.token), [made.id])
    assert.deepEqual(await seen(other.token), [])
    assert.deepEqual(await seen(full.token), [made.id])
    for (const [method, path, body] of [
      ['PATCH', made.id, { url: 'https://evil.example/' }],
      ['DELETE', made.id, undefined],
      ['POST', `${made.id}/test`, undefined],
      ['GET', `${made.id}/deliveries`, undefined],
    ] as const)
      assert.equal(codeOf(await ask(method, `${PATH}/${path}`, other.token, body)), 'not_found')
    await ask('DELETE', `/api/v1/api-tokens/${mine.id}`, owner)
    assert.deepEqual(await seen(full.token), [])
  })

  test('types of organisations need full, of the caller and of the token that created it', async () => {
    const [write, full] = [await mint('write'), await mint('full')]
    const types = ['org.*']
    const refused = await ask('POST', PATH, write.token, { url: URL_, types })
    assert.equal(codeOf(refused), 'insufficient_scope')
    const mine = await create(write.token)
    for (const { token } of [write, full]) {
      const answer = await ask('PATCH', `${PATH}/${mine.id}`, token, { types })
      assert.equal(codeOf(answer), 'insufficient_scope')
    }
    const made = await create(full.token, { types })
    assert.deepEqual(made.types, types)
    for (const one of [mine, made]) await remove(one)
  })

  test('a repeated creation with one Idempotency-Key creates another, and stores no secret', async () => {
    const once = () =>
      daemon.request('POST', PATH, {
        token: owner,
        body: { url: URL_, types: TYPES },
        headers: { 'Idempotency-Key': 'one' },
      })
    const [one, two] = [await once(), await once()].map(({ json }) => json as CreatedWebhook)
    assert.notEqual(one?.secret, two?.secret)
    for (const { id } of [one!, two!]) await remove({ id })
  })

  for (const [body, path] of [
    [{ url: 'http://example.org/', types: ['token.*'] }, 'url'],
    [{ url: 'https://169.254.169.254/', types: ['token.*'] }, 'url'],
    [{ url: URL_, types: ['token.nothing'] }, 'types.0'],
    [{ url: URL_, types: ['token.created', '*'] }, 'types.1'],
    [{ url: URL_, types: [] }, 'types'],
    [{ url: URL_ }, 'types'],
    [{ url: URL_, types: ['token.*'], secret: 'mine' }, 'secret'],
  ] as const)
    test(`${JSON.stringify(body)} is not valid`, async () => {
      const { status, json } = await ask('POST', PATH, owner, body)
      assert.equal(status, 422)
      assert.equal((json as { issues: { path: string }[] }).issues[0]?.path, path)
    })

  test('there are at most 32', async () => {
    const made = []
    for (let n = 0; n < 32; n++) made.push(await create(owner))
    const answer = await ask('POST', PATH, owner, { url: URL_, types: TYPES })
    assert.deepEqual([answer.status, codeOf(answer)], [409, 'conflict'])
    const first = await ask('GET', `${PATH}?limit=30`, owner)
    const { items, next_cursor } = first.json as { items: Webhook[]; next_cursor: string }
    const rest = await ask('GET', `${PATH}?limit=30&cursor=${next_cursor}`, owner)
    const all = [...items, ...(rest.json as { items: Webhook[] }).items]
    assert.deepEqual(
      all.map(({ id }) => id),
      made.map(({ id }) => id).toReversed(),
    )
    for (const one of made) await remove(one)
  })

  test('nothing is sent to this daemon itself', async () => {
    for (const address of [daemon.address, daemon.accountAddress]) {
      const { id } = await create(owner, { url: `${address}/api/v1/token` })
      const { json } = await ask('POST', `${PATH}/${id}/test`, owner)
      assert.partialDeepStrictEqual(json, { delivered: false, error: 'address_not_allowed' })
      await remove({ id })
    }
  })
})

describe('a daemon', () => {
  const created = async (daemon: TestDaemon, { url }: Receiver, types = ['token.created']) => {
    const { json } = await daemon.request('POST', PATH, {
      token: daemon.owner(),
      body: { url, types },
    })
    return json as CreatedWebhook
  }

  test('delivers events, and lists the deliveries', async (t) => {
    const receiver = await newReceiver(t)
    const daemon = await startDaemon()
    t.after(() => daemon.close())
    const { secret, id } = await created(daemon, receiver)
    await daemon.token('read')
    await receiver.arrived(1)
    checkSignature(receiver.got[0]!, secret)
    const { json } = await daemon.request('GET', `${PATH}/${id}/deliveries`, {
      token: daemon.owner(),
    })
    assert.equal((json as { items: unknown[] }).items.length, 1)
  })

  test('that stops while a receiver hangs does not wait for it', async (t) => {
    const receiver = await newReceiver(t)
    receiver.answer(() => undefined)
    const daemon = await startDaemon()
    await created(daemon, receiver)
    await daemon.token('read')
    await receiver.arrived(1)
    await daemon.close()
  })
})
