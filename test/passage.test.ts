/**
 * The stream relay: it passes bytes on as they arrive, ends within its time limits, and closes
 * the source as soon as the reader leaves.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type Break, type Bounds, passage } from '../src/api/stream-relay.ts'
import { AppError } from '../src/errors.ts'

const LONG: Bounds = { silenceMs: 60_000, wholeMs: 60_000, most: 1_000_000 }

function open(bounds: Partial<Bounds> = {}, throws = false) {
  const source = new PassThrough()
  let received = ''
  let ends = 0
  const passing = passage(source, {
    bounds: { ...LONG, ...bounds },
    toError: (why: Break) => new AppError('backend_error', `It is ${why}.`),
    onChunk: (bytes) => void (received += Buffer.from(bytes).toString()),
    throws,
    ended: async () => void ends++,
  })
  return { ...passing, source, received: () => received, ends: () => ends }
}

const all = async (body: AsyncIterable<Uint8Array>) => {
  let text = ''
  for await (const bytes of body) text += Buffer.from(bytes).toString()
  return text
}
const eventOf = (why: Break) =>
  `\n\nevent: error\ndata: {"error":"backend_error","message":"It is ${why}."}\n\n`

describe('a stream relay', () => {
  test('relays bytes as they arrive', async () => {
    const { source, body, begun, received, ends } = open()
    const reader = body[Symbol.asyncIterator]()
    for (const piece of ['a', '\n\n', 'ü']) {
      source.write(piece)
      await begun()
      assert.equal(Buffer.from((await reader.next()).value!).toString(), piece)
    }
    const next = reader.next()
    source.end()
    assert.equal((await next).done, true)
    assert.equal((await reader.next()).done, true, 'and stays so')
    assert.deepEqual([received(), ends()], ['a\n\nü', 1])
  })

  test('gives a slow reader everything, and reads little ahead', async () => {
    const { source, body } = open()
    const piece = Buffer.alloc(50_000, 'x')
    let taken = 0
    for (let i = 0; i < 10; i++) source.write(piece, () => taken++)
    source.end()
    await setImmediate()
    assert(taken < 6, `${taken} pieces`)
    assert.equal((await all(body)).length, 500_000)
  })

  test('ends after the work that follows the end', async () => {
    const source = new PassThrough()
    const work = Promise.withResolvers<void>()
    const toError = () => assert.fail()
    const { body } = passage(source, { bounds: LONG, toError, ended: () => work.promise })
    source.end()
    let isOver = false
    const over = all(body).then(() => (isOver = true))
    await once(source, 'end')
    await setImmediate()
    assert.equal(isOver, false)
    work.resolve()
    await over
  })
})

describe('a stream that breaks', () => {
  const cases: [why: Break, bounds: Partial<Bounds>, act: (source: PassThrough) => void][] = [
    ['broken', {}, (source) => source.destroy(new Error('secret'))],
    ['broken', {}, (source) => source.destroy()],
    ['silent', { silenceMs: 20 }, () => undefined],
    ['late', { wholeMs: 20 }, () => undefined],
    ['large', { most: 10 }, (source) => source.write('12345678')],
  ]
  for (const [why, bounds, act] of cases)
    test(`a ${why} source: the received part is relayed, then the reason, once`, async () => {
      const { source, body, ends } = open(bounds)
      const reader = body[Symbol.asyncIterator]()
      source.write('half')
      assert.equal(Buffer.from((await reader.next()).value!).toString(), 'half')
      act(source)
      const { value } = await reader.next()
      assert.equal(Buffer.from(value!).toString(), eventOf(why))
      assert.equal((await reader.next()).done, true)
      assert(source.destroyed)
      assert.equal(ends(), 1)
    })

  for (const [why, bounds, act] of cases)
    test(`a ${why} source whose reader wants an exception gets one, once`, async () => {
      const { source, body } = open(bounds, true)
      const reader = body[Symbol.asyncIterator]()
      source.write(eventOf('silent').slice(0, 9))
      await reader.next()
      act(source)
      await assert.rejects(reader.next(), { code: 'backend_error', message: `It is ${why}.` })
      assert.equal((await reader.next()).done, true)
      assert(source.destroyed)
    })

  for (const [why, bounds, act] of cases.filter(([why]) => why !== 'large'))
    test(`a ${why} source, before any data: it never begins`, async () => {
      const { source, body, begun, ends } = open(bounds)
      act(source)
      await assert.rejects(begun(), { code: 'backend_error', message: `It is ${why}.` })
      assert.equal(await all(body), '')
      assert.equal(ends(), 1)
    })

  test('an end without data never begins', async () => {
    const { source, begun } = open()
    source.end()
    await assert.rejects(begun(), { message: 'It is broken.' })
  })

  for (const [whole, ending] of [
    [true, ''],
    [false, eventOf('broken')],
  ] as const)
    test(`an end that is ${whole ? '' : 'not '}complete`, async () => {
      const source = new PassThrough()
      const toError = (why: Break) => new AppError('backend_error', `It is ${why}.`)
      let ends = 0
      const ended = async () => void ends++
      const { body } = passage(source, { bounds: LONG, toError, whole: () => whole, ended })
      source.end('half')
      assert.equal(await all(body), `half${ending}`)
      assert.equal(ends, 1)
    })

  test('unread data from before a break is relayed', async () => {
    const { source, body, begun } = open()
    source.write('half')
    await begun()
    source.destroy(new Error('cut'))
    await new Promise((resolve) => source.once('close', resolve))
    assert.equal(await all(body), `half${eventOf('broken')}`)
  })
})

describe('leaving', () => {
  test('a waiting reader that leaves closes the source at once', async () => {
    const { source, body, ends } = open()
    const reader = body[Symbol.asyncIterator]()
    source.write('a')
    await reader.next()
    const waits = reader.next()
    await reader.return!()
    assert.equal((await waits).done, true)
    assert(source.destroyed)
    assert.equal(ends(), 1)
  })

  test('a reader that never read can leave, too', async () => {
    const { source, body, cut, ends } = open()
    source.write('a')
    cut()
    cut()
    assert(source.destroyed)
    assert.equal(ends(), 1)
    assert.equal(await all(body), '')
  })

  test('leaves no timer behind', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length
    const before = timers()
    const ended = open()
    ended.source.end('a')
    await all(ended.body)
    const cut = open()
    const reader = cut.body[Symbol.asyncIterator]()
    const waits = reader.next()
    await reader.return!()
    await waits
    assert.equal(timers(), before)
  })
})
