/**
 * The account client with streamed answers: bounded in time and length, and checked like any
 * other answer.
 */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type TestContext, describe, test } from 'node:test'
import type { Content } from '../../src/api/route.ts'
import { clientAt, json, refusal, scripted } from './scripted.ts'
import { rejects } from '../rejects.ts'

const ERROR = /\n\nevent: error\ndata: \{"error":"(\w+)","message":"[^"]+"\}\n\n$/

describe('the client of an account server', () => {
  const IDS = { 'X-Conversation-Id': `cnv_${'0'.repeat(26)}`, 'X-Turn-Id': `trn_${'0'.repeat(26)}` }
  const STREAM = { 'Content-Type': 'text/event-stream', ...IDS }
  const ask = (t: TestContext, base: string, timeouts = {}) =>
    clientAt(t, base, { timeouts: { connectMs: 5_000, answerMs: 5_000, ...timeouts } })
      .bearer('csm_x')
      .chat.turn({ body: { message: '?' } })
  const textOf = async ({ body }: Content) => {
    let all = ''
    for await (const bytes of body as AsyncIterable<Uint8Array>)
      all += Buffer.from(bytes).toString()
    return all
  }

  test('returns a complete answer with its ids', async (t) => {
    const { base } = await scripted(t, (res) =>
      json(res, 200, { answer: 'x' }, { ...IDS, 'X-Y': 'z' }),
    )
    const { type, body, headers } = await ask(t, base)
    assert.deepEqual(
      [type, Buffer.from(body as Uint8Array).toString(), headers],
      ['application/json', '{"answer":"x"}', IDS],
    )
  })

  test('removes invalid ids', async (t) => {
    const { base } = await scripted(t, (res) =>
      json(res, 200, {}, { 'X-Turn-Id': 'x y', 'X-Conversation-Id': 'x'.repeat(65) }),
    )
    assert.deepEqual((await ask(t, base)).headers, {})
  })

  test('an answer may begin late, and lasts while data arrives', async (t) => {
    const { base } = await scripted(t, (res) => {
      setTimeout(() => res.writeHead(200, STREAM).write('a'), 80)
      setTimeout(() => res.write('b'), 160)
      setTimeout(() => res.end('c'), 240)
    })
    const content = await ask(t, base, { answerMs: 20, silenceMs: 2_000 })
    assert.equal(await textOf(content), 'abc')
  })

  test('silence before the answer', async (t) => {
    const { base, seen } = await scripted(t, () => undefined)
    await rejects('backend_timeout', ask(t, base, { silenceMs: 50 }))
    assert.equal(seen.length, 1)
  })

  for (const [what, timeouts, act, code] of [
    ['silence', { silenceMs: 500 }, () => undefined, 'backend_timeout'],
    ['a pause that is too long', { streamMs: 50 }, () => undefined, 'backend_timeout'],
    ['a broken connection', {}, (res: ServerResponse) => res.socket!.destroy(), 'backend_error'],
    [
      'too much data',
      {},
      (res: ServerResponse) => res.write(Buffer.alloc(17 * 1024 * 1024)),
      'backend_error',
    ],
  ] as const)
    test(`${what} in the middle`, async (t) => {
      const { base } = await scripted(t, (res) => {
        res.writeHead(200, STREAM).write('half', () => act(res))
      })
      const text = await textOf(await ask(t, base, timeouts))
      assert(text.startsWith('half'))
      assert.equal(ERROR.exec(text)?.[1], code)
    })

  const wrong: [name: string, status: number, headers: Record<string, string>][] = [
    ['another type', 200, { 'Content-Type': 'text/html' }],
    ['no type', 200, {}],
    ['parameters of the type', 200, { 'Content-Type': 'text/event-stream; charset=latin1' }],
    ['compressed', 200, { ...STREAM, 'Content-Encoding': 'gzip' }],
    ['another status', 201, STREAM],
    ['a redirect', 302, { ...STREAM, Location: '/elsewhere' }],
    ['an error as a stream', 500, STREAM],
  ]
  for (const [name, status, headers] of wrong)
    test(`${name} is rejected`, async (t) => {
      const { base, seen } = await scripted(t, (res) =>
        res.writeHead(status, headers).end('data: x\n\n'),
      )
      await rejects('backend_error', ask(t, base))
      assert.equal(seen.length, 1)
    })

  test('an error is returned, and a question is not repeated', async (t) => {
    const { base, seen } = await scripted(t, (res) =>
      json(res, 503, refusal('backend_unavailable')),
    )
    await rejects('backend_unavailable', ask(t, base))
    assert.equal(seen.length, 1)
    assert.equal(seen[0]?.headers['idempotency-key'], undefined)
  })

  test('the connection of a finished answer is used again', async (t) => {
    const server = await scripted(t, (res) => res.writeHead(200, STREAM).end('data: x\n\n'))
    const { chat } = clientAt(t, server.base).bearer('csm_x')
    for (let i = 0; i < 3; i++) await textOf(await chat.turn({ body: { message: '?' } }))
    assert.equal(server.connections(), 1)
  })

  test('other rows are read whole, and reject streams', async (t) => {
    const { base } = await scripted(t, (res) => res.writeHead(200, STREAM).end('{}'))
    await rejects('backend_error', clientAt(t, base).bearer('csm_x').context.read({}))
  })

  test('close ends streams', async (t) => {
    const { base } = await scripted(t, (res) => res.writeHead(200, STREAM).write('half'))
    const remote = clientAt(t, base)
    const { body } = await remote.bearer('csm_x').chat.turn({ body: { message: '?' } })
    const reader = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]()
    await reader.next()
    remote.close()
    assert.match(Buffer.from((await reader.next()).value as Uint8Array).toString(), ERROR)
  })
})
