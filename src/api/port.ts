/**
 * The port to an account: the same calls whether the account service answers in this process or over HTTP.
 * `Account` is what its device and its handlers may ask; `Service` is what an account server must answer.
 */
import type { Entrance, SignedIn } from './device/index.ts'
import type { Rest } from './rest/index.ts'
import type { Answers, Calls } from './route.ts'
import type { Site } from './site/index.ts'

export type Account = Calls<Rest, 'account' | 'both'> & Calls<SignedIn, 'account'>

/** What a device may ask before it has a session. */
export type Door = Calls<Entrance, 'account'>

/** Who a request to an account server comes from. All are ids. */
export interface Session {
  readonly account: string
  /** null for a bearer of a machine account's token, who has no device. */
  readonly device: string | null
  readonly session: string | null
  /** The machine account's token, where one was presented. */
  readonly token: string | null
}

/** Who asks an account server before there is a session. */
export interface Visitor {
  /** RFC 7638 thumbprint of the key whose possession the request proved (RFC 9449); null when it proved none. */
  readonly key: string | null
  /** The daemon in the server's own process, of whom no proof is wanted. */
  readonly within?: true
}

export type Service = Answers<Rest, 'account' | 'both', Session> &
  Answers<SignedIn, 'account', Session>

/** The rows of an account server that anybody may call. */
export type Open = Answers<Entrance & Site, 'account', Visitor>
