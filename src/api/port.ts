/**
 * The interface to an account, which is the same for the embedded account server and a remote one.
 *
 * `Account` has the calls that a device and its handlers make. `Service` has the functions with
 * which an account server answers them.
 */
import type { Entrance, SignedIn } from './device/index.ts'
import type { Rest } from './rest/index.ts'
import type { Answers, Calls } from './route.ts'
import type { Site } from './site/index.ts'

export type Account = Calls<Rest, 'account' | 'both'> & Calls<SignedIn, 'account'>

/** The calls that a device without a session makes. */
export type UnauthenticatedClient = Calls<Entrance, 'account'>

/** The caller of an account server. All members are ids. */
export interface CallerSession {
  readonly account: string
  /** null for a machine account's token, because a token has no device. */
  readonly device: string | null
  readonly session: string | null
  /** The id of the machine account's token, if the request has one. */
  readonly token: string | null
}

/** A caller of an account server that has no session. */
export interface Visitor {
  /**
   * RFC 7638 thumbprint of the key that the request proved to have (RFC 9449); null without a
   * proof.
   */
  readonly key: string | null
  /** The `Accept-Language` field of the request, if it has one. */
  readonly languages?: string | undefined
  /** Set if the caller is the daemon in the same process, which needs no proof. */
  readonly within?: true
}

export type Service = Answers<Rest, 'account' | 'both', CallerSession> &
  Answers<SignedIn, 'account', CallerSession>

/** The public rows of an account server. */
export type Open = Answers<Entrance & Site, 'account', Visitor>
