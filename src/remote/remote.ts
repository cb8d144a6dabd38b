/**
 * The client of a remote account server. It has the same calls as the embedded account server, and
 * makes them over HTTP. It validates every answer, and retries after a transient failure with the
 * same Idempotency-Key. Key proofs of sessions carry the server's time, and sessions are renewed
 * automatically.
 */
import { setTimeout } from 'node:timers/promises'
import { clientOf } from '../api/client.ts'
import { entrance, signedIn } from '../api/device/index.ts'
import type { Account, UnauthenticatedClient } from '../api/port.ts'
import { Health } from '../api/rest/health.ts'
import { rest } from '../api/rest/index.ts'
import { site } from '../api/site/index.ts'
import type { KeyPair } from '../crypto/device-keys.ts'
import type { Act } from '../storage/idempotency.ts'
import { valueOf } from './answer.ts'
import { newServerClock } from './clock.ts'
import {
  bearerCredentials,
  type Credentials,
  deviceSession,
  keyHolder,
  noCredentials,
  type ProofState,
  type SessionCredentials,
} from './credentials.ts'
import { Passing } from './faults.ts'
import { type ClientContext, newSend } from './send.ts'
import { openTransport, type Timeouts, type Transport } from './transport.ts'

/**
 * Checks that the server and its database respond.
 * @throws AppError backend_unavailable, backend_timeout or backend_error if they do not
 */
async function askReady(transport: Transport): Promise<void> {
  // Servers of other versions list other dependencies, or none.
  const route = { ...site.siteHealth.ready, reply: Health }
  const question = { method: route.method, target: route.path, headers: {}, body: undefined }
  try {
    valueOf(await transport.exchange(question), route, transport.origin)
  } catch (error) {
    throw error instanceof Passing ? error.error : error
  }
}

export interface Where {
  /**
   * The server's origin, `https://host[:port]`, or `http` on loopback. It must be the server's
   * public URL, because proofs contain it.
   */
  readonly base: string
  /** Additional certificate authorities as PEM, or null. */
  readonly ca: string | null
  /** This machine's clock, in Unix milliseconds. */
  readonly now: () => number
  /** Resolves after `ms` milliseconds, or earlier if the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly timeouts?: Timeouts
}

/** An account with calls that can be part of an idempotent operation. */
export type RemoteAccount = Account & {
  /**
   * Returns the account with every POST made part of an operation. The Idempotency-Key is then
   * derived from the operation, method and path.
   */
  readonly acting: (act: Pick<Act, 'id'>) => Account
}

export interface Remote {
  /**
   * Returns the client for calls without a session. If `key` is given, the calls carry proofs by
   * it.
   */
  door(key?: () => Promise<KeyPair>): UnauthenticatedClient
  /**
   * Returns the account that a device's session belongs to. Calls throw AppError not_signed_in if
   * the server rejects the session.
   */
  account(session: SessionCredentials): RemoteAccount
  /**
   * Returns the machine account that a token belongs to. Calls throw AppError invalid_token if the
   * server rejects it.
   */
  bearer(token: string): RemoteAccount
  /**
   * Returns the server's clock minus this machine's clock, in milliseconds. The offset is measured
   * from answers; null before the first answer.
   */
  offsetMs(): number | null
  /** Checks once that the server and its database respond. Throws AppError if they do not. */
  ready(): Promise<void>
  /**
   * Closes all connections. Calls in progress and later ones fail with AppError
   * backend_unavailable.
   */
  close(): void
}

const ACCOUNT = { ...rest, ...signedIn }

/**
 * Creates the client of an account server. It connects at the first request.
 * @throws StartError configuration for an unusable address or authority
 */
export function openRemote(where: Where): Remote {
  const { now, wait = (ms, signal) => setTimeout(ms, undefined, { signal }) } = where
  const closing = new AbortController()
  const transport = openTransport(where)
  const state: ProofState = { clock: newServerClock(now), nonce: null }
  const ground: ClientContext = {
    transport,
    state,
    outage: { known: false },
    wait: (ms) =>
      wait(ms, closing.signal).catch((error: unknown) => {
        if (!closing.signal.aborted) throw error
      }),
  }

  const doorOf = (who: Credentials): UnauthenticatedClient =>
    clientOf(entrance, newSend(ground, who, null))
  const accountOf = (who: Credentials): RemoteAccount => {
    const acting = (act: Pick<Act, 'id'> | null): Account =>
      clientOf(ACCOUNT, newSend(ground, who, act), ['account', 'both'])
    return { ...acting(null), acting }
  }

  return {
    door: (key) => doorOf(key === undefined ? noCredentials : keyHolder(state, key)),
    account(session) {
      const { renew } = doorOf(keyHolder(state, session.key)).session
      return accountOf(deviceSession(state, session, renew))
    },
    bearer: (token) => accountOf(bearerCredentials(token)),
    offsetMs: () => state.clock.offsetMs(),
    ready: () => askReady(transport),
    close() {
      closing.abort()
      transport.close()
    },
  }
}
