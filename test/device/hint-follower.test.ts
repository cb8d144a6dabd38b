/** The device’s end of the stream of hints, with account servers that do what they should not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import type { Content } from '../../src/api/route.ts'
import { newHintFollower } from '../../src/device/sync/hint-follower.ts'
import { AppError } from '../../src/errors.ts'

const SECOND = 1_000
const HOUR = 3_600_000

/** A stream with bytes that the test gives. */
function newBody() {
  const chunks: string[] = []
  let wake = () => undefined as void
  let isOver = false
  let isLeft = false
  let failure: Error | null = null
  const body: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        while (chunks.length === 0 && !isOver && !isLeft)
          await new Promise<void>((resolve) => {
            wake = resolve
          })
        const chunk = isLeft ? undefined : chunks.shift()
        if (chunk === undefined && failure !== null) throw failure
        return chunk === undefined
          ? { done: true, value: undefined }
          : { done: false, value: Buffer.from(chunk, 'latin1') }
      },
      async return() {
        isLeft = true
        wake()
        return { done: true, value: undefined }
      },
    }),
  }
  return {
    body,
    send: (text: string) => {
      chunks.push(text)
      wake()
    },
    end: () => {
      isOver = true
      wake()
    },
    fail: (error: Error) => {
      failure = error
      isOver = true
      wake()
    },
    isLeft: () => isLeft,
  }
}

const settled = async () => {
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
}

/** A device, and an account server that answers as the test determines. */
function bench({ signedIn = true } = {}) {
  const clock = { ms: 0 }
  const planned: { ms: number; act: () => void }[] = []
  const asked: { answer: (content: Content) => void; fail: (error: Error) => void }[] = []
  let hints = 0
  let account: Pick<Account, 'hints'> | null = signedIn
    ? {
        hints: {
          follow: () => new Promise((answer, fail) => void asked.push({ answer, fail })),
        },
      }
    : null
  const stream = newHintFollower({
    account: () => account as Account | null,
    onHint: () => (hints += 1),
    now: () => clock.ms,
    log: () => undefined,
    random: () => 0.5,
    after: (ms, act) => {
      const one = { ms, act }
      planned.push(one)
      return () => {
        if (planned.includes(one)) planned.splice(planned.indexOf(one), 1)
      }
    },
  })
  /** Answers the newest request with a stream. */
  async function opens() {
    const made = newBody()
    asked.at(-1)!.answer({ type: 'text/event-stream', body: made.body })
    await settled()
    return made
  }
  /** Passes the time of the next plan. Returns how long that was. */
  async function come(): Promise<number> {
    const [{ ms, act } = assert.fail('nothing is planned')] = planned.splice(-1)
    clock.ms += ms
    act()
    await settled()
    return ms
  }
  return {
    stream,
    clock,
    planned,
    asked,
    opens,
    come,
    hints: () => hints,
    renew: () => {
      account = { ...account! }
    },
    leave: () => {
      account = null
    },
  }
}

const OPEN = 'event: open\ndata: {}\n\n'
const CHANGED = 'event: changed\ndata: {"parts":["connections"]}\n\n'

