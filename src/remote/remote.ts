/**
 * The client of a remote account server: the same calls as for the embedded one, over HTTP. The
 * client validates every answer and retries transient failures under the same Idempotency-Key.
 * Sessions prove their key with the server's time, and renew themselves.
 */
import { setTimeout } from 'node:timers/promises'
import { clientOf } from '../api/client.ts'
import { entrance, signedIn } from '../api/device/index.ts'
import type { Account, UnauthenticatedClient } from '../api/port.ts'
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
  const route = site.siteHealth.ready
  const question = { method: route.method, target: route.path, headers: {}, body: undefined }
  try {
    valueOf(await transport.exchange(question), route, transport.origin)
  } catch (error) {
    throw error instanceof Passing ? error.error : error
  }
}

export interface Where {
  /**
   * The server's origin, https://host[:port]; http on loopback only. Proofs name it, so it must
   * be the server's public URL.
   */
  readonly base: string
  /** Additional authorities as PEM, or null. */
  readonly ca: string | null
  /** This machine's clock, in Unix milliseconds. */
  readonly now: () => number
  /** Resolves after so many milliseconds, or when the signal aborts. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly timeouts?: Timeouts
}

/** An account that can also be called as part of an operation. */
export type RemoteAccount = Account & {
  /**
   * Returns the same account with every POST tied to an operation: the Idempotency-Key is derived
   * from the operation, method and path.
   */
  readonly acting: (act: Pick<Act, 'id'>) => Account
}

export interface Remote {
  /** Returns the client without a session; with a key, that of its holder. */
  door(key?: () => Promise<KeyPair>): UnauthenticatedClient
  /**
   * Returns the account of a device's session. Calls throw AppError not_signed_in if the server
   * rejects the session.
   */
  account(session: SessionCredentials): RemoteAccount
  /**
   * Returns the account of a machine account's token. Calls throw AppError invalid_token if the
   * server rejects it.
   */
  bearer(token: string): RemoteAccount
  /**
   * Returns the server's clock minus this machine's in milliseconds, as measured by its answers;
   * null before the first.
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
 * Opens the client of an account server; it connects at the first request.
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
