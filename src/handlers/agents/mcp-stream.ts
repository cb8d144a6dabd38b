/** The stream of a client that subscribed to resources over HTTP (`subscriptions/listen`). */
import type { Ask } from '../../api/tools/call.ts'
import { newNotices, openChanges } from '../../api/tools/notices.ts'
import type { ServerEventBus } from '../../api/tools/sdk.ts'

const DONE = { done: true, value: undefined } as const

export interface Subscription {
  /** The bus for the MCP library. It has one listener: the stream of the request. */
  readonly bus: ServerEventBus
  /** Returns whether the library opened a stream that lasts. */
  readonly isOpen: () => boolean
  /**
   * Sends notices of these resources on the stream, while the caller may read events.
   *
   * The stream counts as a reader of events, and ends as the stream of `GET /api/v1/events` does.
   * A client that does not read costs no memory: what it has not yet read is one notice, and a mark
   * for each resource.
   * @param stream the stream of the library
   * @param end sends the result of the request and ends the stream, after a failure if there is one
   * @returns the stream for the client
   * @throws AppError if the caller may not read events, or if there are too many readers
   */
  readonly notify: (
    ask: Ask,
    uris: ReadonlySet<string>,
    stream: ReadableStream<Uint8Array>,
    end: (failure?: unknown) => void,
  ) => Promise<AsyncIterable<Uint8Array>>
}

/** Creates the subscription of one request. */
export function newSubscription(): Subscription {
  let listener: Parameters<ServerEventBus['subscribe']>[0] | null = null
  let onLeft: () => void = () => undefined
  const publish: ServerEventBus['publish'] = (event) => listener?.(event)

  return {
    bus: {
      publish,
      subscribe(given) {
        listener = given
        return () => {
          listener = null
          onLeft()
        }
      },
    },
    isOpen: () => listener !== null,

    async notify(ask, wanted, stream, end) {
      const reader = stream.getReader()
      const { changes, close } = await openChanges(ask).catch(async (error: unknown) => {
        await reader.cancel()
        throw error
      })
      /** Resolved when the client has accepted everything. */
      let accepted = Promise.withResolvers<void>()
      const notices = newNotices(async (uri) => {
        await accepted.promise
        accepted = Promise.withResolvers()
        publish({ kind: 'resource_updated', uri })
      })
      onLeft = () => {
        notices.end()
        close()
      }
      const follow = async () => {
        for await (const { uris } of changes) notices.add(uris.filter((uri) => wanted.has(uri)))
      }
      follow().then(() => end(), end)
      return {
        [Symbol.asyncIterator]: () => ({
          next() {
            accepted.resolve()
            return reader.read() as Promise<IteratorResult<Uint8Array, undefined>>
          },
          async return() {
            await reader.cancel()
            return DONE
          },
        }),
      }
    },
  }
}