describe('the stream of hints', () => {
  it('is open from the event on, and each event is a hint', async () => {
    const { stream, opens, hints, clock } = bench()
    assert.deepEqual(stream.state(), {
      state: 'closed',
      since: '1970-01-01T00:00:00.000Z',
      reason: null,
    })
    clock.ms = SECOND
    stream.start()
    const { send } = await opens()
    assert(!stream.isOpen())
    send(OPEN)
    await settled()
    assert.deepEqual([stream.isOpen(), hints()], [true, 1])
    assert.deepEqual(stream.state(), {
      state: 'open',
      since: '1970-01-01T00:00:01.000Z',
      reason: null,
    })
    for (const chunk of [CHANGED.slice(0, 9), CHANGED.slice(9), ':\n\n', CHANGED + CHANGED]) {
      send(chunk)
      await settled()
    }
    assert.equal(hints(), 4)
    stream.stop()
  })

  const junk: readonly [what: string, bytes: string][] = [
    ['a hint before the stream is open', CHANGED],
    ['an event of another name', 'event: other\ndata: {}\n\n'],
    ['half an event', CHANGED.slice(0, -1)],
    ['bytes that are no event', '\xff\xfe{"parts":[\n\n<html>\r\n\r\n'],
    ['an event of a megabyte', `event: open\ndata: ${'x'.repeat(1 << 20)}\n\n`],
  ]
  for (const [what, bytes] of junk)
    it(`${what} is no hint`, async () => {
      const { stream, opens, hints } = bench()
      stream.start()
      const { send } = await opens()
      send(bytes)
      await settled()
      assert.deepEqual([stream.isOpen(), hints()], [false, 0])
      stream.stop()
    })

  it('is opened again after it ended, and then asks what changed meanwhile', async () => {
    const { stream, opens, hints, asked, come, clock } = bench()
    stream.start()
    const first = await opens()
    first.send(OPEN)
    await settled()
    clock.ms += HOUR
    first.end()
    await settled()
    assert.equal(stream.isOpen(), false)
    assert.match(stream.state().reason!, /closed the stream/)
    // The other plan was the end of the first stream's life.
    assert.equal(await come(), SECOND)
    assert.equal(asked.length, 2)
    const second = await opens()
    second.send(OPEN)
    await settled()
    assert.deepEqual([stream.isOpen(), hints()], [true, 2])
    stream.stop()
  })

  it('that breaks off has the reason, which an event of the server cannot imitate', async () => {
    const { stream, opens } = bench()
    stream.start()
    const { send, fail } = await opens()
    send(`${OPEN}event: error\ndata: {"error":"backend_timeout","message":"Call 555."}\n\n`)
    await settled()
    assert.equal(stream.isOpen(), true)
    fail(new AppError('backend_timeout', 'The server sent nothing for 60 seconds.'))
    await settled()
    assert.equal(stream.isOpen(), false)
    assert.equal(stream.state().reason, 'The server sent nothing for 60 seconds.')
    stream.stop()
  })

  it('is requested less and less often while that fails, and the status has the reason', async () => {
    const { stream, asked, come, planned } = bench()
    const waits: number[] = []
    stream.start()
    for (let i = 0; i < 11; i++) {
      asked.at(-1)!.fail(new AppError('backend_unavailable', 'The server is away.'))
      await settled()
      assert.equal(planned.length, 1)
      waits.push((await come()) / SECOND)
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300])
    assert.deepEqual(stream.state(), {
      state: 'closed',
      since: '1970-01-01T00:00:00.000Z',
      reason: 'The server is away.',
    })
    stream.stop()
  })

  it('streams that end soon are requested less and less often, too', async () => {
    const { stream, opens, come } = bench()
    const waits: number[] = []
    stream.start()
    for (let i = 0; i < 5; i++) {
      const { send, end } = await opens()
      send(OPEN)
      end()
      await settled()
      waits.push((await come()) / SECOND)
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16])
    stream.stop()
  })

  it('a start between two attempts does not shorten the wait, unless the session is another one', async () => {
    const { stream, opens, come, asked, planned, renew } = bench()
    stream.start()
    for (let i = 0; i < 3; i++) {
      const { send, end } = await opens()
      send(OPEN)
      end()
      await settled()
      stream.start()
      assert.deepEqual([planned.length, asked.length], [1, i + 1])
      await come()
    }
    asked.at(-1)!.fail(new AppError('not_signed_in', 'The session has ended.'))
    await settled()
    renew()
    stream.start()
    assert.equal(asked.length, 5)
    stream.stop()
  })

  it('a server that never sends the event `open` has a minute, and the status has the reason', async () => {
    for (const isAnswered of [true, false]) {
      const { stream, opens, come, asked } = bench()
      stream.start()
      const first = isAnswered ? await opens() : null
      first?.send(':\n\n')
      await settled()
      assert.equal(await come(), 60 * SECOND)
      assert.match(stream.state().reason!, /did not open the stream of changes in time/)
      const late = first ?? (await opens())
      late.send(OPEN)
      await settled()
      assert.deepEqual([late.isLeft(), stream.isOpen()], [true, false])
      assert.equal(await come(), SECOND)
      assert.equal(asked.length, 2)
      stream.stop()
    }
  })

  it('a server that is too old is asked again after an hour', async () => {
    const { stream, asked, come } = bench()
    stream.start()
    asked[0]!.fail(new AppError('no_such_route', 'There is no such route.'))
    await settled()
    assert.equal(await come(), HOUR)
    stream.stop()
  })

  it('is replaced before the access token expires, without a moment between', async () => {
    const { stream, opens, come, asked, hints } = bench()
    stream.start()
    const first = await opens()
    first.send(OPEN)
    await settled()
    const { since } = stream.state()
    assert((await come()) < HOUR)
    assert.deepEqual([asked.length, first.isLeft(), stream.isOpen()], [2, false, true])
    first.send(CHANGED)
    await settled()
    assert.equal(hints(), 2, 'the first is read until the second is open')
    const second = await opens()
    second.send(OPEN)
    await settled()
    assert.deepEqual([first.isLeft(), stream.isOpen(), hints()], [true, true, 2])
    second.send(CHANGED)
    await settled()
    assert.equal(hints(), 3)
    assert.equal(stream.state().since, since)
    stream.stop()
    await settled()
    assert(second.isLeft())
  })

  it('stays open if another one cannot be opened, and is replaced later', async () => {
    const { stream, opens, come, asked } = bench()
    stream.start()
    const first = await opens()
    first.send(OPEN)
    await settled()
    await come()
    asked[1]!.fail(new AppError('backend_unavailable', 'The server is away.'))
    await settled()
    assert.deepEqual([stream.isOpen(), first.isLeft()], [true, false])
    assert.equal(await come(), SECOND)
    const second = await opens()
    second.send(OPEN)
    await settled()
    assert.deepEqual([stream.isOpen(), first.isLeft(), second.isLeft()], [true, true, false])
    stream.stop()
  })

  it('a stop ends the stream, also one that is only being opened', async () => {
    for (const isOpening of [true, false]) {
      const { stream, opens, planned, asked } = bench()
      stream.start()
      if (isOpening) stream.stop()
      const made = await opens()
      made.send(OPEN)
      await settled()
      if (!isOpening) stream.stop()
      await settled()
      assert.deepEqual([made.isLeft(), stream.isOpen(), asked.length], [true, false, 1])
      assert.deepEqual(planned, [])
    }
  })

  it('a device without an account requests none until it has one', async () => {
    const { stream, asked, planned } = bench({ signedIn: false })
    stream.start()
    await settled()
    assert.deepEqual([asked, planned], [[], []])
  })

  it('starts only once, also if it is started again', async () => {
    const { stream, opens, asked } = bench()
    for (let i = 0; i < 3; i++) stream.start()
    const { send } = await opens()
    send(OPEN)
    await settled()
    stream.start()
    assert.equal(asked.length, 1)
    stream.stop()
  })

  it('after a sign-out, none is requested again', async () => {
    const { stream, opens, asked, come, leave } = bench()
    stream.start()
    const { end } = await opens()
    leave()
    end()
    await settled()
    await come()
    assert.equal(asked.length, 1)
    stream.stop()
  })
})
