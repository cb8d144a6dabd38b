/**
 * The connections that this account must leave, because a now revoked device consented to them.
 *
 * `roster-cache.ts` finds these connections. This module does not verify rosters, so it does not
 * load the elliptic curve code.
 */
import type { State } from '../../state/state.ts'

const UNAGREED = 'unagreed'
const LISTED = 'connections_listed'

type Meta = Pick<State, 'meta'>

/** Returns the ids of these connections. An id stays until this device has left the connection. */
export const unagreed = ({ meta }: Meta): readonly string[] =>
  (meta.get(UNAGREED) ?? []) as readonly string[]

/** Records that this account must leave a connection. */
export const noteUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(UNAGREED, [...new Set([...unagreed(state), connection])])

/** Deletes the record that this account must leave a connection. */
export const dropUnagreed = (state: Meta, connection: string): void =>
  state.meta.set(
    UNAGREED,
    unagreed(state).filter((id) => id !== connection),
  )

/**
 * Checks whether this device has listed all connections of the account. Any later connection is
 * new.
 */
export const wasListed = ({ meta }: Meta): boolean => meta.get(LISTED) !== null

/** Records that this device has listed all connections of the account. */
export function noteListed(state: Meta): void {
  if (!wasListed(state)) state.meta.set(LISTED, true)
}
