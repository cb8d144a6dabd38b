/** The open streams of hints of one process: life and memory. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { newHub } from '../../../src/service/hints/hub.ts'

const HOUR_MS = 3_600_000

/** Opens and reads a stream; `isOver` returns whether it ended. */
function opened(hub: ReturnType<typeof newHub>, account: string, session: string) {
  const { body } = hub.open({ account, session })
  let isOver = false
  const reading = (async () => {
    for await (const _ of body);
    isOver = true
  })()
  return { isOver: () => isOver, reading }
}

const settled = () => new Promise(setImmediate)

function hubIn(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const hub = newHub()
  t.after(() => hub.close())
  return hub
}

test('a stream lives for an hour at most', async (t) => {
  const hub = hubIn(t)
  const one = opened(hub, 'acc_1', 'ses_1')
  t.mock.timers.tick(HOUR_MS - 1)
  await settled()
  assert(!one.isOver())
  t.mock.timers.tick(1)
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
