/**
 * The subscriptions of a client of `countersignd mcp`. While there is one, this process reads the
 * events of the running daemon, and sends notices of the resources that they concern.
 *
 * A client of the newest protocol version opens each subscription with `subscriptions/listen`,
 * which the MCP library answers. An earlier one calls `resources/subscribe` for each resource.
 */
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { timeAt } from '../api/fields.ts'
import type { Ask } from '../api/tools/call.ts'
import { type ChangeStream, newNotices, openChanges } from '../api/tools/notices.ts'
import { narrowed } from '../api/tools/resources.ts'
import type { Server, StdioServerTransport } from '../api/tools/sdk.ts'
import { AT_RESOURCE, requireResource } from '../api/tools/server.ts'

/** The shortest and the longest time before the daemon is asked again, in milliseconds. */
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 30_000]

/** A message in the members that matter here. It is not validated. */
interface Message {
  readonly id?: unknown
  readonly method?: string
  readonly params?: { readonly requestId?: unknown }
}

export interface McpSubscriptions {
  /** Serves the subscriptions of a server object. `era` is that of its client. */
  readonly serve: (server: Server, era: 'legacy' | 'modern') => Server
  /** Observes the subscriptions that the MCP library answers, after it has its transport. */
  readonly observe: (transport: StdioServerTransport) => void
  /** Ends everything. */
  readonly end: () => void
}

export function newMcpSubscriptions(ask: Ask): McpSubscriptions {
  /** The ids of requests `subscriptions/listen`, or the addresses to which a client subscribed. */
  const subscribed = new Set<unknown>()
  let send: (uri: string) => Promise<void> = () => Promise.resolve()
  const notices = newNotices(async (uri) => {
    await send(uri)
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
  })
  let stream: ChangeStream | null = null
  let isFollowing = false
  let over = new AbortController()

  /** Reads the events until nothing is subscribed, also after a restart of the daemon. */
  async function follow(): Promise<void> {
    isFollowing = true
    over = new AbortController()
    const { signal } = over
    let since = timeAt(Date.now())
    let pauseMs = FIRST_PAUSE_MS
    while (!signal.aborted) {
      try {
        stream = await openChanges(ask, since)
        pauseMs = FIRST_PAUSE_MS
        if (signal.aborted) stream.close()
        for await (const { uris, last } of stream.changes) {
          notices.add(uris)
          since = last ?? since
        }
      } catch {
        // The daemon does not run, or refuses the token. Calls report why.
      }
      await setTimeout(pauseMs, undefined, { signal }).catch(() => undefined)
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
    }
    isFollowing = false
    if (subscribed.size > 0) void follow()
  }

  function add(key: unknown): void {
    subscribed.add(key)
    if (!isFollowing) void follow()
  }

  function stop(): void {
    over.abort()
    stream?.close()
  }

  function remove(key: unknown): void {
    if (subscribed.delete(key) && subscribed.size === 0) stop()
  }

  return {
    serve(server, era) {
      send = async (uri) => {
        if (era === 'modern' || subscribed.has(uri)) await server.sendResourceUpdated({ uri })
      }
      if (era === 'modern') return server
      server.setRequestHandler('resources/subscribe', AT_RESOURCE, async ({ uri }) => {
        requireResource(uri)
        add(uri)
        return {}
      })
      server.setRequestHandler('resources/unsubscribe', AT_RESOURCE, async ({ uri }) => {
        remove(uri)
        return {}
      })
      return server
    },

    observe(transport) {
      const receive = transport.onmessage
      transport.onmessage = (message) => {
        const { id, method, params } = message as Message
        const { message: given, uris } = narrowed(message)
        if (uris.size > 0) add(id)
        if (method === 'notifications/cancelled') remove(params?.requestId)
        receive?.(given)
      }
      const reply = transport.send.bind(transport)
      transport.send = (message) => {
        const { id, method } = message as Message
        // The answer to a request to subscribe is its end, or its refusal.
        if (method === undefined) remove(id)
        return reply(message)
      }
    },

    end() {
      subscribed.clear()
      notices.end()
      stop()
    },
  }
}
