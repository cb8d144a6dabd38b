/**
 * Sends requests to a remote account server: one to each route, within seconds, without
 * credentials.
 */
import { clock } from '../../api/device/index.ts'
import type { HintSource } from '../../api/device/hints.ts'
import type { Route } from '../../api/route.ts'
import { site } from '../../api/site/index.ts'
import type { Config } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { valueOf } from '../../remote/answer.ts'
import {
  readAuthority,
  type TransportResponse,
  type Transport,
  openTransport,
} from '../../remote/transport.ts'
import { newServerClock } from '../../remote/clock.ts'
import { Passing } from '../../remote/faults.ts'
import { messageOf } from './finding.ts'

const TIMEOUTS = { connectMs: 3000, answerMs: 4000 }

export type ServerLook =
  | { readonly reached: false; readonly why: string; readonly offsetMs: number | null }
  | {
      readonly reached: true
      readonly version: string
      readonly tookMs: number
      /** The public URL that the server reports. */
      readonly publicUrl: string
      /** How the server learns of changes; null if it has no streams of hints. */
      readonly hintsBy: HintSource | null
      /** The server's clock minus the local clock, in milliseconds. */
      readonly offsetMs: number
    }

/** Sends requests to the configured account server. Never throws. */
export async function lookAtServer(
  { backendUrl: base, caFile = null }: Pick<Config, 'backendUrl'> & Partial<Config>,
  now: () => number,
): Promise<ServerLook> {
  const measured = newServerClock(now)
  let transport: Transport | null = null
  const ask = async (
    at: Transport,
    route: Route,
  ): Promise<[value: unknown, answer: TransportResponse]> => {
    const headers = { Accept: 'application/json', 'Accept-Encoding': 'identity' }
    const answer = await at.exchange({
      method: route.method,
      target: route.path,
      headers,
      body: undefined,
    })
    measured.observe(answer.headers.date, answer.sentAt, answer.answeredAt)
    return [valueOf(answer, route, at.origin), answer]
  }
  try {
    transport = openTransport({
      base: base as string,
      ca: readAuthority(caFile),
      now,
      timeouts: TIMEOUTS,
    })
    const begun = performance.now()
    const [health] = await ask(transport, site.siteHealth.read)
    const tookMs = Math.round(performance.now() - begun)
    const [time, { sentAt, answeredAt }] = await ask(transport, clock.read)
    const {
      now: there,
      public_url: publicUrl,
      hints_by: hintsBy = null,
    } = time as { now: string; public_url: string; hints_by?: HintSource | null }
    return {
      reached: true,
      version: (health as { version: string }).version,
      tookMs,
      publicUrl,
      hintsBy,
      // This assumes that the server took its time halfway through the exchange (RFC 5905, section
      // 8).
      offsetMs: Math.round(Date.parse(there) - (sentAt + answeredAt) / 2),
    }
  } catch (error) {
    const reason = error instanceof Passing ? error.error : error
    const why = reason instanceof AppError ? reason.message : messageOf(reason)
    return { reached: false, why, offsetMs: measured.offsetMs() }
  } finally {
    transport?.close()
  }
}
