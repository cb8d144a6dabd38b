/**
 * The interface to an account: the same calls for the embedded account server and for a remote
 * one over HTTP. `Account` is the calls of its device and its handlers; `Service` is the answers
 * of an account server.
 */
import type { Entrance, SignedIn } from './device/index.ts'
import type { Rest } from './rest/index.ts'
import type { Answers, Calls } from './route.ts'
import type { Site } from './site/index.ts'

export type Account = Calls<Rest, 'account' | 'both'> & Calls<SignedIn, 'account'>

/** The calls of a device without a session. */
export type UnauthenticatedClient = Calls<Entrance, 'account'>

/** The caller of an account server. All members are ids. */
export interface CallerSession {
  readonly account: string
  /** null for a machine account's token, which has no device. */
  readonly device: string | null
  readonly session: string | null
  /** The machine account's token, if one was presented. */
  readonly token: string | null
}

/** A caller of an account server without a session. */
export interface Visitor {
  /**
   * RFC 7638 thumbprint of the key that the request proved to possess (RFC 9449); null without a
   * proof.
   */
  readonly key: string | null
  /** Set for the daemon in the server's own process, which needs no proof. */
  readonly within?: true
}

export type Service = Answers<Rest, 'account' | 'both', CallerSession> &
  Answers<SignedIn, 'account', CallerSession>

/** The public rows of an account server. */
export type Open = Answers<Entrance & Site, 'account', Visitor>
