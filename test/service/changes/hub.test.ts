/** The open streams of hints of one process: heartbeats, life and memory. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newHub } from '../../../src/service/hints/hub.ts'

const BEAT = 20_000

/** Opens a stream; `text` returns what its reader has got so far, and `isOver` whether it ended. */
function opened(hub: ReturnType<typeof newHub>, account: string, session: string) {
  const { body } = hub.open({ account, session })
  let [text, isOver] = ['', false]
  const reading = (async () => {
    for await (const chunk of body) text += Buffer.from(chunk).toString()
    isOver = true
  })()
  return { text: () => text, isOver: () => isOver, reading }
}

const settled = () => new Promise(setImmediate)

function hubIn(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const hub = newHub()
  t.after(() => hub.close())
  return hub
}

test('each stream has a comment every 20 seconds, not all at the same time', async (t) => {
  const hub = hubIn(t)
  const streams: ReturnType<typeof opened>[] = []
  for (let i = 0; i < 40; i++) {
    streams.push(opened(hub, `acc_${i}`, `ses_${i}`))
    t.mock.timers.tick(BEAT / 20)
    await settled()
  }
  const beats = () => streams.map((one) => one.text().split(':\n\n').length)
  const before = beats()
  t.mock.timers.tick(BEAT / 20)
  await settled()
  const moved = beats().filter((count, i) => count !== before[i]).length
  assert(moved > 0 && moved < 10, `${moved} at once`)
  for (let i = 1; i < 20; i++) {
    t.mock.timers.tick(BEAT / 20)
    await settled()
  }
  assert.deepEqual(
    beats(),
    before.map((count) => count + 1),
  )
})

test('a stream lives for an hour at most', async (t) => {
  const hub = hubIn(t)
  const one = opened(hub, 'acc_1', 'ses_1')
  for (let i = 0; i < 180; i++) {
    t.mock.timers.tick(BEAT)
    await settled()
  }
  assert(!one.isOver())
  t.mock.timers.tick(BEAT)
  await one.reading
  assert.deepEqual([...hub.accounts()], [])
})

test('a reader that does not read costs one event, however much changes', async (t) => {
  const hub = hubIn(t)
  const { body } = hub.open({ account: 'acc_1', session: 'ses_1' })
  for (let i = 0; i < 10_000; i++) hub.changed('acc_1', i % 2 === 0 ? ['duties'] : ['connections'])
  const reader = body[Symbol.asyncIterator]()
  const chunks = [await reader.next(), await reader.next()]
  assert.deepEqual(
    chunks.map(({ value }) => Buffer.from(value as Uint8Array).toString()),
    ['event: open\ndata: {}\n\n', 'event: changed\ndata: {"parts":["connections","duties"]}\n\n'],
  )
  // Nothing is left.
  const third = reader.next()
  hub.close()
  assert.equal((await third).done, true)
})

test('a reader that leaves is forgotten', async (t) => {
  const hub = hubIn(t)
  const reader = hub.open({ account: 'acc_1', session: 'ses_1' }).body[Symbol.asyncIterator]()
  await reader.next()
  assert.deepEqual([...hub.accounts()], ['acc_1'])
  await reader.return?.()
  assert.deepEqual([...hub.accounts()], [])
})
