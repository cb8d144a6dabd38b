/** The notices that a client gets, one by one. */
import type { Client } from '@modelcontextprotocol/client'

/** Any client of the protocol, as its notifications are concerned. */
interface Notified {
  readonly hear: (handle: (uri: string) => void) => void
}

/** Collects notices from now on. */
export function noticesOf({ hear }: Notified) {
  const queue: string[] = []
  let wake: () => void = () => undefined
  hear((uri) => {
    queue.push(uri)
    wake()
  })
  return {
    /** Waits for the next notice. */
    async next(): Promise<string> {
      while (queue.length === 0)
        await new Promise<void>((woken) => {
          wake = woken
        })
      return queue.shift() as string
    },
    /** The notices that arrived and were not returned. */
    left: (): readonly string[] => queue,
  }
}

/** The notices that a client of the official SDK gets. */
export const noticesTo = (client: Client) =>
  noticesOf({
    hear: (handle) =>
      client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
        handle(params.uri),
      ),
  })
