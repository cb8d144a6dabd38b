/**
 * An account server far away: the same calls as of one in this process, over HTTP. What it answers is judged, not believed;
 * what may pass is tried again under the same Idempotency-Key; sessions prove their key, know the server's clock, and renew
 * themselves.
 */
import { setTimeout } from 'node:timers/promises'
import { entrance, signedIn } from '../api/device/index.ts'
import type { Account, Door } from '../api/port.ts'
import { rest } from '../api/rest/index.ts'
import { clientOf } from '../api/client.ts'
import type { KeyPair } from '../crypto/device-keys.ts'
import type { Act } from '../storage/idempotency.ts'
import { newServerClock } from './clock.ts'
import {
  type Credentials,
  type DeviceSession,
  type ProofState,
  bearer,
  deviceSession,
  keyHolder,
  nobody,
} from './credentials.ts'
import { type Ground, newSend } from './send.ts'
import { askReady } from './ready.ts'
import { type Timeouts, openTransport } from './transport.ts'

export type { DeviceSession } from './credentials.ts'

export interface Where {
  /** The server's origin, https://host[:port]; http on loopback only. It is what proofs name, so the server's public URL. */
  readonly base: string
  /** Further authorities as PEM, or null. */
  readonly ca: string | null
  /** This machine's clock, in Unix milliseconds. */
  readonly now: () => number
  /** Ends after so many milliseconds, or when the signal is given. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>
  readonly timeouts?: Timeouts
}

/** An account that can also be asked as part of an act. */
export type RemoteAccount = Account & {
  /** The same account, whose every POST belongs to an act: its Idempotency-Key follows from the act, method and path. */
  readonly acting: (act: Pick<Act, 'id'>) => Account
}

export interface Remote {
  /** What anybody may ask; with a key, as its holder. */
  door(key?: () => Promise<KeyPair>): Door
  /** The account of a device's session. Calls throw AppError not_signed_in when the server takes the session no more. */
  account(session: DeviceSession): RemoteAccount
  /** The account of a machine account's token. Calls throw AppError invalid_token when the server does not take it. */
  bearer(token: string): RemoteAccount
  /** The server's clock minus this one's in milliseconds, as its answers show it; null before the first. */
  offsetMs(): number | null
  /** Ask once whether the server and its database answer. Throws AppError while they do not. */
  ready(): Promise<void>
  /** Close all connections; calls under way and later ones fail with AppError backend_unavailable. */
  close(): void
}

const ACCOUNT = { ...rest, ...signedIn }

/**
 * Open the client of an account server; it connects when it is first asked.
 * @throws StartError configuration for an address or authority that cannot be used
 */
export function openRemote(where: Where): Remote {
  const { now, wait = (ms, signal) => setTimeout(ms, undefined, { signal }) } = where
  const closing = new AbortController()
  const transport = openTransport(where)
  const state: ProofState = { clock: newServerClock(now), nonce: null }
  const ground: Ground = {
    transport,
    state,
    outage: { known: false },
    wait: (ms) =>
      wait(ms, closing.signal).catch((error: unknown) => {
        if (!closing.signal.aborted) throw error
      }),
  }

  const doorOf = (who: Credentials): Door => clientOf(entrance, newSend(ground, who, null))
  const accountOf = (who: Credentials): RemoteAccount => {
    const acting = (act: Pick<Act, 'id'> | null): Account =>
      clientOf(ACCOUNT, newSend(ground, who, act), ['account', 'both'])
    return { ...acting(null), acting }
  }

  return {
    door: (key) => doorOf(key === undefined ? nobody : keyHolder(state, key)),
    account(session) {
      const { renew } = doorOf(keyHolder(state, session.key)).session
      return accountOf(deviceSession(state, session, renew))
    },
    bearer: (token) => accountOf(bearer(token)),
    offsetMs: () => state.clock.offsetMs(),
    ready: () => askReady(transport),
    close() {
      closing.abort()
      transport.close()
    },
  }
}
