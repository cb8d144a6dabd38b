/** Reads a stream of hints in tests. */
import assert from 'node:assert/strict'
import { type StreamEvent, newEventReader } from '../../../src/api/event-stream.ts'
import type { Account } from '../../../src/api/port.ts'

export interface Following {
  /** Resolves with the next event; with null at the end of the stream. */
  next(): Promise<StreamEvent | null>
  /** Resolves with the parts of the next event, which must be a hint. */
  parts(): Promise<readonly string[]>
  /** Resolves when the stream has ended. Fails if it has another event. */
  ended(): Promise<void>
  close(): void
}

/** Opens a stream, and waits until it is open. */
export async function follow(account: Pick<Account, 'hints'>): Promise<Following> {
  const { type, body } = await account.hints.follow({})
  assert.equal(type, 'text/event-stream')
  assert(typeof body === 'object' && Symbol.asyncIterator in body)
  const bytes = body[Symbol.asyncIterator]()
  const read = newEventReader()
  const waiting: StreamEvent[] = []
  const following: Following = {
    async next() {
      while (waiting.length === 0) {
        const { done, value } = await bytes.next()
        if (done === true) return null
        waiting.push(...read(value))
      }
      return waiting.shift()!
    },
    async parts() {
      const event = await following.next()
      assert.equal(event?.name, 'changed')
      return (JSON.parse(event.data) as { parts: string[] }).parts
    },
    async ended() {
      assert.equal(await following.next(), null)
    },
    close: () => void bytes.return?.(),
  }
  assert.equal((await following.next())?.name, 'open')
  return following
}
