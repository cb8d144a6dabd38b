/** One attempt to deliver an event. */
import type { WebhookTest } from '../api/live/webhooks.ts'
import type { ShownEvent } from '../state/events.ts'
import { type SendOutcome, send } from './send.ts'
import type { Settings } from './settings.ts'
import { signedHeaders } from './signature.ts'
import { NotSent, addressesOf } from './target.ts'
import type { Timers } from '../runtime/timers.ts'

/** How long the resolution of a name may take, in milliseconds. */
const RESOLVE_MS = 15_000

export interface Attempted extends Pick<WebhookTest, 'delivered' | 'status' | 'error'> {
  /** The wait that the receiver demands before the next attempt, in milliseconds. */
  readonly retryAfterMs: number | null
}

/** How attempts reach receivers. Tests replace parts of it. */
export interface Network {
  /** Returns all addresses of a host name. */
  readonly resolve: (host: string) => Promise<readonly string[]>
  /** Certificates to trust in place of the system's. */
  readonly ca?: string | undefined
  /** Returns the ports on which this daemon listens. Nothing is sent there. */
  readonly ownPorts: () => readonly number[]
}

const failed = (error: NonNullable<Attempted['error']>): Attempted => ({
  delivered: false,
  status: null,
  error,
  retryAfterMs: null,
})

function outcomeOf(sent: SendOutcome): Attempted {
  if ('error' in sent) return failed(sent.error)
  const { status, retryAfterMs } = sent
  const delivered = status >= 200 && status < 300
  return { delivered, status, error: delivered ? null : 'status', retryAfterMs }
}

/** Fails if the addresses are not known in time. The look-up itself cannot be ended. */
function inTime<T>(looking: Promise<T>, timers: Timers): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = timers.after(RESOLVE_MS, () => resolve(null))
    looking.then(resolve, reject).finally(stop)
  })
}

/** Sends an event to a webhook's URL, and returns the outcome. The attempt is not repeated. */
export async function attempt(
  settings: Settings,
  event: ShownEvent,
  of: { network: Network; timers: Timers; signal: AbortSignal },
): Promise<Attempted> {
  const { network, timers, signal } = of
  const { id, type, timestamp, data } = event
  const body = JSON.stringify({ id, type, timestamp, data })
  try {
    const looking = addressesOf(settings, network.resolve, network.ownPorts())
    const addresses = await inTime(looking, timers)
    if (addresses === null) return failed('timeout')
    const headers = signedHeaders(settings.secret, { id, at: timers.now(), body })
    const message = { url: settings.url, addresses, headers, body }
    return outcomeOf(await send(message, { timers, signal, ca: network.ca }))
  } catch (error) {
    if (error instanceof NotSent) return failed(error.reason)
    throw error
  }
}
